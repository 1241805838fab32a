"""Measure a release against its confidential table with noise, so that the result may be published."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.calling import named_arguments
from sfumato.errors import BundleError, NoLedgerWarning, SchemaError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.exact import Number, positive
from sfumato.privacy.ledger import Entry, Ledger
from sfumato.privacy.noise import require_drawable
from sfumato.privacy.randomness import Randomness
from sfumato.progress import tell
from sfumato.quality.answers import Answers
from sfumato.quality.measured import Questions, count
from sfumato.quality.measures import measures_of
from sfumato.quality.public import Public, released_values
from sfumato.quality.result import Quality
from sfumato.quality.saved import events_of, statements
from sfumato.quality.together import together
from sfumato.registry import OFFERED, found
from sfumato.release.outcome import lost_on_failure
from sfumato.release.release import UNRECORDED, LedgerChoice, Release, book_of, sound_seed
from sfumato.schema import Schema
from sfumato.table import Table, read

if TYPE_CHECKING:
    import pyarrow as pa

COLUMN_FACTS = ("kind", "bounds", "values", "edges", "bins", "missing", "outside")
TABLE_FACTS = ("name", "adjacency", "rows", "person", "rows_per_person")


def note_on(created_at: str) -> str:
    """Return what the ledger is told about a statement: which release it is about, by its time."""
    return f"quality of the release of {created_at}"


@dataclass(frozen=True, eq=False)
class Subject:
    """The release that is measured."""

    schema: Schema
    rows: pa.Table
    created_at: str
    promise: tuple[Guarantee, tuple[Event, ...]] | None = None
    """Its guarantee, and the events that it was computed from; None for rows that are no release."""
    seal: str = ""
    """Of its release.json; empty where it was not saved."""
    earlier: tuple[Event, ...] = ()
    """Events of the statements that lie in its folder already."""

    @classmethod
    def of(cls, released: Release | str | Path) -> Subject:
        """Return the rows of a release or of a bundle, the first copy where there are several."""
        if isinstance(released, Release):
            if released.method.makes != "rows":
                raise BundleError(f"{released.method.name} makes no rows", next_step="give a release of synthetic rows")
            promise = released.guarantee, released.events
            return cls(released.schema, next(iter(released.tables.values())), released.created_at, promise)
        opened = found(OFFERED["bundle"])(released)
        said, rows = opened.document, opened.rows
        promise, earlier = (said.guarantee, said.events), events_of(statements(released))
        return cls(opened.schema, rows, said.created_at, promise, said.seal, earlier)

    @property
    def note(self) -> str:
        """What the ledger is told."""
        return note_on(self.created_at)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that is known before a private row is read, and what it will cost."""

    subject: Subject
    public: Public
    answers: Answers | None
    questions: Questions
    randomness: Randomness

    @property
    def events(self) -> tuple[Event, ...]:
        """What is recorded."""
        return (self.questions.event(self.randomness.mode, self.subject.note),)

    def promised(self, recorded: bool) -> Guarantee:
        """Return what the release and the statement promise together; refuses what would protect nobody."""
        subject = self.subject
        return together(self.events, self.questions.schema, subject.promise, subject.earlier, recorded)


def prepared(
    released: Release | str | Path | Subject,
    epsilon: Number,
    target: str | None = None,
    seed: int | None = None,
    correlations: Sequence[str] = (),
) -> Prepared:
    """Cut, count and learn from the released rows, and plan what is asked: no private row, no cost."""
    cost, randomness = Fraction(positive(epsilon)), Randomness.of(sound_seed(seed))
    subject = released if isinstance(released, Subject) else Subject.of(released)
    subject.schema.require_confirmed()
    public = Public.of(subject.rows, subject.schema, target, correlations)
    questions = Questions(subject.schema, public.target, cost, public.relations.names if public.relations else ())
    made = Prepared(subject, public, _learnt(subject, public), questions, randomness)
    made.promised(recorded=False)
    require_drawable((part.scale for part in questions.parts), seed is not None)
    return made


def _learnt(subject: Subject, public: Public) -> Answers | None:
    if public.target is None:
        return None
    tell("learning from the released rows")
    values = released_values(subject.rows, subject.schema, public.names)
    return Answers.learnt(subject.schema, public.names, public.target.name, values)


@named_arguments
def quality(
    released: Release | str | Path,
    table: Any,
    epsilon: Number,
    ledger: LedgerChoice = None,
    target: str | None = None,
    seed: int | None = None,
    correlations: Sequence[str] = (),
) -> Quality:
    """Return noisy tvd_1, tvd_2 and prediction of a release of rows; checked, recorded, then drawn.

    ``released`` is a release or the folder of its bundle, ``table`` the private table, read with the same schema, or
    what :func:`sfumato.read` takes. ``target`` names the column that is predicted; otherwise it is that of the schema's
    role, or the last column of few levels. ``correlations`` names columns whose correlations are bought as well, for
    readers who correct what the release weakened. ``quality(...).save(bundle)`` writes the statement into the bundle.
    Each statement is charged, the next one again. Without a ledger it warns; ``ledger=False`` says that none is wanted.
    """
    if ledger is None:
        warnings.warn(NoLedgerWarning(UNRECORDED), stacklevel=3)  # the caller, above the check of the arguments
    book, made = book_of(ledger), prepared(released, epsilon, target, seed, correlations)
    private = table if isinstance(table, Table) else read(table, made.subject.schema)
    return measured(made, private, book)


def measured(made: Prepared, table: Table, book: Ledger | None) -> Quality:
    """Check the budget and the table, record the cost, then count and draw noise."""
    require_same_facts(table.schema, made.subject.schema)
    table.schema.require_confirmed()
    if book is not None:
        book.check(table.schema.name, made.events)
    tell("checking the table")
    table.require_valid()
    if book is not None:
        table.rehearse()
    entries = book.spend(table.schema.name, made.events) if book is not None else ()
    with lost_on_failure(book, entries):
        return _drawn(made, table, book, tuple(entries))


def _drawn(made: Prepared, table: Table, book: Ledger | None, entries: tuple[Entry, ...]) -> Quality:
    parts = made.questions.parts
    noisy = count(table, made.public, made.answers, parts).noisy(parts, made.randomness)
    tell("reading the noisy numbers")
    return Quality(
        table=table.schema.name,
        release=made.subject.seal,
        measures=measures_of(made.questions, made.public, noisy),
        guarantee=made.promised(recorded=book is not None),
        events=made.events,
        target=made.public.target.name if made.public.target else None,
        why=made.public.why,
        correlations=made.questions.related,
        noisy=noisy,
        rows_sha256=made.public.fingerprint,
        randomness=made.randomness,
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
