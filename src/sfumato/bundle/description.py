"""Describe a release from its public files: title, size, warnings, citation, list of files."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from sfumato.bundle.document import LedgerCost, ReleaseDocument, ReleasedTable
from sfumato.core.forecast import Forecast
from sfumato.core.forecast_checks import public_row_count
from sfumato.core.method import WRONG_SETTINGS, Method
from sfumato.core.plan import StageNoise
from sfumato.errors import SfumatoError
from sfumato.formatting import counted, format_number
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.exact import at_least, at_most, format_fraction, fraction_to_text, to_fraction
from sfumato.schema import Schema
from sfumato.schema.column import Column

SEEDED = "the noise came from a fixed seed, and anyone who knows the seed can remove it."
MOST_LEVELS = 30
"""Levels that an example may write down."""
FILE_DESCRIPTIONS = {
    "schema.toml": "the public facts about the table: columns, bounds, levels, rules, and who vouched for them",
    "release.json": "everything about the release for software: method, promise, events, hashes, seal",
    "report.html": "the report: what was released, how good it is, what is promised, pictures of every column",
    "README.html": "this page",
    "README.md": "this page as text",
    "datacard.json": "this page for software",
    "croissant.json": "the same in the Croissant format, for catalogues and for machine learning",
    "datapackage.json": "the text files as a Frictionless data package, with types, bounds and levels",
    "registry.yaml": "a draft entry for the OpenDP Deployments Registry",
    "reproduce.py": "the script by which the custodian can make such a release again",
    "model.sfumato": "the fitted model: 'sfumato sample . --rows 100000 --out more.parquet' draws more rows for free",
    "NOT-FOR-RELEASE.txt": "says that this run is for tests only",
}
ENDINGS = {
    ".parquet": "the data, with types",
    ".csv": "the data as text",
    ".xlsx": "the data as a workbook",
    ".sav": "the data for SPSS",
    ".dta": "the data for Stata",
    ".jsonl": "the data as JSON lines",
    ".sqlite": "the data as a SQLite file",
}


@dataclass(frozen=True)
class PublicRelease:
    """A release as its public files tell of it."""

    document: ReleaseDocument
    schema: Schema

    @cached_property
    def forecast(self) -> Forecast | None:
        """What is expected of it; None where nobody knows."""
        return replanned_forecast(self.document, self.schema)

    @property
    def makes(self) -> str:
        """What it holds: rows, counts or values."""
        return self.document.method.makes

    @property
    def tables(self) -> tuple[ReleasedTable, ...]:
        """The released tables; of rows that were drawn several times, all copies."""
        return self.document.tables

    @property
    def first(self) -> ReleasedTable:
        """The first of them."""
        return self.document.tables[0]

    @property
    def is_copied(self) -> bool:
        """Whether rows lie there in several copies."""
        return self.makes == "rows" and len(self.tables) > 1

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The released columns of the schema, in its order; a method of one's own may have others."""
        named = {name for table in self.tables for name in table.columns}
        return () if self.makes == "values" else tuple(column for column in self.schema if column.name in named)

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that were released as they are in the confidential table."""
        return tuple(self.document.statistics.get("not_synthesised") or ())

    def kinds(self, *kinds: str) -> tuple[str, ...]:
        """Return the names of the released columns of some kinds."""
        return tuple(column.name for column in self.columns if column.kind in kinds)

    @property
    def text_orders(self) -> tuple[Column, ...]:
        """Columns whose levels are texts in an order, few enough to be written down."""
        ordinals = (column for column in self.columns if column.kind == "ordinal" and not column.has_integer_levels)
        return tuple(column for column in ordinals if len(column.levels) <= MOST_LEVELS)

    @property
    def grouping(self) -> str | None:
        """A column to group by in an example: the first of few levels."""
        levelled = (column for column in self.columns if not column.is_ordered)
        return next((column.name for column in levelled if len(column.levels) <= MOST_LEVELS), None)

    @property
    def measured(self) -> str | None:
        """A column to take a mean of in an example."""
        return next(iter(self.kinds("integer", "number")), None)


def replanned_forecast(document: ReleaseDocument, schema: Schema) -> Forecast | None:
    """Return what to expect of a release from its public files alone; None where no forecast is known of its method."""
    try:
        return _forecast(document, schema)
    except (SfumatoError, *WRONG_SETTINGS):  # a release that is paid for is not lost over a forecast
        return None


def _forecast(document: ReleaseDocument, schema: Schema) -> Forecast | None:
    method = document.method
    if not method.formal or not method.is_known:
        return None  # nobody knows what a method of somebody's own will do
    lines = document.tables[0].rows if method.makes == "rows" else None
    rows = public_row_count(schema.rows, document.statistics, method.rows, lines)
    return _foreseen(method.build(), schema, method.rows, document.randomness.mode, rows)


@lru_cache(maxsize=4)
def _foreseen(method: Method, schema: Schema, made: int | None, mode: str, rows: int | None) -> Forecast | None:
    """Return the forecast of one release; several pages of a bundle show it, and a plan of many columns takes time."""
    return method.plan(schema, made, mode).foreseen_by(schema, method, rows).forecast


class Banner(NamedTuple):
    """A warning across the top of the page."""

    kind: str
    heading: str
    text: str


def warnings_of(document: ReleaseDocument, true_rows: int | None = None) -> list[Banner]:
    """Return the warnings of a release; only the custodian's copy knows the true number of rows."""
    banners: list[Banner] = []
    if true_rows is not None:
        heading = "Custodian's copy: contains confidential values. Do not publish."
        text = f"This page sets true values of {counted(true_rows, 'row')} beside the released ones."
        banners.append(Banner("danger", heading, text))
    if document.randomness.stamp:
        banners.append(Banner("danger", "NOT FOR RELEASE", f"{document.randomness.stamp.capitalize()}: {SEEDED}"))
    if document.guarantee.uncharged:
        heading = f"The choice of {document.guarantee.uncharged} is not covered"
        banners.append(Banner("warning", heading, document.guarantee.protection()))
    if document.guarantee.takes_facts_from_rows:
        text = "The schema was not fixed before anybody looked: the promise does not cover what these facts give away."
        banners.append(Banner("warning", "Facts were taken from the private rows", text))
    if document.guarantee.is_weak:
        heading = f"Protection: {document.guarantee.band}"
        banners.append(Banner("warning", heading, _sentences(document.guarantee.warnings)))
    if not document.guarantee.formal:
        text = f"A release of the {document.guarantee.kind} kind: its parameters do not bound what can be learned."
        banners.append(Banner("warning", "No formal guarantee", text))
    return banners


def _sentences(words: tuple[str, ...]) -> str:
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in words)


def page_warnings(subject: PublicRelease) -> tuple[Banner, ...]:
    """Return the warnings; that nobody counts the cost of a release is one of them here."""
    document = subject.document
    unrecorded = () if document.recorded else (Banner("warning", "Not recorded", document.recorded_note),)
    return (*warnings_of(document), *unrecorded)


def title(subject: PublicRelease) -> str:
    """Return the heading of the page."""
    kinds = {"rows": "synthetic rows", "counts": "counts with noise", "values": "numbers with noise"}
    return f"{subject.schema.name}: {kinds[subject.makes]}"


def size_sentence(subject: PublicRelease) -> str:
    """Return in one sentence how much of what was released."""
    first, name = subject.first, subject.schema.name
    if subject.makes == "rows":
        copies = f"{len(subject.tables)} copies of " if subject.is_copied else ""
        kind = "rows" if subject.kept else "synthetic rows"
        columns = counted(len(first.columns), "column")
        return f"{copies}{format_number(first.rows)} {kind} with {columns}, made from the confidential table {name!r}."
    lines = sum(table.rows for table in subject.tables)
    if subject.makes == "counts":
        tables = f" in {len(subject.tables)} tables" if len(subject.tables) > 1 else ""
        cells = counted(lines, "cell")
        return f"How many rows of the confidential table {name!r} lie in each of {cells}{tables}, with noise added."
    return f"{counted(lines, 'number')} about the confidential table {name!r}, with noise added."


def description(subject: PublicRelease) -> str:
    """Say what was released."""
    parts = (subject.schema.description, size_sentence(subject), subject.document.method.about)
    return " ".join(filter(None, parts))


def citation(subject: PublicRelease) -> str:
    """Return one line that says which release it is; the fingerprint is of no other."""
    document, guarantee = subject.document, subject.document.guarantee
    kind = {"rows": "synthetic rows", "counts": "noisy counts", "values": "noisy numbers"}[subject.makes]
    promise = (
        f"differential privacy, epsilon {format_fraction(guarantee.exact_epsilon)}"
        if guarantee.formal
        else "no formal guarantee"
    )
    stamp = f" {document.randomness.stamp.upper()}." if document.randomness.stamp else ""
    return (
        f"{document.table} ({kind}, {document.method.name}, {promise}), {document.created_at[:10]}. "
        f"Made with Sfumato {document.versions['sfumato']}.{stamp} Fingerprint {document.fingerprint}"
    )


def describe_file(path: str) -> str:
    """Return what a file is."""
    return FILE_DESCRIPTIONS.get(path) or ENDINGS.get(PurePosixPath(path).suffix, "")


def noise_by_stage(document: ReleaseDocument) -> dict[str, StageNoise]:
    """Return the noise of each measured table by the name of its stage."""
    return {part.stage: StageNoise(event.kind, part.scale) for event in document.events for part in event.parts}


EXPOSED = "This release is an exposure: no sum of costs can include it."
MOST_ENTRIES = 6


class CostStatement(NamedTuple):
    """The cap as a bar (what other releases and this one took, in per cent), and the same in words."""

    before: float
    this: float
    sentences: tuple[str, ...]


def cost_statement(document: ReleaseDocument) -> CostStatement:
    """Say what the release cost and what is left."""
    recorded = document.recorded
    first = _price(document) if document.guarantee.formal else EXPOSED
    if recorded is None:
        return CostStatement(0.0, 0.0, (first, document.recorded_note))
    cap, spent = to_fraction(recorded.cap_epsilon), to_fraction(recorded.spent_epsilon)
    this = _charged(document)[0]
    whole = max(cap, spent) or to_fraction(1)
    before = max(spent - this, to_fraction(0))
    return CostStatement(
        float(100 * before / whole), float(100 * this / whole), (first, *_balance(document.table, recorded))
    )


def _charged(document: ReleaseDocument) -> tuple[Fraction, Fraction]:
    """Return what the formal events cost that the ledger was charged for."""
    return basic_composition([event for event in document.charged_events if event.is_formal])


def _price(document: ReleaseDocument) -> str:
    epsilon, delta = _charged(document)
    price = f"This release cost epsilon {budget_text(fraction_to_text(epsilon), fraction_to_text(delta))}."
    price = " ".join((price, *(f"{line[0].upper()}{line[1:]}." for line in document.guarantee.in_total)))
    if document.guarantee.selection is None:
        return price
    return f"{price} That is what the candidates that were run and their scores cost together; see the promise."


def _balance(table: str, recorded: LedgerCost) -> list[str]:
    sentences = [
        f"The cap of table {table!r} is epsilon {budget_text(recorded.cap_epsilon, recorded.cap_delta)}. "
        f"Spent in all: {budget_text(recorded.spent_epsilon, recorded.spent_delta)}. "
        f"Left: {budget_text(recorded.left_epsilon, recorded.left_delta)}."
    ]
    if recorded.composition != "basic":
        sentences.append("The ledger composes tightly: its own total is below this sum, so more may be left.")
    if recorded.exposures:
        sentences.append(f"Exposures of this table, never added to the sum: {format_number(recorded.exposures)}.")
    places = ", ".join(f"entry {entry.sequence}" for entry in recorded.entries[:MOST_ENTRIES])
    more = ", ..." if len(recorded.entries) > MOST_ENTRIES else ""
    return [*sentences, f"Recorded in the ledger as {places}{more}."]


def budget_text(epsilon: str, delta: str) -> str:
    """Return epsilon, and delta where there is one."""
    return format_fraction(to_fraction(epsilon)) + (f" and delta {at_most(delta, 3)}" if to_fraction(delta) else "")


def ledger_sentence(document: ReleaseDocument) -> str:
    """Say in one sentence whether a ledger keeps the cost under a cap."""
    recorded = document.recorded
    if recorded is None:
        return "Its cost is in no ledger, so no cap protects the table."
    if not document.guarantee.formal:
        return "A ledger lists it as an exposure."
    left = at_least(recorded.left_epsilon)
    return (
        f"Its cost is in a ledger: of a cap of epsilon {format_fraction(to_fraction(recorded.cap_epsilon))}, "
        f"{left} is left."
    )
