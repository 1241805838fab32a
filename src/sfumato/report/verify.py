"""Does a bundle say what it holds, and hold what it says? Every check that needs no private data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from sfumato import __version__
from sfumato.errors import BundleError, SfumatoError
from sfumato.privacy.accountant import basic
from sfumato.privacy.event import kind_of
from sfumato.privacy.event_cost import cost_problem
from sfumato.privacy.exact import exact, show
from sfumato.privacy.ledger import Ledger
from sfumato.releases.method import REGISTRY, method_class
from sfumato.report.bundle import DOCUMENT, METADATA, MODEL, REPORT, SCHEMA, SCRIPT, WARNING, file_record
from sfumato.report.document import ReleaseDocument, ReleasedTable, released_schema
from sfumato.schema import Schema
from sfumato.table.frames import cell_table

REQUIRED = (SCHEMA, REPORT, SCRIPT)


class BundleCheck(BaseModel):
    """What was checked and what did not hold; true in a condition when everything held."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    directory: str
    ok: bool
    checks: tuple[str, ...]
    problems: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.ok


def verify_bundle(directory: str | Path, ledger: Ledger | str | Path | None = None) -> BundleCheck:
    """Check a bundle against itself and, where one is given, against the ledger that recorded it."""
    folder = Path(directory)
    _refuse_non_bundle(folder)
    inspection = _Inspection(folder)
    document = inspection.document()
    if document is not None:
        inspection.run(document, None if ledger is None else Ledger.of(ledger))
    problems = tuple(inspection.problems)
    return BundleCheck(directory=str(folder), ok=not problems, checks=tuple(inspection.checks), problems=problems)


def _refuse_non_bundle(folder: Path) -> None:
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise BundleError(f"the bundle {str(folder)!r} {what}", next_step="give the folder that --out named")
    if not (folder / DOCUMENT).is_file():
        raise BundleError(
            f"{str(folder)!r} is not a bundle: it has no {DOCUMENT}",
            next_step="give the folder that 'sfumato release --out DIR' wrote",
        )


@dataclass
class _Inspection:
    """Runs one check after the other; each adds what it finds."""

    folder: Path
    checks: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])

    def document(self) -> ReleaseDocument | None:
        self.checks.append(f"{DOCUMENT} can be read and carries its own seal")
        try:
            text = (self.folder / DOCUMENT).read_bytes().decode()
            document = ReleaseDocument.from_json(text)
        except ValidationError as error:
            details = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
            self.problems.append(f"{DOCUMENT} cannot be read: {details}")
            return None
        except (OSError, ValueError, SfumatoError) as error:
            self.problems.append(f"{DOCUMENT} cannot be read: {error}")
            return None
        if text != document.to_json() or document != document.sealed():
            self.problems.append(f"{DOCUMENT} was changed after it was written: its seal does not hold")
        return document

    def run(self, document: ReleaseDocument, ledger: Ledger | None) -> None:
        self.check("every listed file is there, unchanged, and no other file is", lambda: self.files(document))
        self.check("the events compose to the stated guarantee", lambda: _guarantee_problems(document))
        self.check("the noise is as large as each event's cost demands", lambda: _noise_problems(document))
        self.check("the stamp of seeded runs is everywhere or nowhere", lambda: self.stamps(document))
        schema = self.schema(document)
        if schema is not None:
            self.check("the method's plan on this schema gives these events", lambda: _plan_problems(document, schema))
            for table in document.tables:
                title = f"{table.parquet} and {table.csv} fit the public schema"
                self.check(title, lambda table=table: self.data(document, schema, table))
            if MODEL in document.files:
                title = f"{MODEL} is sound and carries the same guarantee"
                self.check(title, lambda: _model_problems(self.folder / MODEL, document, schema))
        if ledger is not None:
            self.check("the ledger holds the recorded events", lambda: _ledger_problems(document, ledger))

    def check(self, title: str, look: Callable[[], Any]) -> None:
        self.checks.append(title)
        try:
            self.problems += look()
        except SfumatoError as error:
            self.problems += [error.headline, *error.problems]
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            self.problems.append(f"cannot check that {title}: {error}")

    def files(self, document: ReleaseDocument) -> Iterator[str]:
        found = {Path(root, name).relative_to(self.folder).as_posix()
                 for root, _, names in os.walk(self.folder) for name in names}  # fmt: skip
        named = {path for table in document.tables for path in (table.parquet, table.csv)}
        listed = set(document.files)
        yield from (f"{path} is not listed in {DOCUMENT}" for path in sorted(found - listed - {DOCUMENT}))
        yield from (f"{DOCUMENT} does not list {path}" for path in sorted(({*REQUIRED} | named) - listed))
        for path, record in document.files.items():
            if path not in found or (self.folder / path).is_symlink():
                yield f"{path} is missing"
            elif file_record(self.folder / path) != record:
                yield f"{path} was changed: its hash is not the one in {DOCUMENT}"

    def schema(self, document: ReleaseDocument) -> Schema | None:
        self.checks.append("the schema can be read, is confirmed, and is that of the guarantee")
        try:
            schema = Schema.load(self.folder / SCHEMA)
            if document.method.formal:
                schema.require_confirmed()
        except SfumatoError as error:
            self.problems += [f"{SCHEMA}: {error.headline}", *error.problems]
            return None
        said = (document.table, document.adjacency, document.guarantee.rows)
        if said != (schema.name, schema.adjacency, schema.rows):
            self.problems.append(f"{SCHEMA} and {DOCUMENT} disagree on name, adjacency or public row count")
        return schema

    def stamps(self, document: ReleaseDocument) -> Iterator[str]:
        stamp, seeded = document.randomness.stamp, document.randomness.mode == "seeded"
        if seeded != (stamp is not None) or seeded != (document.guarantee.randomness == "seeded"):
            yield f"{DOCUMENT}: the stamp, the mode of randomness and the guarantee disagree"
        if any((event.randomness == "seeded") != seeded for event in document.events):
            yield f"{DOCUMENT}: the events and the mode of randomness disagree"
        if (self.folder / WARNING).exists() != seeded:
            yield f"{WARNING} is {'missing from a seeded run' if seeded else 'in a run without a seed'}"
        for table in document.tables:
            metadata = pq.read_schema(self.folder / table.parquet).metadata or {}
            found = metadata.get(f"{METADATA}stamp".encode())
            if (found.decode() if found else None) != stamp:
                yield f"{table.parquet}: its stamp is not the one in {DOCUMENT}"

    def data(self, document: ReleaseDocument, schema: Schema, listed: ReleasedTable) -> Iterator[str]:
        # a ParquetFile reads this file alone, whatever its folder is called
        table = pq.ParquetFile(self.folder / listed.parquet).read()
        if table.num_rows != listed.rows:
            yield f"{listed.parquet} has {table.num_rows:,} lines, {DOCUMENT} says {listed.rows:,}"
        if not _read_csv(self.folder / listed.csv, table.schema).equals(table):
            yield f"{listed.csv} and {listed.parquet} do not hold the same values"
        look = {"rows": _row_problems, "counts": _cell_problems, "values": _value_problems}[listed.kind]
        yield from look(schema, listed, table)


def _model_problems(path: Path, document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    from sfumato.synthesizers.graphical.fitted import FittedModel

    model = FittedModel.load(path)
    if (model.method, model.schema) != (document.method.name, schema):
        yield f"{MODEL} and {DOCUMENT} disagree on the method or on the schema"
    if (model.guarantee, model.events) != (document.guarantee, document.events):
        yield f"{MODEL} and {DOCUMENT} do not state the same guarantee and events"
    if model.stamp != document.randomness.stamp:
        yield f"{MODEL}: its stamp is not the one in {DOCUMENT}"


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    types = {field.name: field.type for field in schema}
    convert = pa_csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True,
                                    quoted_strings_can_be_null=False)  # fmt: skip
    parse = pa_csv.ParseOptions(newlines_in_values=True)
    return pa_csv.read_csv(path, parse_options=parse, convert_options=convert)


def _cell_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    expected = cell_table([schema[name] for name in listed.columns], np.zeros(schema.shape(listed.columns), np.int64))
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


def _value_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    if tuple(table.column_names) != listed.columns:
        yield f"{listed.parquet} has columns {', '.join(table.column_names)}, not those that {DOCUMENT} lists"
    for name, column in zip(table.column_names, table.columns, strict=True):
        numbers = column.to_numpy() if pa.types.is_floating(column.type) else np.zeros(0)
        if column.null_count or not np.isfinite(numbers).all():
            yield f"{listed.parquet} has values of {name} that are missing or not finite"


def _guarantee_problems(document: ReleaseDocument) -> Iterator[str]:
    guarantee, events = document.guarantee, document.events
    if not events:
        yield f"{DOCUMENT} has no events"
        return
    formal = {kind_of(event.kind).formal for event in events}
    if formal != {guarantee.formal} or guarantee.formal != document.method.formal:
        yield f"the guarantee is stated as {guarantee.kind}, which is not the kind of its events and method"
    elif guarantee.formal and basic(events) != (exact(guarantee.epsilon or "0"), exact(guarantee.delta)):
        yield (f"the events compose to epsilon {show(basic(events)[0])}, "
               f"the guarantee says {show(guarantee.exact_epsilon)}")  # fmt: skip
    if document.statement != guarantee.statement():
        yield "the statement in plain words is not the one that the guarantee makes"
    if guarantee.recorded != (document.recorded is not None):
        yield "the guarantee and the record disagree on whether the cost was recorded"
    said = {(document.table, document.adjacency, document.unit), (guarantee.table, guarantee.adjacency, guarantee.unit)}
    if said | {(event.table, event.adjacency, event.unit) for event in events} != said or len(said) > 1:
        yield "document, guarantee and events do not speak of the same table, adjacency and unit"


def _noise_problems(document: ReleaseDocument) -> Iterator[str]:
    found = (cost_problem(event) for event in document.events)
    yield from (problem for problem in found if problem is not None)


def _plan_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Plan again from public facts alone: cells, sensitivities, scales and shares must come out the same."""
    if document.versions.get("sfumato") != __version__ or document.method.name not in REGISTRY:
        return  # another version may plan otherwise; the events were checked by themselves
    method: Any = method_class(document.method.name)
    plan = method(**document.method.parameters).plan(schema, document.method.rows, document.randomness.mode)
    if plan.events != document.events or plan.stages != document.stages:
        yield "the method and its parameters do not lead to the events and stages that the bundle states"


def _ledger_problems(document: ReleaseDocument, ledger: Ledger) -> Iterator[str]:
    if document.recorded is None:
        yield "the bundle says that its cost was not recorded, so the ledger cannot hold it"
        return
    held = {entry.sequence: entry for entry in ledger.history(document.table)}
    for recorded, event in zip(document.recorded.entries, document.events, strict=False):
        entry = held.get(recorded.sequence)
        if entry is None or entry.hash != recorded.hash:
            yield f"entry {recorded.sequence} of the ledger is not the one that the bundle names"
        elif entry.event != event:
            yield f"entry {recorded.sequence} of the ledger records another event than the bundle"
    if len(document.recorded.entries) != len(document.events):
        yield f"{len(document.events)} events, but {len(document.recorded.entries)} entries of the ledger are named"
    yield from ledger.verify(document.recorded.head).problems
