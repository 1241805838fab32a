"""Verify a bundle against itself and its ledger, without private data."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from sfumato.bounded_reads import is_file, is_folder
from sfumato.bundle import verify_generated
from sfumato.bundle.document import ReleaseDocument, ReleasedTable, first_copies
from sfumato.bundle.layout import (
    DOCUMENT,
    MODEL,
    PAGES,
    SCHEMA,
    SCRIPT,
    SIGNATURE,
    STATEMENT_NAME,
    FolderListing,
    file_record,
    statement_files,
)
from sfumato.bundle.quality_statement import QualityStatement
from sfumato.bundle.read import read_document
from sfumato.bundle.signature import UNPROVED, PublicKey, check_signature
from sfumato.bundle.verify_generated import read_statement, statement_problems, statement_summary
from sfumato.bundle.verify_generated import wording_problems as statement_wording
from sfumato.bundle.verify_guarantee import (
    account_problems,
    csv_matches,
    data_problems,
    date_problems,
    guarantee_problems,
    ledger_notes,
    mark_problems,
    metadata_problems,
    model_problems,
    noise_problems,
    origin_problems,
    plan_problems,
    purchase_problems,
    recorded_release_problems,
    recorded_statement_problems,
    stamp_problems,
    strange_names,
    text_problems,
    total_problems,
    wording_problems,
)
from sfumato.core.schema_assumptions import UNRECORDED_PURCHASE, purchased
from sfumato.errors import BundleError, MissingExtra, SfumatoError
from sfumato.lazy import HOOKS, find_hook
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
    inspection.check("nothing in the folder is a link", lambda: FolderListing.of(folder).unexpected)
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
        if not document.is_intact(text):
            self.problems.append(f"{DOCUMENT} was changed after it was written: its seal does not hold")
        return document

    def run(self, document: ReleaseDocument, ledger: Ledger | None) -> None:
        """Make every check that a readable document allows."""
        self.guarantee, differs = document.guarantee.headline(), verify_generated.differs_by(document)
        self.check("the version that made the bundle is known", verify_generated.version_problems, document)
        self.check("every listed file is there, unchanged, and nothing else is", self.files, document)
        if self.key is not None or (self.folder / SIGNATURE).exists():
            self.check(f"{SIGNATURE} is valid and covers these files", self.signature)
        self.facts(document, differs)
        schema = self.schema(document)
        if schema is not None:
            self.holdings(document, schema, differs)
            for path in statement_files(self.folder):
                title = f"{path.name} is about this release, and its guarantee holds"
                self.check(title, self.statement, path, document, schema, ledger)
        if ledger is not None:
            self.check("the ledger holds the recorded events", recorded_release_problems, document, ledger)
            if schema is not None and schema.purchases:
                self.check("the ledger holds the purchases", self.purchases, schema, ledger)
            self.check(f"the ledger's mark is of this {DOCUMENT}", self.marks, document, ledger)

    def facts(self, document: ReleaseDocument, differs: str) -> None:
        """Check what the document says by itself, and the script and the metadata that follow from it alone."""
        self.check("the events compose to the stated guarantee", guarantee_problems, document)
        statement = "the statement in plain words"
        title = f"{statement} is the one that the guarantee makes"
        self.compare(title, statement, differs, wording_problems, document)
        self.check("the account's totals can be those after this release", account_problems, document)
        self.check("the noise is as large as each event's cost demands", noise_problems, document)
        self.check("the stamp of seeded runs is everywhere or nowhere", stamp_problems, self.folder, document)
        title, what = "the Parquet files state the guarantee of the release", "what the Parquet files say of themselves"
        self.compare(title, what, differs, metadata_problems, self.folder, document)
        self.check("the method is one of sfumato's", verify_generated.method_problems, document)
        title, what = "the method is described as sfumato describes it", "the method's description"
        self.compare(title, what, differs, verify_generated.description_problems, document)
        title = f"{SCRIPT} is the script that {DOCUMENT} makes"
        self.check(title, verify_generated.script_problems, self.folder, document)

    def holdings(self, document: ReleaseDocument, schema: Schema, differs: str) -> None:
        """Check schema, plan, tables, model and pages against one another."""
        self.check(f"the guarantee counts what the bought facts in {SCHEMA} cost", purchase_problems, document, schema)
        title = f"{SCHEMA} is written as sfumato writes it"
        self.compare(title, f"the text of {SCHEMA}", differs, text_problems, self.folder, schema)
        title = f"{DOCUMENT} says where the facts of the schema come from"
        self.compare(title, "the sources of the facts", differs, origin_problems, document, schema)
        self.check("the release is no older than its schema", date_problems, document, schema)
        self.plan("the method's plan on this schema gives these events", document, schema, differs)
        self.check("as many rows were released as the method draws", total_problems, document)
        for table in document.tables:
            self.check(f"{table.parquet} and {table.csv} fit the public schema", self.data, document, schema, table)
        if MODEL in document.files:
            title = f"{MODEL} is sound, of this run, and carries the same guarantee"
            model = self.folder / MODEL
            self.ask("bundle.load_model", title, MODEL, lambda load: model_problems(load(model), document, schema))
        if document.expected_errors is not None:
            title = f"the main numbers of {DOCUMENT} are those of the released rows"
            rows, hook = document.tables[0], "bundle.main_number_problems"
            self.ask(hook, title, "the main numbers", lambda look: look(document, schema, self.released(rows)))
        self.pages(document, schema)

    def plan(self, title: str, document: ReleaseDocument, schema: Schema, differs: str) -> None:
        """Plan again; that of a selection plans all its candidates, and is charged for a metric with a proof."""
        chosen = document.guarantee.selection
        if chosen is None:
            self.compare(title, "the plan", differs, plan_problems, document, schema)
            return
        charged = "the selection was charged for a metric with a proved sensitivity"
        self.ask("bundle.selection_problems", charged, "the metric of the selection", lambda problems: problems(chosen))
        self.ask("bundle.selection_events", title, "the plan", partial(plan_problems, document, schema), differs)

    def pages(self, document: ReleaseDocument, schema: Schema) -> None:
        """Draw the pages anew and compare them; those of another version are not looked at."""
        names = [name for name in PAGES if name in document.files]
        if not verify_generated.is_same_version(document):
            self.not_compared(verify_generated.differs_by(document), *names)
            return

        @cache
        def drawn(render_pages: Callable[..., Any]) -> Mapping[str, Callable[[], str]]:
            return render_pages(document, schema, first_copies(document.tables, self.released))

        for name in names:
            title = f"{name} is the page that {DOCUMENT} and the released tables make"
            look = partial(self.page, name, drawn)
            self.ask("bundle.pages", title, name, look, verify_generated.differs_by(document, name))

    def page(self, name: str, drawn: Callable[..., Any], render_pages: Callable[..., Any]) -> Iterator[str]:
        """Compare one page with the one that is drawn here."""
        if (self.folder / name).read_bytes() != drawn(render_pages)[name]().encode():
            yield f"{name} is not the page that {DOCUMENT} and the released tables make"

    def released(self, listed: ReleasedTable) -> pa.Table:
        """Read a released table: a ParquetFile reads this file alone, whatever its folder is called."""
        return pq.ParquetFile(self.folder / listed.parquet).read()

    def check(self, title: str, look: Callable[..., Any], *subjects: Any) -> None:
        """Run a check and note the problems that it yields."""
        report_progress(title)
        self.checks.append(title)
        try:
            # Forged numbers may overflow whatever is computed from them; what comes of it is compared all the same.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                for problem in look(*subjects):
                    self.problems.append(problem)  # one by one: what was found before an error stays
        except SfumatoError as error:
            _raise_if_out_of_resources(title, error)
            self.problems += [error.headline, *error.problems]
        except UNREADABLE as error:
            _raise_if_out_of_resources(title, error)
            self.problems.append(f"cannot check that {title}: {error}")

    def compare(self, title: str, what: str, differs: str, look: Callable[..., Any], *subjects: Any) -> None:
        """Run a check that another version may fail without fault: then it counts as not made."""
        before = len(self.problems)
        self.check(title, look, *subjects)
        if differs and len(self.problems) > before:
            del self.problems[before:]
            self.checks.remove(title)
            self.not_compared(differs, what)

    def ask(self, hook: str, title: str, what: str, look: Callable[[Any], Any], differs: str = "") -> None:
        """Run a check whose work is done in a layer above this one; where that is not installed, it is not made."""
        above = find_hook(hook)
        if above is None:
            layer = ".".join(HOOKS[hook].split(".")[:2])
            self.not_compared(f"{layer} is not installed", what)
        else:
            self.compare(title, what, differs, look, above)

    def not_compared(self, reason: str, *names: str) -> None:
        """Note what could not be compared: the verification is partial."""
        self.differing.setdefault(reason, []).extend(names)

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
        statement = read_statement(path)
        if document.method.makes == "rows":
            self.measures(path, statement, document, schema)
        if ledger is not None:
            yield from recorded_statement_problems(path, statement, ledger)
        self.stamp = self.stamp or statement.randomness.stamp
        self.guarantee = statement.guarantee.headline()
        self.notes.append(statement_summary(path))

    def measures(self, path: Path, statement: QualityStatement, document: ReleaseDocument, schema: Schema) -> None:
        """Word the guarantee of a statement again, and compute its measures again from its noisy numbers."""
        age, name = verify_generated.age_of(statement.version), path.name
        if age == "later":
            return  # which is a problem by itself
        differs = f"sfumato {statement.version} made {name}, and this is {__version__}" if age == "earlier" else ""
        rows = document.tables[0]

        def recomputed(problems: Callable[..., Iterator[str]]) -> Iterator[str]:
            for problem in problems(statement, document, schema, self.released(rows)):
                yield f"{name}: {problem}"

        words = f"the words of {name}"
        self.compare(f"{words} are those of its guarantee", words, differs, statement_wording, name, statement)
        what = f"the measures of {name}"
        self.ask("bundle.quality_problems", f"{what} follow from its noisy numbers", what, recomputed, differs)

    def files(self, document: ReleaseDocument) -> Iterator[str]:
        contents = FolderListing.of(self.folder)
        named = {path for table in document.tables for path in (table.parquet, table.csv)}
        listed = set(document.files)
        own = listed | {DOCUMENT, SIGNATURE} | {path for path in contents.files if STATEMENT_NAME.fullmatch(path)}
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
        stated = (document.table, document.adjacency, document.guarantee.rows)
        if stated != (schema.name, schema.adjacency, schema.rows):
            self.problems.append(f"{SCHEMA} and {DOCUMENT} disagree on name, adjacency or public row count")
        return schema

    def marks(self, document: ReleaseDocument, ledger: Ledger) -> Iterator[str]:
        self.notes += ledger_notes(self.folder, document, ledger)
        yield from mark_problems(self.folder / DOCUMENT, document.table, document.recorded, ledger)

    def purchases(self, schema: Schema, ledger: Ledger) -> Iterator[str]:
        held = {entry.hash: entry.event for entry in ledger.history(schema.name)}
        for each, event in zip(schema.purchases, purchased(schema), strict=True):
            if each.words.startswith(UNRECORDED_PURCHASE):
                self.notes.append(f"no ledger holds the purchase {each.words!r}, so its cap does not count that")
            elif held.get(each.id) != event:
                yield f"the ledger does not hold the purchase {each.words!r} as {SCHEMA} states it"

    def data(self, document: ReleaseDocument, schema: Schema, listed: ReleasedTable) -> Iterator[str]:
        table = self.released(listed)
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
