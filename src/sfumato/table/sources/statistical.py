"""Files of SPSS, Stata and SAS: rows in pieces into a private Parquet file, labels and value lists as facts.

Values that the file itself declares as missing are null. A list of value labels is a domain where it covers every value
that occurs; where it does not (99 = "no answer" in an age), it is told as a note and no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.errors import MissingExtra, TableError
from sfumato.schema.dialect import Dialect
from sfumato.table.engine import engine_errors
from sfumato.table.parquet import ParquetEngine
from sfumato.table.sources.frames import arrow_from_pandas, texts_as_texts
from sfumato.table.sources.private import connect, parked
from sfumato.table.sources.source import Source, refuse_duplicates

READERS = {"sav": "read_sav", "por": "read_por", "dta": "read_dta", "sas": "read_sas7bdat", "xpt": "read_xport"}
PROGRAMS = {"sav": "SPSS", "por": "SPSS", "dta": "Stata", "sas": "SAS", "xpt": "SAS"}
BROKEN = (ValueError, KeyError, TypeError, ArithmeticError, NotImplementedError)
"""What the reader raises, beside its own errors, on a file that is damaged: half letters, days beyond all years."""
ROWS_AT_ONCE = 200_000
MOST_LABELLED = 1_000
"""Distinct values of a labelled column beyond which its labels are no list of its values."""


def open_statistical(path: str, kind: str, dialect: Dialect) -> Source:
    """Return a source over a file of a statistical program, with what the file says of its columns."""
    try:
        import pyreadstat
    except ImportError as error:
        step = "pip install 'sfumato[formats]'"
        raise MissingExtra(f"files of {PROGRAMS[kind]} need pyreadstat", next_step=step) from error
    held = _Held(path, kind, dialect.encoding)
    try:
        pieces = held.pieces(pyreadstat)
        first = next(pieces)
        parquet = parked("table", first.schema, _all(first, pieces))
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, *BROKEN) as error:
        step = "open it there and save it again; for strange letters say --encoding; or give it as CSV"
        raise TableError(f"cannot read the {PROGRAMS[kind]} file {path!r}: {error}"[:400], next_step=step) from error
    with engine_errors(path):
        engine = ParquetEngine(texts_as_texts(connect().read_parquet(parquet)), (parquet,))
    facts, notes = held.facts()
    return Source(engine, "pandas", "table", dialect=dialect, facts=facts, notes=notes)


def _all(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    for piece in rest:
        yield piece.cast(first.schema)


@dataclass
class _Held:
    """What is learned of a file while it is read."""

    path: str
    kind: str
    encoding: str | None
    meta: Any = None
    declared: Any = None
    """What the file says before any row is read, with the values that it declares as missing."""
    seen: dict[str, set[Any]] = field(default_factory=lambda: defaultdict[str, set[Any]](set))

    def pieces(self, pyreadstat: Any) -> Iterator[Any]:
        """Yield Arrow tables of some rows each, and at least one."""
        reader = getattr(pyreadstat, READERS[self.kind])
        options: dict[str, Any] = {"encoding": self.encoding} if self.encoding else {}
        catalog = Path(self.path).with_suffix(".sas7bcat")
        if self.kind == "sas" and catalog.is_file():
            options["catalog_file"] = str(catalog)
        missing = {} if self.kind in ("por", "xpt") else {"user_missing": True}
        _, self.declared = reader(self.path, metadataonly=True, **missing, **options)
        self.meta = self.declared
        refuse_duplicates(self.path, list(self.meta.column_names))
        some = False
        for frame, meta in pyreadstat.read_file_in_chunks(reader, self.path, chunksize=ROWS_AT_ONCE, **options):
            self.meta, some = meta, True
            yield self.remembered(frame)
        if not some:
            yield self.remembered(reader(self.path, **options)[0])

    def remembered(self, frame: Any) -> Any:
        """Return some rows as Arrow, and keep the values of labelled columns."""
        table = _typed(arrow_from_pandas(frame), self.meta.readstat_variable_types)
        for name in self.meta.variable_value_labels:
            if name in table.column_names and len(self.seen[name]) <= MOST_LABELLED:
                self.seen[name] |= set(table.column(name).unique().to_pylist()) - {None}
        return table

    def facts(self) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
        """Return descriptions and value lists by column, and notes about labels that are no list."""
        facts: dict[str, dict[str, Any]] = defaultdict(dict)
        notes: list[str] = []
        for name, words in self.meta.column_names_to_labels.items():
            if words and words.strip() and words != name:
                facts[name]["description"] = _clean(words)
        for name, labels in self.meta.variable_value_labels.items():
            told = self.told(name, labels)
            if self.seen[name] and self.seen[name] <= set(told):
                facts[name] |= {"values": tuple(sorted(told)), "value_labels": told}
            elif told:
                listed = ", ".join(f"{value} = {words!r}" for value, words in list(told.items())[:5])
                notes.append(f"look at: {name} (labels of some values: {listed}; --missing makes one of them missing)")
        return dict(facts), tuple(notes)

    def told(self, name: str, labels: Mapping[Any, Any]) -> dict[Any, str]:
        """Return the labels of the values that are not declared as missing."""
        ranges = getattr(self.declared, "missing_ranges", {}).get(name, [])
        extra = getattr(self.declared, "missing_user_values", {}).get(name, [])
        kept = {_whole(value): _clean(str(words)) for value, words in labels.items() if value not in extra}
        if len({type(value) for value in kept}) > 1:
            return {}
        return {value: words for value, words in kept.items() if not any(_within(value, span) for span in ranges)}


def _typed(table: Any, kinds: Mapping[str, str]) -> Any:
    """Return a table in types that do not depend on which values are missing in some of its rows."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name in table.column_names:
        column, kind = table.column(name), kinds.get(name, "")
        if kind == "string":
            columns[name] = _blank_as_null(column.cast(pa.string()))
        elif pa.types.is_integer(column.type) or (kind.startswith("int") and pa.types.is_floating(column.type)):
            columns[name] = column.cast(pa.int64())
        elif pa.types.is_null(column.type) or pa.types.is_floating(column.type):
            columns[name] = column.cast(pa.float64())
        else:
            columns[name] = column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
    return pa.table(columns)


def _blank_as_null(texts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    compute: Any = pc
    return compute.if_else(compute.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _within(value: Any, span: Mapping[str, Any]) -> bool:
    low, high = span["lo"], span["hi"]
    alike = isinstance(value, str) == isinstance(low, str) == isinstance(high, str)
    return alike and low <= value <= high


def _clean(words: str) -> str:
    return " ".join(words.replace("\x00", " ").split())
