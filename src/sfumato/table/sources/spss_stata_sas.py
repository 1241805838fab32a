"""Open SPSS, Stata and SAS files, with their labels as facts.

Values that the file itself declares as missing are null. A list of value labels is a domain where it covers every value
that occurs; where it does not (99 = "no answer" in an age), it is told as a note and no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import TableError
from sfumato.schema.dialect import Dialect
from sfumato.table.engines.duckdb import ParquetEngine
from sfumato.table.engines.engine import engine_errors
from sfumato.table.sources.child_process import read_apart, require_package
from sfumato.table.sources.frames import uuids_as_text
from sfumato.table.sources.scratch_space import connect
from sfumato.table.sources.source import Source, require_unique_columns

PROGRAMS = {"sav": "SPSS", "por": "SPSS", "dta": "Stata", "sas": "SAS", "xpt": "SAS"}


def open_statistical(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over a file of a statistical program, with what the file says of its columns.

    A process of its own reads it: see :mod:`sfumato.table.sources.child_process`.
    """
    (path,) = paths
    require_package("pyreadstat", f"files of {PROGRAMS[kind]}")
    answer, out = read_apart(path, "table.parquet", kind="statistical", format=kind, encoding=dialect.encoding)
    if answer.get("refused") == "repeated":
        require_unique_columns(path, answer["names"])
    if "refused" in answer:
        step = "open it there and save it again; for strange letters say --encoding; or give it as CSV"
        raise TableError(f"cannot read the {PROGRAMS[kind]} file {path!r}: {answer.get('error')}", next_step=step)
    with engine_errors(path):
        engine = ParquetEngine(uuids_as_text(connect().read_parquet(str(out))), (str(out),))
    facts, notes = _facts(answer)
    return Source(engine, "pandas", "table", dialect=dialect, facts=facts, notes=notes)


def _facts(answer: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return descriptions and value lists by column, and notes about labels that are no list."""
    facts: dict[str, dict[str, Any]] = defaultdict(dict)
    notes: list[str] = []
    for name, words in answer["descriptions"].items():
        if words and words.strip() and words != name:
            facts[name]["description"] = _clean(words)
    for name, pairs in answer["labels"].items():
        labels, present = _labels(answer, name, dict(map(tuple, pairs))), set(answer["seen"].get(name, ()))
        if present and present <= set(labels):
            facts[name] |= {"values": tuple(sorted(labels)), "value_labels": labels}
        elif labels:
            listed = ", ".join(f"{value} = {words!r}" for value, words in list(labels.items())[:5])
            notes.append(f"look at: {name} (labels of some values: {listed}; --missing makes one of them missing)")
    return dict(facts), tuple(notes)


def _labels(answer: Mapping[str, Any], name: str, labels: Mapping[Any, Any]) -> dict[Any, str]:
    """Return the labels of the values that are not declared as missing."""
    ranges, extra = answer["ranges"].get(name, []), answer["missing"].get(name, [])
    kept = {_whole(value): _clean(str(words)) for value, words in labels.items() if value not in extra}
    if len({type(value) for value in kept}) > 1:
        return {}
    return {value: words for value, words in kept.items() if not any(_within(value, span) for span in ranges)}


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _within(value: Any, span: Mapping[str, Any]) -> bool:
    low, high = span["lo"], span["hi"]
    alike = isinstance(value, str) == isinstance(low, str) == isinstance(high, str)
    return alike and low <= value <= high


def _clean(words: str) -> str:
    return " ".join(words.replace("\x00", " ").split())
