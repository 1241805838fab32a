"""Verify a bundle against itself and its ledger, without private data."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from sfumato.bounded_reads import is_file, is_folder
from sfumato.bundle import verify_generated
from sfumato.bundle.document import PAGES, ProvenanceRecord, ReleaseDocument, ReleasedTable
from sfumato.bundle.quality_statement import NAME, statement_files
from sfumato.bundle.read import read_document
from sfumato.bundle.replan import replan
from sfumato.bundle.signature import SIGNATURE, UNPROVED, PublicKey, check_signature
from sfumato.bundle.verify_data import (
    csv_matches,
    data_problems,
    date_problems,
    metadata_problems,
    model_problems,
    stamp_problems,
    strange_names,
    text_problems,
    total_problems,
)
from sfumato.bundle.verify_ledger import entry_problems, ledger_notes, mark_problems
from sfumato.bundle.verify_quality import (
    ledger_problems,
    read_statement,
    recomputed_problems,
    statement_problems,
    statement_summary,
)
from sfumato.bundle.write import DOCUMENT, MODEL, SCHEMA, SCRIPT, FolderListing, file_record
from sfumato.core.method import registered_home
from sfumato.core.purchases import UNRECORDED_PURCHASE, purchased
from sfumato.core.schema_assumptions import schema_assumptions
from sfumato.errors import BundleError, MissingExtra, SfumatoError
from sfumato.evaluate.uncertainty.main_numbers import main_number_problems
from sfumato.privacy.accounting.accountant import basic_composition, composed_totals
from sfumato.privacy.accounting.event import Event, event_kind
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.strength import is_refused
from sfumato.privacy.exact import format_fraction, to_fraction
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.randomness import STAMP
from sfumato.progress import report_progress
from sfumato.schema import Schema
from sfumato.table.writing.formats import COPIES, file_matches_rows
from sfumato.version import __version__

REQUIRED = (SCHEMA, SCRIPT)
EXHAUSTED = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
RESOURCE_MESSAGES = ("no space left", "disk full", "disk is full", "out of memory", "too many open files")
"""Signs that this machine, not the bundle, is at its end."""
UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    ArithmeticError,
    TypeError,
    AttributeError,
    pa.ArrowException,
)
"""What reading forged bytes and computing with forged numbers may end in."""


class BundleCheck(BaseModel):
    """What was checked and what did not hold; true in a condition when everything held.

    A seeded bundle may hold and still be not for release: ``stamp`` says so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    directory: str
    ok: bool
    checks: tuple[str, ...]
    problems: tuple[str, ...] = ()
    stamp: str | None = None
    """What a seeded run is stamped with: it must not be released."""
    unchecked: tuple[str, ...] = ()
    """What only another version of sfumato, or of what draws the page, could compare."""
    notes: tuple[str, ...] = ()
    """What is worth knowing and no fault of the bundle."""
    fingerprint: str = ""
    """That of the release, as its pages state it; empty where release.json cannot be read."""
    signed_by: str = ""
    """Fingerprint of the key that was given, where the bundle is signed by it."""
    guarantee: str = ""
    """The guarantee of everything in the folder, in a line: quality statements are counted; empty after a problem."""

    def __bool__(self) -> bool:
        return self.ok

    @property
    def verdict(self) -> str:
        """The result in a few words."""
        if not self.ok:
            return f"{len(self.problems)} problem{'s' if len(self.problems) > 1 else ''}"
        part = ", but not in full" if self.unchecked else ""
        return (
            f"verified{part}"
            if self.stamp is None
            else f"verified{part}, but {self.stamp.replace(STAMP, STAMP.upper())}"
        )


def verify_bundle(
    directory: str | Path, ledger: Ledger | str | Path | None = None, key: str | Path | PublicKey | None = None
) -> BundleCheck:
    """Check a bundle against itself and, where they are given, the ledger that recorded it and the custodian's key."""
    folder = Path(directory)
    _refuse_non_bundle(folder)
    public = key if isinstance(key, PublicKey) or key is None else PublicKey.load(key)
    inspection = _Inspection(folder, public)
    inspection.check("nothing in the folder is a link", lambda: FolderListing.of(folder).strange)
    document = None if inspection.problems else inspection.document()
    if document is not None:
        inspection.run(document, None if ledger is None else Ledger.of(ledger))
    problems = tuple(inspection.problems)
    return BundleCheck(
        directory=str(folder),
        ok=not problems,
        checks=tuple(inspection.checks),
        problems=problems,
        stamp=None if document is None else document.randomness.stamp or inspection.stamp,
        unchecked=() if document is None else (*inspection.unchecked(), *verify_generated.absent_pages(document)),
        notes=tuple(inspection.notes),
        fingerprint="" if document is None else document.fingerprint,
        signed_by="" if problems else inspection.signed_by,
        guarantee="" if problems else inspection.guarantee,
    )


def _refuse_non_bundle(folder: Path) -> None:
    if not is_folder(folder):
        what = "is a file, not a folder" if is_file(folder) else "does not exist"
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
    key: PublicKey | None = None
    checks: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    stamp: str | None = None
    """That of a seeded statement beside the release."""
    signed_by: str = ""
    guarantee: str = ""
    """The first line of the guarantee of what was read so far."""
    differing: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What came out otherwise here, by the other version that explains it."""

    def document(self) -> ReleaseDocument | None:
        self.checks.append(f"{DOCUMENT} can be read and carries its own seal")
        try:
            text, document = read_document(self.folder)
        except BundleError as error:
            self.problems += error.problems
            return None
        if text != document.to_json() or document != document.sealed():
            self.problems.append(f"{DOCUMENT} was changed after it was written: its seal does not hold")
        return document

    def run(self, document: ReleaseDocument, ledger: Ledger | None) -> None:
        """Make every check that a readable document allows."""
        self.guarantee = document.guarantee.headline()
        self.check("the version that made the bundle is known", lambda: verify_generated.version_problems(document))
        self.check("every listed file is there, unchanged, and nothing else is", lambda: self.files(document))
        if self.key is not None or (self.folder / SIGNATURE).exists():
            self.check(f"{SIGNATURE} is valid and covers these files", self.signature)
        self.facts(document, verify_generated.differs_by(document))
        schema = self.schema(document)
        if schema is not None:
            self.holdings(document, schema, verify_generated.differs_by(document))
            for path in statement_files(self.folder):
                title = f"{path.name} is about this release, and its guarantee and measures hold"
                self.check(title, partial(self.statement, path, document, schema, ledger))
        if ledger is not None:
            events = _all_events(document)
            self.check("the ledger holds the recorded events", lambda: entry_problems(document, events, ledger))
            if schema is not None and schema.purchases:
                self.check("the ledger holds the purchases", lambda: self.purchases(schema, ledger))
            self.check(f"the ledger's mark is of this {DOCUMENT}", lambda: self.marks(document, ledger))

    def facts(self, document: ReleaseDocument, differs: str) -> None:
        """Check what the document says by itself, and the script and the metadata that follow from it alone."""
        self.check("the events compose to the stated guarantee", lambda: _guarantee_problems(document))
        title = "the statement in plain words is the one that the guarantee makes"
        self.compare(title, "the statement in plain words", differs, lambda: _statement_problems(document))
        self.check("the account's totals can be those after this release", lambda: _record_problems(document))
        self.check("the noise is as large as each event's cost demands", lambda: _noise_problems(document))
        self.check("the stamp of seeded runs is everywhere or nowhere", lambda: stamp_problems(self.folder, document))
        title = "the Parquet files state the guarantee of the release"
        metadata = partial(metadata_problems, self.folder, document)
        self.compare(title, "what the Parquet files say of themselves", differs, metadata)
        self.check("the method is one of sfumato's", lambda: verify_generated.method_problems(document))
        title = "the method is described as sfumato describes it"
        self.compare(
            title, "the method's description", differs, lambda: verify_generated.description_problems(document)
        )
        title = f"{SCRIPT} is the script that {DOCUMENT} makes"
        self.check(title, lambda: verify_generated.script_problems(self.folder, document))

    def holdings(self, document: ReleaseDocument, schema: Schema, differs: str) -> None:
        """Check schema, plan, tables, model and pages against one another."""
        title = f"the guarantee counts what the bought facts in {SCHEMA} cost"
        self.check(title, lambda: _purchase_problems(document, schema))
        title = f"{SCHEMA} is written as sfumato writes it"
        self.compare(title, f"the text of {SCHEMA}", differs, lambda: text_problems(self.folder, schema))
        title = f"{DOCUMENT} says where the facts of the schema come from"
        self.compare(title, "the sources of the facts", differs, lambda: _origin_problems(document, schema))
        self.check("the release is no older than its schema", lambda: date_problems(document, schema))
        title = "the method's plan on this schema gives these events"
        self.compare(title, "the plan", differs, lambda: _plan_problems(document, schema))
        self.check("as many rows were released as the method draws", lambda: total_problems(document))
        for table in document.tables:
            title = f"{table.parquet} and {table.csv} fit the public schema"
            self.check(title, partial(self.data, document, schema, table))
        if MODEL in document.files:
            title = f"{MODEL} is sound, of this run, and carries the same guarantee"
            self.check(title, lambda: model_problems(self.folder / MODEL, document, schema))
        if document.expected_errors is not None:
            title = f"the main numbers of {DOCUMENT} are those of the released rows"
            self.check(title, lambda: main_number_problems(self.folder, document, schema))
        for name in (page for page in PAGES if page in document.files):
            title = f"{name} is the page that {DOCUMENT} and the released tables make"
            page = partial(verify_generated.page_problems, self.folder, document, schema, name)
            self.compare(title, name, verify_generated.differs_by(document, name), page)

    def check(self, title: str, look: Callable[[], Any]) -> None:
        report_progress(title)
        self.checks.append(title)
        try:
            # Forged numbers may overflow whatever is computed from them; what comes of it is compared all the same.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                for problem in look():
                    self.problems.append(problem)  # one by one: what was found before an error stays
        except SfumatoError as error:
            _raise_if_out_of_resources(title, error)
            self.problems += [error.headline, *error.problems]
        except UNREADABLE as error:
            _raise_if_out_of_resources(title, error)
            self.problems.append(f"cannot check that {title}: {error}")

    def compare(self, title: str, what: str, differs: str, look: Callable[[], Any]) -> None:
        """Run a check that another version may fail without fault: then it counts as not made."""
        before = len(self.problems)
        self.check(title, look)
        if differs and len(self.problems) > before:
            del self.problems[before:]
            self.checks.remove(title)
            self.differing.setdefault(differs, []).append(what)

    def unchecked(self) -> Iterator[str]:
        """Yield what could not be compared here, and why."""
        for differs, names in self.differing.items():
            yield f"{', '.join(names)} {'were' if len(names) > 1 else 'was'} not compared: {differs}"

    def signature(self) -> tuple[str, ...]:
        """Check who signed; without a key of the custodian's, only that nothing was changed since."""
        result = check_signature(self.folder, self.key)
        again = [f"{SIGNATURE} does not cover {name}: ask the custodian to sign again" for name in result.uncovered]
        if self.key is not None:
            self.signed_by = result.fingerprint
            return (*result.problems, *again)
        self.notes += [*([] if result.problems else [UNPROVED.format(fingerprint=result.fingerprint)]), *again]
        return result.problems

    def statement(self, path: Path, document: ReleaseDocument, schema: Schema, ledger: Ledger | None) -> Iterator[str]:
        """Look at a quality statement: an addendum that the release's own document does not list."""
        yield from statement_problems(path, document, schema)
        version = read_statement(path).version
        if verify_generated.age_of(version) == "earlier":
            differs = f"sfumato {version} made {path.name}, and this is {__version__}"
            title = f"the measures of {path.name} follow from its noisy numbers"
            again = partial(recomputed_problems, path, document, schema)
            self.compare(title, f"the measures of {path.name}", differs, again)
        if ledger is not None:
            yield from ledger_problems(path, ledger)
        self.stamp = self.stamp or read_statement(path).randomness.stamp
        self.guarantee = read_statement(path).guarantee.headline()
        self.notes.append(statement_summary(path))

    def files(self, document: ReleaseDocument) -> Iterator[str]:
        contents = FolderListing.of(self.folder)
        named = {path for table in document.tables for path in (table.parquet, table.csv)}
        listed = set(document.files)
        own = listed | {DOCUMENT, SIGNATURE} | {path for path in contents.files if NAME.fullmatch(path)}
        yield from (f"{path} is not listed in {DOCUMENT}" for path in sorted(contents.files - own))
        needless = contents.needless_folders(listed)
        yield from strange_names(document)
        yield from (f"the folder {path} holds nothing that {DOCUMENT} lists" for path in needless)
        yield from (f"{DOCUMENT} does not list {path}" for path in sorted(({*REQUIRED} | named) - listed))
        for path, record in document.files.items():
            if path not in contents.files:
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

    def marks(self, document: ReleaseDocument, ledger: Ledger) -> Iterator[str]:
        self.notes += ledger_notes(self.folder, document, ledger)
        yield from mark_problems(self.folder, document, ledger)

    def purchases(self, schema: Schema, ledger: Ledger) -> Iterator[str]:
        held = {entry.hash: entry.event for entry in ledger.history(schema.name)}
        for each, event in zip(schema.purchases, purchased(schema), strict=True):
            if each.words.startswith(UNRECORDED_PURCHASE):
                self.notes.append(f"no ledger holds the purchase {each.words!r}, so its cap does not count that")
            elif held.get(each.id) != event:
                yield f"the ledger does not hold the purchase {each.words!r} as {SCHEMA} states it"

    def data(self, document: ReleaseDocument, schema: Schema, listed: ReleasedTable) -> Iterator[str]:
        # a ParquetFile reads this file alone, whatever its folder is called
        table = pq.ParquetFile(self.folder / listed.parquet).read()
        if table.num_rows != listed.rows:
            yield f"{listed.parquet} has {table.num_rows:,} lines, {DOCUMENT} says {listed.rows:,}"
        if not csv_matches(self.folder / listed.csv, schema, listed, table):
            yield f"{listed.csv} and {listed.parquet} do not hold the same values"
        yield from self.copy(schema, listed, table)
        yield from data_problems(schema, listed, table)

    def copy(self, schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
        """Look at the rows in every other format in which the bundle has them."""
        stem = self.folder / listed.parquet.removesuffix(".parquet")
        paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in dict.fromkeys(COPIES.values())]
        for path in (path for path in paths if listed.kind == "rows" and path.is_file()):
            try:
                if not file_matches_rows(path, table, schema):
                    yield f"{path.name} and {listed.parquet} do not hold the same values"
            except MissingExtra as error:
                self.notes.append(f"{path.name} cannot be read here: {error.headline}; {error.next_step}")


def _raise_if_out_of_resources(title: str, error: Exception) -> None:
    """A full disk is no damage: the check could not be made, and says nothing about the bundle."""
    known = isinstance(error, OSError) and error.errno in EXHAUSTED
    if known or any(word in str(error).lower() for word in RESOURCE_MESSAGES):
        raise BundleError(
            f"this machine cannot check now that {title}: {error}",
            next_step="free disk space or memory and verify again; nothing was found against the bundle by this",
        ) from error


def _origin_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Look whether the guarantee says where the facts of the schema come from; that of an older sfumato did not."""
    said = set(document.guarantee.assumptions) >= set(schema_assumptions(schema, document.guarantee.formal))
    if not said or document.facts != ProvenanceRecord.of(schema):
        yield f"{DOCUMENT} does not say where the facts in {SCHEMA} come from, as {SCHEMA} says it"


def _guarantee_problems(document: ReleaseDocument) -> Iterator[str]:
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
    yield from _selection_problems(document)
    if guarantee.recorded != (document.recorded is not None):
        yield "the guarantee and the record disagree on whether the cost was recorded"
    said = {(document.table, document.adjacency, document.unit), (guarantee.table, guarantee.adjacency, guarantee.unit)}
    counted = {(event.table, event.adjacency, event.unit) for event in guarantee.counted(events)}
    if said | counted != said or len(said) > 1:
        yield "document, guarantee and events do not speak of the same table, adjacency and unit"


def _purchase_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    if document.guarantee.beside != (purchased(schema) if document.guarantee.formal else ()):
        yield f"the guarantee does not count the purchases that {SCHEMA} lists, or counts others"


def _statement_problems(document: ReleaseDocument) -> Iterator[str]:
    if document.statement != document.guarantee.statement():
        yield "the statement in plain words is not the one that the guarantee makes"


def _record_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether an account that was charged for the release can stand as the bundle says."""
    if document.recorded is not None:
        yield from (f"{DOCUMENT}: {problem}" for problem in document.recorded.problems(document.events))


def _selection_problems(document: ReleaseDocument) -> Iterator[str]:
    from sfumato.evaluate.calibrate.private_selection import selection_problems
    from sfumato.evaluate.calibrate.target import Target

    chosen = document.guarantee.selection
    if chosen is None:
        return
    if not 1 <= chosen.climbed <= len(chosen.values):
        yield f"the selection stopped at candidate {chosen.climbed} of {len(chosen.values)}"
    if basic_composition(document.events) != (to_fraction(chosen.spent_epsilon), to_fraction(chosen.spent_delta)):
        yield "the events do not compose to what the selection says that its candidates and scores cost"
    problems = selection_problems(Target.parse(chosen.target), chosen.beta)
    yield from (f"the selection cannot have been charged: {problem}" for problem in problems)


def _all_events(document: ReleaseDocument) -> tuple[Event, ...]:
    """Return the events with those of a selection that were never run."""
    chosen = document.guarantee.selection
    return document.events if chosen is None else (*document.events, *chosen.unclimbed)


def _noise_problems(document: ReleaseDocument) -> Iterator[str]:
    found = (understated_cost(event) for event in document.guarantee.counted(document.events))
    yield from (problem for problem in found if problem is not None)


def _plan_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Plan again from public facts alone: cells, sensitivities, scales and shares must come out the same."""
    if registered_home(document.method.name) is None:
        return  # which is a problem by itself
    made, plan = replan(document, schema)
    events = plan.events if document.guarantee.selection is None else _selection_events(document, schema, made)
    if events != _all_events(document) or plan.stages != document.stages:
        yield "the method and its parameters do not lead to the events and stages that the bundle states"


def _selection_events(document: ReleaseDocument, schema: Schema, method: Any) -> tuple[Event, ...]:
    """Plan every rung of a selection again; none where the kept release is not the rung at which it stopped."""
    from sfumato.evaluate.calibrate.private_selection import ladder_events
    from sfumato.evaluate.calibrate.search import with_value

    chosen = document.guarantee.selection
    assert chosen is not None  # asked only of releases that a selection kept
    rungs = ladder_events(chosen, method, schema, document.method.rows, document.randomness.mode)
    climbed = sum(len(rung) for rung in rungs[: chosen.climbed])
    kept = with_value(method, chosen.parameter, chosen.values[chosen.climbed - 1])
    if kept != method or climbed != len(document.events):
        return ()
    return tuple(event for rung in rungs for event in rung)
