"""Check released data files against the schema, and every copy against its Parquet file."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.bundle.document import ReleaseDocument, ReleasedTable, released_schema
from sfumato.bundle.layout import DOCUMENT, MODEL, PAGES, SCHEMA, SCRIPT, WARNING
from sfumato.core.file_metadata import METADATA
from sfumato.core.plan import LARGEST_SAMPLE
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.table.writing.delimited import text_file_matches_rows
from sfumato.table.writing.formats import COPIES
from sfumato.table.writing.frames import marginal_as_rows

FITTED = ("aim", "mst")
"""Methods whose bundles hold the fitted model."""
TABLE_NAME = re.compile(r"(data|tables/[\w-][\w.-]*)\.parquet")
BOUND_BY_MEMORY = 100_000
"""Fewer rows than the noisy total may be drawn where memory does not hold it; below this number it always does."""


def strange_names(document: ReleaseDocument) -> Iterator[str]:
    """Yield listed files that no release of this kind writes, and the model where it is missing."""
    fitted = document.method.name in FITTED
    written = {SCHEMA, SCRIPT, *PAGES, *([MODEL] if fitted else []), *([WARNING] if document.randomness.stamp else [])}
    for table in document.tables:
        stem = table.parquet.removesuffix(".parquet")
        if not TABLE_NAME.fullmatch(table.parquet) or table.csv != f"{stem}.csv":
            yield f"{DOCUMENT} lists a table in {table.parquet} and {table.csv}, which no release calls so"
        copies = COPIES.values() if table.kind == "rows" else ()
        written |= {table.parquet, table.csv, *(f"{stem}{suffix}" for suffix in copies)}
    yield from (
        f"{DOCUMENT} lists {path}, which no such release writes" for path in sorted({*document.files} - written)
    )
    if fitted and MODEL not in document.files:
        yield f"{DOCUMENT} does not list {MODEL}, which a release by {document.method.name} holds"


def stamp_problems(folder: Path, document: ReleaseDocument) -> Iterator[str]:
    """Look for the stamp of a seeded run in all places that must have it, or in none."""
    stamp, seeded = document.randomness.stamp, document.randomness.mode == "seeded"
    if seeded != (stamp is not None) or seeded != (document.guarantee.randomness == "seeded"):
        yield f"{DOCUMENT}: the stamp, the mode of randomness and the guarantee disagree"
    if stamp != Randomness.of(document.randomness.seed).stamp:
        yield f"{DOCUMENT}: the stamp is not the one of this seed"
    if any((event.randomness == "seeded") != seeded for event in document.events):
        yield f"{DOCUMENT}: the events and the mode of randomness disagree"
    if (folder / WARNING).exists() != seeded:
        yield f"{WARNING} is {'missing from a seeded run' if seeded else 'in a run without a seed'}"
    for table in document.tables:
        metadata = pq.read_schema(folder / table.parquet).metadata or {}
        written = metadata.get(f"{METADATA}stamp".encode())
        if (written.decode() if written else None) != stamp:
            yield f"{table.parquet}: its stamp is not the one in {DOCUMENT}"


def metadata_problems(folder: Path, document: ReleaseDocument) -> Iterator[str]:
    """Compare what Parquet files say of themselves with the document, so that they may travel alone."""
    stamp = document.randomness.stamp
    facts = {"version": document.versions.get("sfumato", ""), "guarantee": document.statement.splitlines()[0]}
    stated = {f"{METADATA}{key}": value for key, value in (facts | ({"stamp": stamp} if stamp else {})).items()}
    expected = {key.encode(): value.encode() for key, value in stated.items()}
    for table in document.tables:
        if (pq.read_schema(folder / table.parquet).metadata or {}) != expected:
            yield f"{table.parquet}: what its metadata say is not what {DOCUMENT} says"


def total_problems(document: ReleaseDocument) -> Iterator[str]:
    """Compare the number of rows with the one that was asked for, or else with the noisy total, where there is one."""
    total, asked = document.statistics.get("noisy_total"), document.method.rows
    if document.method.makes != "rows" or total is None:
        return
    for table in document.tables:
        wanted = asked if asked is not None else min(max(round(total), 0), LARGEST_SAMPLE)
        bound = asked is None and BOUND_BY_MEMORY <= table.rows < wanted
        if table.rows != wanted and not bound and not (asked is None and wanted == 0 and table.rows == 1):
            yield f"{table.parquet} has {table.rows:,} rows, and the method draws {wanted:,}: {DOCUMENT} says so"


def model_problems(model: Any, document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Compare a fitted model with the document: it must be of this very run."""
    if (model.method, model.schema) != (document.method.name, schema):
        yield f"{MODEL} and {DOCUMENT} disagree on the method or on the schema"
    if (model.guarantee, model.events) != (document.guarantee, document.events):
        yield f"{MODEL} and {DOCUMENT} do not state the same guarantee and events"
    stated = document.statistics
    if any(stated.get(name) != value for name, value in model.statistics.items()):
        yield f"{MODEL} is of another run than {DOCUMENT}: its statistics differ"
    if not math.isclose(model.model.total, stated.get("noisy_total", math.nan)):
        yield f"{MODEL} has another noisy number of rows than {DOCUMENT}"
    if model.stamp != document.randomness.stamp:
        yield f"{MODEL}: its stamp is not the one in {DOCUMENT}"


def text_problems(folder: Path, schema: Schema) -> Iterator[str]:
    """Write the schema anew and compare: a comment could say anything."""
    if (folder / SCHEMA).read_bytes() != schema.to_toml().encode():
        yield f"{SCHEMA} is not written as sfumato writes it: it holds a comment or something else of its own"


def date_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Look whether the release is later than the confirmation of its schema; a day is for time zones."""
    released = dt.datetime.fromisoformat(document.created_at).date()
    signed = schema.confirmation
    if signed is not None and signed.on > released + dt.timedelta(days=1):
        yield f"{DOCUMENT} is of {released}, and its schema was confirmed on {signed.on}"


def data_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    """Yield what does not fit in a released table of any kind."""
    look = {"rows": _row_problems, "counts": _cell_problems, "values": _finite_problems}[listed.kind]
    yield from look(schema, listed, table)


def csv_matches(path: Path, schema: Schema, listed: ReleasedTable, table: pa.Table) -> bool:
    """Whether a text file holds a table: rows in the dialect of the schema, all else (and older bundles) plainly."""
    if listed.kind != "rows" or not set(table.column_names) <= set(schema.names):
        return bool(_read_csv(path, table.schema).equals(table))
    for holds in (text_file_matches_rows, lambda *_: _read_csv(path, table.schema).equals(table)):
        with suppress(
            ValueError, UnicodeError, pa.ArrowException
        ):  # it cannot be read so, and hence holds something else
            if holds(path, table, schema):
                return True
    return False


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    types = {field.name: field.type for field in schema}
    convert = pa_csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pa_csv.ParseOptions(newlines_in_values=True)
    return pa_csv.read_csv(path, parse_options=parse, convert_options=convert)


def _cell_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    expected = marginal_as_rows(
        [schema[name] for name in listed.columns], np.zeros(schema.shape(listed.columns), np.int64)
    )
    if table.schema.remove_metadata() != expected.schema.remove_metadata():
        yield f"{listed.parquet} has columns {', '.join(table.column_names)}, not {', '.join(expected.column_names)}"
        return
    labels = expected.column_names[:-1]
    if table.num_rows != expected.num_rows or not table.select(labels).equals(expected.select(labels)):
        yield f"{listed.parquet} does not hold exactly the {expected.num_rows:,} cells of {' x '.join(listed.columns)}"
    if table.column(table.num_columns - 1).null_count:
        yield f"{listed.parquet} has cells without a count"


def _row_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    from sfumato.table import read

    names = tuple(table.column_names)
    if names != listed.columns or not set(names) <= set(schema.releasable):
        yield f"{listed.parquet} has columns that may not be released, or not those that {DOCUMENT} lists"
        return
    violations = read(table, released_schema(schema, names)).check()
    yield from (f"{listed.parquet}: {violation}" for violation in violations)


def _finite_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    if tuple(table.column_names) != listed.columns:
        yield f"{listed.parquet} has columns {', '.join(table.column_names)}, not those that {DOCUMENT} lists"
    for name, column in zip(table.column_names, table.columns, strict=True):
        numbers = column.to_numpy() if pa.types.is_floating(column.type) else np.zeros(0)
        if column.null_count or not np.isfinite(numbers).all():
            yield f"{listed.parquet} has values of {name} that are missing or not finite"
