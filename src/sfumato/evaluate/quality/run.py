"""Publish quality metrics of a release under DP (spends budget), or forecast their cost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.argument_errors import checked_arguments
from sfumato.bundle.layout import statement_files
from sfumato.bundle.quality_statement import combined_guarantee, events_of, statement_note
from sfumato.core.outcome import mark_lost_on_failure
from sfumato.core.release import UNRECORDED, LedgerChoice, Release, balance, check_seed, open_ledger
from sfumato.errors import NoLedgerWarning, SchemaError
from sfumato.evaluate.quality.noisy_metrics import metrics_of
from sfumato.evaluate.quality.questions import ROWS, PublicFacts, Questions, count
from sfumato.evaluate.quality.statement import Quality
from sfumato.metrics.bounded_scores import GRAIN, BoundedScores
from sfumato.metrics.evaluation_input import EvaluationInput, open_evaluation_input
from sfumato.metrics.noisy_ratio import LEVEL
from sfumato.metrics.rows_view import read_rows_view
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.exact import Number, fraction_to_text, to_positive_fraction
from sfumato.privacy.ledger import Entry, Ledger
from sfumato.privacy.noise import require_samplable
from sfumato.privacy.randomness import Randomness
from sfumato.progress import report_progress
from sfumato.schema import Schema
from sfumato.table import Table, read

if TYPE_CHECKING:
    import pyarrow as pa

COLUMN_FACTS = ("kind", "bounds", "values", "edges", "bins", "missing", "outside")

TABLE_FACTS = ("name", "adjacency", "rows", "person", "rows_per_person")


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that is known before a private row is read, and what it will cost."""

    subject: EvaluationInput
    schema: Schema
    public: PublicFacts
    answers: BoundedScores | None
    questions: Questions
    randomness: Randomness

    @property
    def events(self) -> tuple[Event, ...]:
        """What is recorded."""
        return (self.questions.event(self.randomness.mode, statement_note(self.subject.created_at)),)

    def promised(self, recorded: bool) -> Guarantee:
        """Return what the release and the statement promise together; refuses what would protect nobody."""
        of, folder = self.subject, self.subject.folder
        released = None if of.guarantee is None else (of.guarantee, of.events)
        earlier = () if folder is None else events_of(statement_files(folder))
        return combined_guarantee(self.events, self.schema, released, earlier, recorded)


def prepare_questions(
    released: Release | str | Path | EvaluationInput,
    epsilon: Number,
    target: str | None = None,
    seed: int | None = None,
    correlations: Sequence[str] = (),
) -> Prepared:
    """Cut, count and learn from the released rows, and plan what is asked: no private row, no cost."""
    cost, randomness = Fraction(to_positive_fraction(epsilon)), Randomness.of(check_seed(seed))
    subject = released if isinstance(released, EvaluationInput) else open_evaluation_input(released)
    schema = subject.require_rows().require_schema()
    schema.require_confirmed()
    public = PublicFacts.of(subject.rows, schema, target, correlations)
    questions = Questions(schema, public.target, cost, public.relations.names if public.relations else ())
    prepared = Prepared(subject, schema, public, _fitted_model(subject.rows, public), questions, randomness)
    prepared.promised(recorded=False)
    require_samplable((part.scale for part in questions.parts), seed is not None)
    return prepared


def _fitted_model(rows: pa.Table, public: PublicFacts) -> BoundedScores | None:
    if public.target is None:
        return None
    report_progress("learning from the released rows")
    values = read_rows_view(rows, public.schema, public.names).by_name()
    return BoundedScores.learnt(public.schema, public.names, public.target.name, values)


@checked_arguments
def quality(
    released: Release | str | Path,
    table: Any,
    epsilon: Number,
    ledger: LedgerChoice = None,
    target: str | None = None,
    seed: int | None = None,
    correlations: Sequence[str] = (),
) -> Quality:
    """Return noisy tvd_1_q16, tvd_2_q16 and the skill of a prediction; checked, recorded, then drawn.

    ``released`` is a release or the folder of its bundle, ``table`` the private table, read with the same schema, or
    what :func:`sfumato.read` takes. ``target`` names the column that is predicted; otherwise it is that of the schema's
    role, or the last column of few levels. ``correlations`` names columns whose correlations are bought as well, for
    readers who correct what the release weakened. ``quality(...).save(bundle)`` writes the statement into the bundle.
    Each statement is charged, the next one again. Without a ledger it warns; ``ledger=False`` says that none is wanted.
    """
    if ledger is None:
        warnings.warn(NoLedgerWarning(UNRECORDED), stacklevel=3)  # the caller, above the check of the arguments
    book, prepared = open_ledger(ledger), prepare_questions(released, epsilon, target, seed, correlations)
    private = table if isinstance(table, Table) else read(table, prepared.schema)
    return measure(prepared, private, book)


def measure(prepared: Prepared, table: Table, book: Ledger | None) -> Quality:
    """Check the budget and the table, record the cost, then count and draw noise."""
    require_same_facts(table.schema, prepared.schema)
    table.schema.require_confirmed()
    if book is not None:
        book.check(table.schema.name, prepared.events)
    report_progress("checking the table")
    table.require_valid()
    if book is not None:
        table.rehearse()
    entries = book.spend(table.schema.name, prepared.events) if book is not None else ()
    with mark_lost_on_failure(book, entries):
        return _drawn(prepared, table, book, tuple(entries))


def _drawn(prepared: Prepared, table: Table, book: Ledger | None, entries: tuple[Entry, ...]) -> Quality:
    parts = prepared.questions.parts
    noisy = count(table, prepared.public, prepared.answers, parts).noisy(parts, prepared.randomness)
    report_progress("reading the noisy numbers")
    return Quality(
        table=table.schema.name,
        release="" if prepared.subject.document is None else prepared.subject.document.seal,
        measures=metrics_of(prepared.questions, prepared.public, noisy),
        guarantee=prepared.promised(recorded=book is not None),
        events=prepared.events,
        target=prepared.public.target.name if prepared.public.target else None,
        why=prepared.public.why,
        correlations=prepared.questions.related,
        noisy=noisy,
        rows_sha256=prepared.public.fingerprint,
        randomness=prepared.randomness,
        entries=entries,
        account=book.account(table.schema.name) if book is not None else None,
        ledger=book,
    )


def require_same_facts(schema: Schema, released: Schema) -> None:
    """Refuse a table that is described otherwise than the release, and say how."""
    problems = [
        f"{fact}: {getattr(schema, fact)!r} of the table, {getattr(released, fact)!r} of the release"
        for fact in TABLE_FACTS
        if getattr(schema, fact) != getattr(released, fact)
    ]
    problems += [f"column {name!r} is not in the schema of the table" for name in released.names if name not in schema]
    problems += [
        f"column {name!r} is not in the schema of the release" for name in schema.names if name not in released
    ]
    shared = [(column, schema[column.name]) for column in released if column.name in schema]
    problems += [
        f"{theirs.name}: {fact} {getattr(mine, fact)!r} of the table, {getattr(theirs, fact)!r} of the release"
        for theirs, mine in shared
        for fact in COLUMN_FACTS
        if getattr(mine, fact) != getattr(theirs, fact)
    ]
    if problems:
        step = "read the table with the schema of the bundle: sfumato.read(data, 'BUNDLE/schema.toml')"
        raise SchemaError("the table and the release do not have the same schema", problems, step)


TYPICAL_TVD = 0.1

TYPICAL_RIGHT, TYPICAL_ERROR, TYPICAL_GUESS = 0.8, 0.1, 0.5

"""What the measures are taken to be where nobody knows: widths hardly depend on it."""

TOO_WIDE = 0.1

"""Half width from which on a distance tells next to nothing."""


@dataclass(frozen=True)
class ExpectedWidth:
    """The interval that a measure would get, without noise in its middle."""

    name: str
    at: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class QualityForecast:
    """Cost and widths of a statement."""

    epsilon: str
    adjacency: str
    rows: int
    """About how many rows the table is taken to have."""
    target: str | None
    why: str
    widths: tuple[ExpectedWidth, ...]
    notes: tuple[str, ...] = ()
    left_before: str | None = None
    left_after: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**asdict(self), "widths": [{**asdict(each), "half": each.half} for each in self.widths]}


def forecast_quality(prepared: Prepared, about_rows: int | None = None, ledger: LedgerChoice = None) -> QualityForecast:
    """Return what a statement would cost and show at so many rows; with a ledger, also what would be left."""
    questions = prepared.questions
    rows = questions.schema.rows or about_rows or prepared.subject.rows.num_rows
    metrics = metrics_of(questions, prepared.public, _typical(prepared, rows), LEVEL)
    widths = tuple(ExpectedWidth(one.name, round(one.value, 3), one.low, one.high) for one in metrics)
    planned = QualityForecast(
        epsilon=fraction_to_text(questions.epsilon),
        adjacency=questions.schema.adjacency,
        rows=rows,
        target=questions.target.name if questions.target else None,
        why=prepared.public.why,
        widths=widths,
        notes=(*_notes(widths, rows), *prepared.promised(recorded=False).in_total),
    )
    book = open_ledger(ledger)
    if book is None:
        return planned
    account = book.check(questions.schema.name, prepared.events)
    return replace(planned, **balance(book, account, prepared.events))


def _typical(prepared: Prepared, rows: int) -> list[list[int]]:
    """Return numbers as they would be measured, without noise, on a typical table of so many rows."""
    numbers = [[round(2 * GRAIN * TYPICAL_TVD * rows), 0]]
    questions = prepared.questions
    related = [[0] * part.cells for part in questions.parts if part.stage == questions.related_stage]
    if questions.target is None:
        return numbers + [[rows] for part in questions.parts if part.stage == ROWS] + related
    right = TYPICAL_ERROR if questions.target.is_ordered else TYPICAL_RIGHT
    guess = TYPICAL_ERROR if questions.target.is_ordered else TYPICAL_GUESS
    both = min(right, guess)
    shares = (both, right - both, guess - both, 1 - max(right, guess), 0.0)[: questions.parts[1].cells]
    return [*numbers, [round(questions.grain * share * rows) for share in shares], *related]


def _notes(widths: tuple[ExpectedWidth, ...], rows: int) -> tuple[str, ...]:
    wide = [each for each in widths if each.high - each.at > TOO_WIDE]
    if not wide:
        return ()
    named = ", ".join(each.name for each in wide)
    return (f"at about {rows:,} rows the noise leaves {named} next to untold: give more epsilon, or keep it",)
