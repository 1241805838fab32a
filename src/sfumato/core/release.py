"""Run a release: plan, check the budget and the table, record the spend, measure, package."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sfumato.argument_errors import checked_arguments
from sfumato.core.data_access import data_access_of
from sfumato.core.forecast_checks import with_noise_note
from sfumato.core.method import WRONG_SETTINGS, ChecksTableBeforeSpend, FittedModelProtocol, Method, registered_home
from sfumato.core.outcome import mark_lost_on_failure
from sfumato.core.parameters import check_about_rows
from sfumato.core.plan import Plan
from sfumato.core.schema_assumptions import NOT_BOUNDED, clamping_notes, purchased, schema_assumptions
from sfumato.errors import NoLedgerWarning, PlanError, TableError
from sfumato.lazy import HOOKS, load_object
from sfumato.privacy.accounting.accountant import basic_composition, release_guarantee
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import UNCOVERED, Guarantee
from sfumato.privacy.accounting.strength import require_strong_enough
from sfumato.privacy.exact import fraction_to_text, to_fraction
from sfumato.privacy.ledger import Account, Entry, Ledger
from sfumato.privacy.noise import require_samplable
from sfumato.privacy.randomness import Randomness
from sfumato.progress import report_progress
from sfumato.reprs import ReprMixin
from sfumato.schema import Schema
from sfumato.schema.confirm import released
from sfumato.table.writing.formats import note_on_copy
from sfumato.table.writing.frames import ReleasedTables, to_frame

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table

LedgerChoice = Ledger | str | Path | Literal[False] | None
"""A ledger, its path or URL; False where none is wanted; None where nobody said."""
UNRECORDED = (
    "no ledger was given, so no cap protects this table and nobody adds up what its releases cost; give ledger=..., or "
    "ledger=False if that is meant"
)
SEEDED_FACTS = "the facts of the schema were bought with a fixed seed, so releases from it are for tests only"
FORMULA_SIGNS = ("=", "+", "-", "@")
"""A cell that begins like this is a formula to a spreadsheet."""


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, repr=False)
class Release(ReprMixin):
    """What came out: data in the kind of frame that came in, the guarantee, the events and how to save them."""

    method: Method
    schema: Schema
    plan: Plan
    guarantee: Guarantee
    events: tuple[Event, ...]
    tables: Mapping[tuple[str, ...], pa.Table]
    single: bool
    frame_kind: str
    randomness: Randomness
    statistics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    confidential: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """Numbers about private rows for the custodian's copy; no public file holds them."""
    notes: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    account: Account | None = None
    model: FittedModelProtocol | None = None
    """The fitted model with this guarantee attached, where the method has one: rows drawn from it cost nothing more."""
    ledger: Ledger | None = field(default=None, repr=False)
    """Where the cost was recorded; ``save`` marks there what became of it."""
    created_at: str = field(default_factory=_now)
    """Saved twice, a release gives the same files to the last byte: the time is that of the release."""

    def _line(self) -> str:
        lines = sum(table.num_rows for table in self.tables.values())
        stamp = "NOT FOR RELEASE; " if self.stamp else ""
        return f"{stamp}{self.guarantee.headline()} Method {self.method.name}, {lines:,} released lines"

    def _lines(self) -> list[tuple[str, str]]:
        """Return what was released and promised; never what ``confidential`` holds."""
        sizes = [f"{table.num_rows:,} lines of {', '.join(table.column_names)}" for table in self.tables.values()]
        account = self.account
        left = [] if account is None else [("left in the ledger", f"{account.left_epsilon} of {account.cap_epsilon}")]
        return [*(("released", size) for size in sizes), *left, *(("note", words) for words in self.notes)]

    def promising(self, guarantee: Guarantee, events: Sequence[Event] | None = None) -> Release:
        """Return the release with another guarantee (and events), which its model carries as well."""
        own = self.events if events is None else tuple(events)
        guarantee = guarantee.resting_on(own)
        model = None if self.model is None else self.model.promised(guarantee, own, self.stamp)
        return replace(self, guarantee=guarantee, events=own, model=model)

    @cached_property
    def data(self) -> Any:
        """The released frame, or a mapping of frames for several tables."""
        frames = {names: to_frame(table, self.frame_kind, self.stamp) for names, table in self.tables.items()}
        return next(iter(frames.values())) if self.single else ReleasedTables(frames)

    @property
    def stamp(self) -> str | None:
        """ "not for release" on every artefact of a seeded run."""
        return self.randomness.stamp

    def uncertainty(self, statistic: Any, reruns: int = 20, level: float = 0.95, population: bool = False) -> Any:
        """Return expected errors and intervals of a statistic, from reruns of the method on the released rows: free.

        ``statistic`` is words such as "mean income by region", a function of a frame, or a list of them.
        """
        return load_object(HOOKS["Release.uncertainty"])(self, statistic, reruns, level, population)

    def save(
        self,
        directory: str | Path,
        private_report: str | Path | None = None,
        table: Table | None = None,
        reruns: int = 0,
        also: Sequence[str] = (),
        sign: Any = None,
    ) -> Path:
        """Write the bundle (data, schema, release.json, report, script) and return its folder.

        ``private_report`` with ``table`` also writes the custodian's copy, which shows true values: keep it apart.
        With ``reruns`` (8, say) the report shows how sure its main numbers are: free, but it takes time.
        ``also`` names formats in which rows are wanted, too: "sav" (SPSS), "dta" (Stata), "xlsx", "jsonl", "sqlite".
        ``sign`` is the file of a private key ('sfumato key new'): the bundle gets a signature.json.
        """
        return load_object(HOOKS["Release.save"])(self, directory, private_report, table, reruns, also, sign)


@checked_arguments
def plan(
    subject: Table | Schema,
    method: Method,
    rows: int | None = None,
    ledger: LedgerChoice = None,
    seed: int | None = None,
    allow_weak: bool = False,
    about_rows: int | None = None,
) -> Plan:
    """Return what a release would cost and need, from the schema alone; with a ledger, also what would be left.

    ``about_rows`` is a public or guessed number of rows of the private table, for ``plan.forecast``.
    Above epsilon 20 or delta 0.1 it is refused, unless ``allow_weak`` says by name that it is wanted.
    """
    schema = subject if isinstance(subject, Schema) else _table(subject).schema
    _refuse_non_method(method)
    planned = _plan_checked(method, schema, rows, check_seed(seed))
    if any(event.is_formal for event in planned.events):
        schema.require_confirmed()
        if seed is not None:
            require_samplable(scales_of(planned.events), seeded=True)
    planned = planned.model_copy(update={"notes": (*planned.notes, *_notes(schema, method, planned, rows, allow_weak))})
    planned = planned.foreseen_by(schema, method, schema.rows if about_rows is None else check_about_rows(about_rows))
    planned = planned.read_by(data_access_of(method, schema, None if subject is schema else _table(subject), rows))
    book = open_ledger(ledger)
    if book is None:
        return planned
    account = book.check(schema.name, planned.events)
    return planned.model_copy(update=balance(book, account, planned.events))


def _notes(schema: Schema, method: Method, planned: Plan, rows: int | None, allow_weak: bool) -> tuple[str, ...]:
    """Return what the caller must be told; refuses a promise that would protect nobody."""
    ignored = f"{method.name} makes no rows, so rows is ignored"
    promise = promised(schema, planned, False, allow_weak)
    return (
        *((ignored,) if rows is not None and method.makes != "rows" else ()),
        *promise.in_total,
        *_formula_note(schema),
        *(assumption for assumption in promise.assumptions if assumption.endswith((UNCOVERED, NOT_BOUNDED))),
        *clamping_notes(schema),
        *([note] if method.makes == "rows" and (note := note_on_copy(schema)) else []),
        *promise.warnings,
    )


def _plan_checked(method: Method, schema: Schema, rows: int | None, seed: int | None) -> Plan:
    try:
        return method.plan(schema, rows, Randomness.of(seed).mode)
    except WRONG_SETTINGS as error:
        raise PlanError(
            f"{method.name} cannot be planned with these parameters",
            [f"{type(error).__name__}: {error}"],
            f"compare them with 'sfumato methods {method.name}'",
        ) from error


def _formula_note(schema: Schema) -> list[str]:
    """Levels are public and stay as they are; whoever opens data.csv in a spreadsheet should know of them."""
    named = [column.name for column in schema if any(_is_formula(value) for value in column.values or ())]
    if not named:
        return []
    warning = "begin with = + - or @: a spreadsheet takes such cells of data.csv for formulas"
    return [f"levels of {', '.join(named)} {warning}"]


def _is_formula(value: str | int) -> bool:
    if not isinstance(value, str) or not value.startswith(FORMULA_SIGNS):
        return False
    try:
        return float(value) != float(value)  # a signed number is read as that number
    except ValueError:
        return True


def open_ledger(ledger: LedgerChoice) -> Ledger | None:
    """Return the ledger that was chosen, if any."""
    if ledger is True:  # pyright: ignore[reportUnnecessaryComparison]
        raise PlanError("ledger=True names no ledger", next_step="give its path or URL; ledger=False goes without one")
    return None if ledger is None or ledger is False else Ledger.of(ledger)


def balance(book: Ledger, account: Account, events: Iterable[Event]) -> dict[str, str]:
    """Return what is left of the cap before and after some events."""
    formal = [event for event in events if event.is_formal]
    after = to_fraction(account.left_epsilon) - basic_composition(formal)[0]
    if account.composition != "basic":
        after = to_fraction(account.cap_epsilon) - (book.tight(account.name, more=formal) or 0)
    return {"left_before": account.left_epsilon, "left_after": fraction_to_text(after)}


@checked_arguments
def release(
    table: Table,
    method: Method,
    rows: int | None = None,
    ledger: LedgerChoice = None,
    seed: int | None = None,
    allow_weak: bool = False,
    about_rows: int | None = None,
) -> Release:
    """Release a table by a method. Nothing is spent and nothing is drawn when anything is wrong.

    Order: plan (schema only), ledger check (pure), table check, record in one transaction, then count and draw noise.
    A crash after recording loses budget, never privacy. An exposure is recorded once there is something to expose,
    before it is handed out. Without a ledger it warns; ``ledger=False`` says that none is wanted.
    ``allow_weak`` is that of :func:`plan`; the guarantee says it. So is ``about_rows``: it enters no mechanism, and
    where it makes public that the noise is comparable to the rows, a note says so.
    """
    randomness = Randomness.of(check_seed(seed))
    if ledger is None:
        warnings.warn(NoLedgerWarning(UNRECORDED), stacklevel=3)  # the caller, above the check of the arguments
    book = open_ledger(ledger)
    planned = with_noise_note(plan(_table(table), method, rows, book, seed, allow_weak, about_rows))
    guarantee = promised(table.schema, planned, book is not None, allow_weak)
    require_samplable(scales_of(planned.events), seed is not None)
    report_progress("checking the table")
    table.require_valid()
    if isinstance(method, ChecksTableBeforeSpend):
        method.require_table(table, planned)
    if book is not None:
        table.rehearse()
    if book is None or any(event.is_formal for event in planned.events):  # a plan with both kinds spends, too
        entries = book.spend(table.schema.name, planned.events) if book is not None else ()
        with mark_lost_on_failure(book, entries):
            return run_recorded(table, method, planned, guarantee, randomness, rows, book, entries)
    return _record_exposure(run_recorded(table, method, planned, guarantee, randomness, rows), book)


def _record_exposure(release: Release, book: Ledger) -> Release:
    """Record an exposure: it has no cost to check, and where its method failed on the rows nothing was exposed."""
    entries = book.spend(release.schema.name, release.events)
    return replace(release, entries=entries, account=book.account(release.schema.name), ledger=book)


def run_recorded(
    table: Table,
    method: Method,
    planned: Plan,
    guarantee: Guarantee,
    randomness: Randomness,
    rows: int | None = None,
    book: Ledger | None = None,
    entries: Sequence[Entry] = (),
) -> Release:
    """Run a method whose plan was checked and whose cost is recorded: the one place where the data are touched."""
    table = replace(table, schema=released(table.schema))
    # Before the run, which may take hours: a ledger that is lost meanwhile must not take with it what was paid for.
    account = book.account(table.schema.name) if book is not None else None
    report_progress(f"running {method.name}")
    output = method.run(table, planned, randomness, rows)
    model = output.model.promised(guarantee, planned.events, randomness.stamp) if output.model is not None else None
    tables = {names: to_frame(data, "arrow", randomness.stamp) for names, data in output.tables.items()}
    return Release(
        method=method,
        schema=table.schema,
        plan=planned,
        guarantee=guarantee,
        events=planned.events,
        tables=tables,
        single=output.single,
        frame_kind=table.frame_kind,
        randomness=randomness,
        statistics=output.statistics,
        confidential=output.confidential,
        notes=(*planned.notes, *output.notes),
        entries=tuple(entries),
        account=account,
        model=model,
        ledger=book,
    )


def scales_of(events: Iterable[Event]) -> Iterator[float]:
    """Return the scale of every noise that events record."""
    return (part.scale for event in events for part in event.parts)


def check_seed(seed: int | None) -> int | None:
    """Return a seed that a generator can be made from, or refuse it before anything is spent."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(
            f"seed must be a whole number of at least 0, found {seed!r}", next_step="leave it out for a release"
        )
    return seed


def _table(subject: Any) -> Table:
    from sfumato.table import Table

    if isinstance(subject, Table):
        return subject
    if isinstance(subject, Method):
        raise TableError(
            "arguments swapped: expected a table first, then the method", next_step="write release(table, method)"
        )
    raise TableError(
        f"{_a(subject)} is not a table with a schema",
        next_step="read it first: table = sfumato.read(data, schema); or do all of it in one call: "
        "sfumato.synthesize(data, epsilon=1, ledger='budget.db')",
    )


def _a(thing: Any) -> str:
    """Return the kind of a thing with its article: "a DataFrame"."""
    name = type(thing).__name__
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def _refuse_non_method(method: Any) -> None:
    if isinstance(method, type):
        name = method.__name__
        raise PlanError(
            f"{name} is the class of a method, and its parameters are missing",
            next_step=f"make one of it: {name}(epsilon=1), with whatever else help({name}) asks for",
        )
    if isinstance(method, str):
        example = load_object(home).__name__ if (home := registered_home(method)) else "AIM"
        raise PlanError(f"{method!r} is a text, not a method", next_step=f"make one: sfumato.{example}(epsilon=1)")
    if not isinstance(method, Method):
        raise PlanError(f"{_a(method)} is not a method", next_step="give one, for example sfumato.AIM(epsilon=1)")


def promised(schema: Schema, planned: Plan, recorded: bool, allow_weak: bool = False) -> Guarantee:
    """Return what a release by this plan promises, bought facts of the schema counted.

    Refuses what is too weak unless that is allowed by name.
    """
    formal = all(event.is_formal for event in planned.events)
    composed = release_guarantee(planned.events, purchased(schema) if formal else ())
    if composed.randomness == "seeded" and not any(event.randomness == "seeded" for event in planned.events):
        raise PlanError(SEEDED_FACTS, next_step="buy the facts without a seed; for a test, give seed= here too")
    needed = require_strong_enough(composed.exact_epsilon, composed.exact_delta, allow_weak)
    assumptions = (*composed.assumptions, *planned.assumptions, *schema_assumptions(schema, composed.formal))
    facts = {"rows": schema.rows, "recorded": recorded, "assumptions": assumptions, "allowed_weak": needed}
    return composed.model_copy(update=facts)
