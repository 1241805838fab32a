"""Check what a bundle claims: its guarantee (events, plan, noise, ledger) and its data files (schema, copies)."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.bundle.document import ProvenanceRecord, ReleaseDocument, ReleasedTable, released_schema
from sfumato.bundle.layout import DOCUMENT, MODEL, PAGES, SCHEMA, SCRIPT, WARNING, file_record, statement_files
from sfumato.bundle.ledger_record import LedgerCost
from sfumato.bundle.quality_statement import QualityStatement, statement_note
from sfumato.core.file_metadata import METADATA
from sfumato.core.method import registered_home, with_parameter
from sfumato.core.plan import LARGEST_SAMPLE
from sfumato.core.schema_assumptions import purchased, schema_assumptions
from sfumato.privacy.accounting.accountant import basic_composition, composed_totals
from sfumato.privacy.accounting.event import Event, event_kind
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.strength import is_refused
from sfumato.privacy.exact import format_fraction, to_fraction
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.table.writing.delimited import text_file_matches_rows
from sfumato.table.writing.formats import COPIES
from sfumato.table.writing.frames import marginal_as_rows


def guarantee_problems(document: ReleaseDocument) -> Iterator[str]:
    """Compose the events again and compare the result with what is stated."""
    guarantee, events = document.guarantee, document.events
    if not events:
        yield f"{DOCUMENT} has no events"
        return
    formal = all(event_kind(event.kind).formal for event in events)
    if formal != guarantee.formal or guarantee.formal != document.method.formal:
        yield f"the guarantee is stated as {guarantee.kind}, which is not the kind of its events and method"
    elif guarantee.formal and composed_totals(guarantee, events) != (guarantee.exact_epsilon, guarantee.exact_delta):
        yield (
            f"the events compose to epsilon {format_fraction(composed_totals(guarantee, events)[0])}, "
            f"the guarantee says {format_fraction(guarantee.exact_epsilon)}"
        )
    if guarantee.allowed_weak != is_refused(guarantee.exact_epsilon, guarantee.exact_delta):
        yield "the guarantee does not say truly whether the custodian allowed so weak a promise"
    yield from _selection_cost_problems(document)
    if guarantee.recorded != (document.recorded is not None):
        yield "the guarantee and the record disagree on whether the cost was recorded"
    subjects = {
        (document.table, document.adjacency, document.unit),
        (guarantee.table, guarantee.adjacency, guarantee.unit),
        *((event.table, event.adjacency, event.unit) for event in guarantee.counted(events)),
    }
    if len(subjects) > 1:
        yield "document, guarantee and events do not speak of the same table, adjacency and unit"


def _selection_cost_problems(document: ReleaseDocument) -> Iterator[str]:
    chosen = document.guarantee.selection
    if chosen is None:
        return
    if not 1 <= chosen.climbed <= len(chosen.values):
        yield f"the selection stopped at candidate {chosen.climbed} of {len(chosen.values)}"
    if basic_composition(document.events) != (to_fraction(chosen.spent_epsilon), to_fraction(chosen.spent_delta)):
        yield "the events do not compose to what the selection says that its candidates and scores cost"


def wording_problems(document: ReleaseDocument) -> Iterator[str]:
    """Word the guarantee again and compare."""
    if document.statement != document.guarantee.statement():
        yield "the statement in plain words is not the one that the guarantee makes"


def account_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether an account that was charged for the release can stand as the bundle says."""
    if document.recorded is not None:
        yield from (f"{DOCUMENT}: {problem}" for problem in document.recorded.problems(document.events))


def noise_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether the noise of each event is as large as its cost demands."""
    problems = (understated_cost(event) for event in document.guarantee.counted(document.events))
    yield from (problem for problem in problems if problem is not None)


def purchase_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Look whether the guarantee counts what the bought facts of the schema cost."""
    if document.guarantee.beside != (purchased(schema) if document.guarantee.formal else ()):
        yield f"the guarantee does not count the purchases that {SCHEMA} lists, or counts others"


def origin_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Look whether the guarantee says where the facts of the schema come from; that of an older sfumato did not."""
    complete = set(document.guarantee.assumptions) >= set(schema_assumptions(schema, document.guarantee.formal))
    if not complete or document.facts != ProvenanceRecord.of(schema):
        yield f"{DOCUMENT} does not say where the facts in {SCHEMA} come from, as {SCHEMA} says it"


def plan_problems(
    document: ReleaseDocument, schema: Schema, selection_events: Callable[..., Any] | None = None
) -> Iterator[str]:
    """Plan again from public facts alone: cells, sensitivities, scales and shares must come out the same.

    ``selection_events`` plans the candidates of a selection; releases without one do not need it.
    """
    if registered_home(document.method.name) is None:
        return  # which is a problem by itself
    method, plan = document.replan(schema)
    candidates = None if selection_events is None else _selection_events(document, schema, method, selection_events)
    events = plan.events if candidates is None else candidates
    if events != document.planned_events or plan.stages != document.stages:
        yield "the method and its parameters do not lead to the events and stages that the bundle states"


def _selection_events(
    document: ReleaseDocument, schema: Schema, method: Any, selection_events: Callable[..., Any]
) -> tuple[Event, ...]:
    """Plan every candidate of a selection again; none where the kept release is not that at which it stopped."""
    chosen = document.guarantee.selection
    assert chosen is not None  # asked only of releases that a selection kept
    candidates = selection_events(chosen, method, schema, document.method.rows, document.randomness.mode)
    climbed = sum(len(events) for events in candidates[: chosen.climbed])
    kept = with_parameter(method, chosen.parameter, chosen.values[chosen.climbed - 1])
    if kept != method or climbed != len(document.events):
        return ()
    return tuple(event for events in candidates for event in events)


DOCTOR_COMMAND = "'sfumato doctor FOLDER --ledger LEDGER'"


def recorded_release_problems(document: ReleaseDocument, ledger: Ledger) -> Iterator[str]:
    """Compare the entries that a release names with those of the ledger."""
    recorded = document.recorded
    yield from _entry_problems("the bundle", document.table, recorded, document.charged_events, ledger)
    if recorded is not None:
        yield from ledger.verify(recorded.head).problems


def recorded_statement_problems(path: Path, statement: QualityStatement, ledger: Ledger) -> Iterator[str]:
    """Compare the entries that a quality statement names with those of the ledger, and its file with their marks."""
    yield from _entry_problems(path.name, statement.table, statement.recorded, statement.events, ledger)
    yield from mark_problems(path, statement.table, statement.recorded, ledger)


def _entry_problems(
    name: str, table: str, recorded: LedgerCost | None, events: Sequence[Event], ledger: Ledger
) -> Iterator[str]:
    if recorded is None:
        yield f"{name} says that its cost was not recorded, so the ledger cannot hold it"
        return
    held = {entry.sequence: entry for entry in ledger.history(table)}
    for place, event in zip(recorded.entries, events, strict=False):
        entry = held.get(place.sequence)
        if entry is None or entry.hash != place.hash:
            yield f"entry {place.sequence} of the ledger is not the one that {name} names"
        elif entry.event != event:
            yield f"entry {place.sequence} of the ledger records another event than {name}"
    if len(recorded.entries) != len(events):
        yield f"{len(events)} events, but {len(recorded.entries)} entries of the ledger are named in {name}"


def mark_problems(path: Path, table: str, recorded: LedgerCost | None, ledger: Ledger) -> Iterator[str]:
    """Compare what the ledger says became of the spend with the file that lies here."""
    outcomes, here = ledger.outcomes(table), file_record(path).sha256
    for place in recorded.entries if recorded else ():
        outcome = outcomes.get(place.sequence)
        if outcome is not None and outcome.kind == "lost":
            yield f"the ledger says that nothing came of entry {place.sequence} ({outcome.reason})"
        elif outcome is not None and here not in outcome.bundles:
            yield f"the ledger knows another {path.name} for entry {place.sequence}: SHA-256 {outcome.sha256}"


def ledger_notes(folder: Path, document: ReleaseDocument, ledger: Ledger) -> Iterator[str]:
    """Name what the ledger knows of this release beyond the folder, and what it does not know of it."""
    outcomes, here = ledger.outcomes(document.table), file_record(folder / DOCUMENT).sha256
    for recorded in document.recorded.entries if document.recorded else ():
        outcome = outcomes.get(recorded.sequence)
        if outcome is None:
            unknown = f"the ledger does not know what became of entry {recorded.sequence}"
            yield f"{unknown}; {DOCTOR_COMMAND} tells it"
        elif here in outcome.bundles and (later := outcome.bundles[outcome.bundles.index(here) + 1 :]):
            also = f"the release of entry {recorded.sequence} was saved again after this {DOCUMENT}"
            yield f"{also}: SHA-256 {', '.join(later)}"
    yield from _missing_statements(folder, document, ledger)


def _missing_statements(folder: Path, document: ReleaseDocument, ledger: Ledger) -> Iterator[str]:
    """Name the statements on this release that the ledger knows and the folder lacks."""
    here = {file_record(path).sha256 for path in statement_files(folder)}
    outcomes, note = ledger.outcomes(document.table), statement_note(document.created_at)
    for entry in ledger.history(document.table):
        outcome = outcomes.get(entry.sequence)
        lacking = [] if outcome is None else [each for each in outcome.bundles if each not in here]
        if entry.event.note == note and lacking:
            yield (
                f"the ledger knows a quality statement on this release that the folder lacks: entry {entry.sequence}, "
                f"SHA-256 {', '.join(lacking)}"
            )


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
