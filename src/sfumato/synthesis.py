"""Release a table without a schema in one call: draft or buy the schema, then release.

The convenience is paid for in words. A draft looks at the rows: its facts are accepted, and what it decides is decided
by them, which the guarantee states whatever it decided. Where facts are bought nothing looks at the rows unpaid: all
columns of the header are asked for, and whose rows these are is what was said, or one row for each person.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from sfumato.argument_errors import checked_arguments
from sfumato.core.build_method import MethodChoice, default_method
from sfumato.core.forecast_checks import refuse_if_noise_dominates
from sfumato.core.method import Method, method_class
from sfumato.core.parameters import DEFAULT_DELTA, epsilon_problems
from sfumato.core.plan import Plan
from sfumato.core.registry import REGISTRY
from sfumato.core.release import UNRECORDED, LedgerChoice, Release, open_ledger, plan, release
from sfumato.dp_schema import prepared
from sfumato.errors import (
    NoLedgerWarning,
    PlanError,
    SchemaError,
    SfumatoError,
    TableError,
    TooLittleSeenError,
    UnansweredQuestionError,
)
from sfumato.formatting import join_names
from sfumato.privacy.accounting.guarantee import UNCOVERED_CHOICES
from sfumato.privacy.exact import Number, format_fraction, fraction_to_text, to_fraction
from sfumato.schema import Schema
from sfumato.schema.dialect import Dialect
from sfumato.schema.schema import text_problems
from sfumato.table import Table, read
from sfumato.table.drafting.dialect_hints import combined_options, dialect_hints
from sfumato.table.sources import open_source

Person = str | Literal[False] | None
"""The column that tells people apart; False where each person has one row; None where nobody said."""
LOOKED = "{choices} were decided by looking at the private rows; {gap}"
CHOICES = ("which columns are described and which stay out", "the method")
ALONE = "every row was taken for another person's, because nobody said whose rows these are"


@checked_arguments
def synthesize(
    data: Any,
    epsilon: Number = 1,
    ledger: LedgerChoice = None,
    delta: Number | None = None,
    buy: Number | None = None,
    name: str | None = None,
    person: Person = None,
    rows_per_person: int | None = None,
    rows: int | None = None,
    method: str | type[Method] | None = None,
    seed: int | None = None,
    columns: Sequence[str] | None = None,
    by: str | None = None,
    about_rows: int | None = None,
    anyway: bool = False,
    words: Mapping[str, str] | None = None,
    **dialect: Any,
) -> Release:
    """Release a table that has no schema yet. Its assumptions stand in ``notes`` and in the guarantee.

    The schema is drafted from the rows and accepted as it is, which the guarantee states; or bought for the part
    ``buy`` of epsilon, so that nothing is taken from the rows without being paid for: all columns of the header, or
    ``columns``, of which noise hides some. ``person`` names the column that tells people apart, of whom
    ``rows_per_person`` rows count, or is False where each person has one row; a draft asks where values repeat, and
    a purchase assumes that each person has one row unless you name a person column. ``method`` is a name such as "mst";
    AIM by default. ``by`` is who accepts or buys the facts: the account's name by default.
    ``about_rows`` is a public guess of how many rows there are, by which a purchase that would show nothing is refused.
    Where noise would drown so many rows it stops, unless ``anyway`` says otherwise; without a guess a draft counts the
    rows, and a purchase goes by its own noisy number of them.
    ``words`` are for the readers of the release: description, contact, licence, custodian, use, region.
    ``dialect`` says how a file is written (delimiter, decimal, missing, ...).
    """
    if ledger is None:
        warnings.warn(NoLedgerWarning(UNRECORDED), stacklevel=3)
    request = SynthesisRequest(
        epsilon, delta, buy, person, rows_per_person, method, columns, seed, by, about_rows, anyway, words
    )
    described = decide_schema(data, request, False if ledger is None else ledger, name, dialect)
    return described.released(rows)


@dataclass(frozen=True)
class SynthesisRequest:
    """The request for a release of a table without a schema, checked before the table is read."""

    epsilon: Number = 1
    delta: Number | None = None
    buy: Number | None = None
    person: Person = None
    rows_per_person: int | None = None
    method: str | type[Method] | None = None
    columns: Sequence[str] | None = None
    seed: int | None = None
    by: str | None = None
    about_rows: int | None = None
    anyway: bool = False
    words: Mapping[str, str | None] | None = None

    def __post_init__(self) -> None:
        problems = epsilon_problems(self.epsilon)
        if self.buy is not None:
            problems += epsilon_problems(self.buy, "buy")
        if not problems and self.bought >= to_fraction(self.epsilon):
            problems = [
                f"buy={format_fraction(self.bought)} leaves nothing of "
                f"epsilon={format_fraction(to_fraction(self.epsilon))} for the rows"
            ]
        if self.person and self.rows_per_person is None:
            problems.append(f"rows_per_person is missing: how many rows of one {self.person} may count at most?")
        if self.by is not None and not (isinstance(self.by, str) and self.by.strip()):  # pyright: ignore[reportUnnecessaryIsInstance]
            problems.append(f"by={self.by!r} is no name; `by` must name who accepts these facts")
        problems += text_problems(self.words or {})
        if problems:
            raise PlanError("synthesize cannot begin", problems, "give for example epsilon=1, buy=0.2")
        self.built(
            MethodChoice("aim", "", {}) if self.method is None else self.choice(None)
        )  # whatever is wrong, say it now

    @property
    def bought(self) -> Fraction:
        """The part of epsilon that buys the facts of the schema."""
        return Fraction(0) if self.buy is None else to_fraction(self.buy)

    @property
    def deltas(self) -> tuple[str | None, str | None]:
        """Delta of the facts and of the rows: half of it each where it is given and facts are bought."""
        if self.delta is None:
            return None, None
        whole = to_fraction(self.delta, "delta")
        return (
            (fraction_to_text(whole / 2), fraction_to_text(whole / 2))
            if self.bought
            else (None, fraction_to_text(whole))
        )

    @property
    def total_delta(self) -> Fraction:
        """Delta of the facts and of the rows together, where facts are bought."""
        return 2 * to_fraction(DEFAULT_DELTA) if self.delta is None else to_fraction(self.delta, "delta")

    def choice(self, schema: Schema | None) -> MethodChoice:
        """Return the method that was named, or the one to take where none was."""
        if self.method is None and schema is not None:
            return default_method(schema, {})
        if isinstance(self.method, type):
            return MethodChoice(self.method.name, "", {})
        if not isinstance(self.method, str):
            next_step = f"give a name: {', '.join(REGISTRY)}; epsilon and delta belong to synthesize"
            raise PlanError(f"method needs a name, found a {type(self.method).__name__}", next_step=next_step)
        return MethodChoice(self.method, "", {})

    def built(self, choice: MethodChoice) -> Method:
        """Return the method with the budget that the bought facts leave."""
        cls: Any = self.method if isinstance(self.method, type) else method_class(choice.method)
        delta = {} if self.deltas[1] is None else {"delta": self.deltas[1]}
        return cls(epsilon=fraction_to_text(to_fraction(self.epsilon) - self.bought), **delta, **choice.settings)


@dataclass(frozen=True)
class SchemaDecision:
    """A table with a drafted or bought schema: its assumptions, and the rest of the way to a release."""

    data: Any
    schema: Schema
    request: SynthesisRequest
    book: LedgerChoice
    dialect: Mapping[str, Any]
    assumed: tuple[str, ...]
    """What a reader of the release must know, in words that hold no private value."""
    looked: tuple[str, ...] = ()
    """Assumptions that the guarantee states, besides those about the facts of the schema."""
    drafted: tuple[str, ...] = field(default=(), repr=False)
    """What the draft said about the rows: for the custodian alone."""
    rows: int | None = None
    """About how many rows there are, by the noisy counts of a purchase."""

    def prepare(self, rows: int | None = None) -> PreparedRelease:
        """Return the release with all that can be checked before it: its budget, and whether noise would drown it."""
        with self.paid():
            choice = self.request.choice(self.schema)
            table = read(self.data, self.schema, **self.dialect)
            method = self.request.built(choice)
            planned = plan(table, method, rows, self.book, self.request.seed, about_rows=self.request.about_rows)
            if not self.request.anyway:
                known = self.rows if self.request.bought or planned.expects_rows else table.count_rows()
                refuse_if_noise_dominates(planned, None if planned.expects_rows else known)
        return PreparedRelease(self, table, method, planned, rows, choice.reason)

    def released(self, rows: int | None = None) -> Release:
        """Release the table; where that fails after facts were bought, the error carries their schema."""
        return self.prepare(rows).released()

    @contextmanager
    def paid(self) -> Generator[None]:
        """Let an error say that facts were bought, and carry their schema."""
        try:
            yield
        except SfumatoError as error:
            if self.request.bought:
                error.schema = self.schema  # pyright: ignore[reportAttributeAccessIssue]
                error.add_note(
                    f"epsilon {format_fraction(self.request.bought)} is spent on the facts of the schema, which is not "
                    f"lost"
                )
            raise


@dataclass(frozen=True)
class PreparedRelease:
    """A checked table with its method and plan; nothing but bought facts has been charged so far."""

    described: SchemaDecision
    table: Table
    method: Method
    plan: Plan
    rows: int | None
    reason: str
    """Why this method was taken, where nobody named one."""

    def released(self) -> Release:
        """Spend and release, with the assumptions in the notes and in the guarantee."""
        described, request = self.described, self.described.request
        with described.paid():
            released = release(
                self.table, self.method, self.rows, described.book, request.seed, about_rows=request.about_rows
            )
        notes = (*described.assumed, *([self.reason] if self.reason else []))
        guarantee = released.guarantee
        full_guarantee = guarantee.model_copy(update={"assumptions": (*guarantee.assumptions, *described.looked)})
        return dataclasses.replace(released.promising(full_guarantee), notes=(*notes, *released.notes))


def decide_schema(
    data: Any,
    request: SynthesisRequest,
    ledger: LedgerChoice,
    name: str | None,
    dialect: Mapping[str, Any],
    say: Callable[[str], None] | None = None,
) -> SchemaDecision:
    """Return the table with a schema: drafted and accepted, or bought. Nothing but that purchase is spent.

    ``say`` is told before the purchase how many rows it takes to be seen.
    """
    if request.bought:
        return _with_bought(data, request, ledger, name, dialect, say)
    draft = _draft(data, request, name, dialect)
    answered = draft if request.person is None else dataclasses.replace(draft, person_candidates=())
    schema = answered.confirm(
        accept_unchanged=True, by=request.by, person=request.person, rows_per_person=request.rows_per_person
    )
    gone = _left_out(data, schema, request, dialect)
    assumed = (
        f"the schema of {len(schema.columns)} columns was drafted from the rows, and what it took from them was "
        "accepted as it is: no source vouches for that",
        *_told(schema, gone),
    )
    told = schema.with_words(request.words or {})
    return SchemaDecision(data, told, request, ledger, dialect, assumed, _looked(request), draft.notes)


def _with_bought(
    data: Any,
    request: SynthesisRequest,
    ledger: LedgerChoice,
    name: str | None,
    dialect: Mapping[str, Any],
    say: Callable[[str], None] | None,
) -> SchemaDecision:
    """Buy the facts, after the whole budget was checked; a draft is looked at only for what nobody has said."""
    order = prepared(
        data,
        fraction_to_text(request.bought),
        request.deltas[0],
        name,
        _named(request),
        request.about_rows,
        dialect,
        person=request.person or None,
        rows_per_person=request.rows_per_person or 1,
    )
    named, sight = order.order.header.name, order.foresight.words
    wanted = [each for each in order.order.header.names if each != request.person]
    book = open_ledger(ledger)
    if book is not None:
        book.check(named, epsilon=request.epsilon, delta=fraction_to_text(request.total_delta))
    if say is not None:
        say(sight)
    schema, rows = order.buy(False if book is None else book, request.seed, request.by)
    visible = [each for each in wanted if each in schema.releasable]
    _refuse_little(schema, request, wanted, visible)
    unseen = [each for each in wanted if each not in visible]
    left = to_fraction(request.epsilon) - request.bought
    assumed = (
        f"the facts of the schema were bought for epsilon {format_fraction(request.bought)} of "
        f"{format_fraction(to_fraction(request.epsilon))}; the rows "
        f"cost the other {format_fraction(left)}",
        *([sight] if say is None else []),
        *_told(schema, ()),
        *([f"left out because nothing of them rose above the noise: {', '.join(unseen)}"] if unseen else []),
    )
    told = schema.with_words(request.words or {})
    return SchemaDecision(data, told, request, ledger, dialect, assumed, _alone(request), rows=rows)


def _refuse_little(schema: Schema, request: SynthesisRequest, wanted: Sequence[str], visible: Sequence[str]) -> None:
    """Stop before rows are paid for where most columns were not seen: a purchase can fail, and rows of it are waste."""
    if 2 * len(visible) >= len(wanted) and len(visible) >= min(2, len(wanted)):
        return
    error = TooLittleSeenError(
        f"only {len(visible)} of the {len(wanted)} columns of table {schema.name!r} rose above the noise; epsilon "
        f"{format_fraction(request.bought)} is spent on that, and the other "
        f"{format_fraction(to_fraction(request.epsilon) - request.bought)} is not",
        [
            f"seen: {', '.join(visible) or 'none'}",
            f"not seen: {', '.join(each for each in wanted if each not in visible)}",
        ],
        "buy for more epsilon, fewer columns or fewer rows of one person; state public facts in a schema (sfumato "
        "schema draft DATA); or release what was seen: the schema is kept in 'schema' of this error",
    )
    error.schema = schema
    raise error


def _draft(data: Any, request: SynthesisRequest, name: str | None, dialect: Mapping[str, Any]) -> Schema:
    """Return a draft of the columns that were asked for; refuse where it asks what only a person can answer."""
    draft = Schema.draft(data, name=name, **dialect)
    asked = draft.person_candidates
    if request.person is None and asked:
        raise UnansweredQuestionError(
            f"whose rows are these? In table {draft.name!r} the values of {' and of '.join(asked)} repeat, as they do "
            "where people have several rows; nothing was spent",
            next_step=f"say person={asked[0]!r} and rows_per_person=5 (--person {asked[0]} --rows-per-person 5) to "
            "protect whole people, or person=False (--no-person) where each person has one row",
        )
    if request.columns is not None:
        return _only(draft, request)
    _refuse_unread(data, draft, dialect)
    return draft


def _refuse_unread(data: Any, draft: Schema, dialect: Mapping[str, Any]) -> None:
    """Refuse a table of which columns would be lost only because nobody said how they are written."""
    opened = open_source(data, Dialect.of(dialect))
    lost = [name for name in opened.engine.table.columns if name not in draft]
    hints = dialect_hints(opened, lost) if lost and opened.engine.streams else {}
    if hints:
        raise TableError(
            f"of table {draft.name!r}, {len(hints)} of the columns would be left out, because nobody said how they are "
            "written; nothing was spent",
            [f"{name}: {hint.sentence}" for name, hint in hints.items()],
            f"say how they are written: {combined_options(hints)}; or name the columns that are wanted (columns=, "
            f"--columns)",
        )


def _only(draft: Schema, request: SynthesisRequest) -> Schema:
    """Return a draft of some columns, and of the person column, with the rules between them."""
    named = _named(request) or []
    if unknown := [f"{name!r} is not among them, or could not be described" for name in named if name not in draft]:
        listed = f"the columns of table {draft.name!r} are {', '.join(draft.names)}"
        raise SchemaError(listed, unknown, "correct columns, or leave them out")
    kept = tuple(column for column in draft if column.name in {*named, request.person})
    names = {column.name for column in kept}
    rules = tuple(rule for rule in draft.rules if set(rule.columns) <= names)
    return dataclasses.replace(draft, columns=kept, rules=rules)


def _named(request: SynthesisRequest) -> list[str] | None:
    """Return the columns that were asked for; None where nobody named any."""
    if request.columns is None:
        return None
    return [request.columns] if isinstance(request.columns, str) else list(request.columns)


def _left_out(data: Any, schema: Schema, request: SynthesisRequest, dialect: Mapping[str, Any]) -> list[str]:
    """Return the columns of the source that no release will carry, and that nobody left out by name."""
    if request.columns is not None:
        return []
    there = open_source(data, Dialect.of(dialect)).engine.table.columns
    return [name for name in there if name not in schema.releasable and name != request.person]


def _alone(request: SynthesisRequest) -> tuple[str, ...]:
    return () if request.person is not None else (ALONE,)


def _looked(request: SynthesisRequest) -> tuple[str, ...]:
    """Return what a draft decides by the rows: said of every table, so that it does not tell which one it was."""
    whose = () if request.person is not None else ("whose rows these are",)
    stop = () if request.anyway or request.about_rows is not None else ("whether there is a release at all",)
    return (*_alone(request), LOOKED.format(choices=join_names((*CHOICES, *whose, *stop)), gap=UNCOVERED_CHOICES))


def _told(schema: Schema, gone: Sequence[str]) -> list[str]:
    whose = (
        "every row is taken for another person's"
        if schema.person is None
        else f"the rows of one person share their {schema.person}; at most {schema.rows_per_person} of them count"
    )
    return [whose, *([f"left out as identifiers or free text: {', '.join(gone)}"] if gone else [])]
