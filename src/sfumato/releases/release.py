"""The way of a release: plan, check the budget, check the table, record the spend, then touch the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import PlanError, TableError
from sfumato.privacy.accountant import basic, promise_of
from sfumato.privacy.event import Event
from sfumato.privacy.exact import exact, show, text
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.ledger import Account, Entry, Ledger
from sfumato.privacy.noise import require_seedable
from sfumato.privacy.randomness import Randomness
from sfumato.privacy.strength import refuse_weak
from sfumato.releases.method import ChecksTable, Method, Model
from sfumato.releases.plan import Plan
from sfumato.schema import Schema
from sfumato.table.frames import Tables, to_frame

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table


@dataclass(frozen=True, repr=False)
class Release:
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
    model: Model | None = None
    """The fitted model with this guarantee attached, where the method has one: rows drawn from it cost nothing more."""

    def __repr__(self) -> str:
        lines = sum(table.num_rows for table in self.tables.values())
        stamp = "NOT FOR RELEASE; " if self.stamp else ""
        return f"Release({stamp}{self.guarantee.headline()} Method {self.method.name}, {lines:,} released lines)"

    def promising(self, guarantee: Guarantee, events: Sequence[Event] | None = None) -> Release:
        """Return the release with another guarantee (and events), which its model carries as well."""
        said = self.events if events is None else tuple(events)
        model = None if self.model is None else self.model.promised(guarantee, said, self.stamp)
        return replace(self, guarantee=guarantee, events=said, model=model)

    @cached_property
    def data(self) -> Any:
        """The released frame, or a mapping of frames for several tables."""
        frames = {names: to_frame(table, self.frame_kind, self.stamp) for names, table in self.tables.items()}
        return next(iter(frames.values())) if self.single else Tables(frames)

    @property
    def stamp(self) -> str | None:
        """ "not for release" on every artefact of a seeded run."""
        return self.randomness.stamp

    def save(self, directory: str | Path, private_report: str | Path | None = None, table: Table | None = None) -> Path:
        """Write the bundle (data, schema, release.json, report, script) and return its folder.

        ``private_report`` with ``table`` also writes the custodian's copy, which shows true values: keep it apart.
        """
        from sfumato.report.bundle import save_bundle

        return save_bundle(self, directory, private_report=private_report, table=table)


def plan(
    subject: Table | Schema,
    method: Method,
    rows: int | None = None,
    ledger: Ledger | str | Path | None = None,
    seed: int | None = None,
    allow_weak: bool = False,
) -> Plan:
    """Return what a release would cost and need, from the schema alone; with a ledger, also what would be left.

    Above epsilon 20 or delta 0.1 it is refused, unless ``allow_weak`` says by name that it is wanted.
    """
    schema = subject if isinstance(subject, Schema) else _table(subject).schema
    _refuse_non_method(method)
    made = method.plan(schema, rows, Randomness.of(seed).mode)
    if any(event.is_formal for event in made.events):
        schema.require_confirmed()
        if seed is not None:
            require_seedable(part.scale for event in made.events for part in event.parts)
    made = made.model_copy(update={"notes": (*made.notes, *_notes(schema, method, made, rows, allow_weak))})
    if ledger is None:
        return made
    book = Ledger.of(ledger)
    account = book.check(schema.name, made.events)
    return made.model_copy(update=_balance(book, account, made))


def _notes(schema: Schema, method: Method, made: Plan, rows: int | None, allow_weak: bool) -> tuple[str, ...]:
    """Return what the caller must be told; refuses a promise that would protect nobody."""
    ignored = f"{method.name} makes no rows, so rows is ignored"
    promise = promised(schema, made, False, allow_weak)
    return (*((ignored,) if rows is not None and method.makes != "rows" else ()), *promise.warnings)


def _balance(book: Ledger, account: Account, made: Plan) -> dict[str, str]:
    formal = [event for event in made.events if event.is_formal]
    after = exact(account.left_epsilon) - basic(formal)[0]
    if account.composition == "tight":
        after = exact(account.cap_epsilon) - (book.tight(account.name, more=formal) or 0)
    return {"left_before": account.left_epsilon, "left_after": text(after)}


def release(
    table: Table,
    method: Method,
    rows: int | None = None,
    ledger: Ledger | str | Path | None = None,
    seed: int | None = None,
    allow_weak: bool = False,
) -> Release:
    """Release a table by a method. Nothing is spent and nothing is drawn when anything is wrong.

    Order: plan (schema only), ledger check (pure), table check, record in one transaction, then count and draw noise.
    A crash after recording loses budget, never privacy. ``allow_weak`` is that of :func:`plan`; the guarantee says it.
    """
    randomness = Randomness.of(_sound_seed(seed))
    book = None if ledger is None else Ledger.of(ledger)
    made = plan(_table(table), method, rows, book, seed, allow_weak)
    guarantee = promised(table.schema, made, book is not None, allow_weak)
    table.require_valid()
    if isinstance(method, ChecksTable):
        method.require_table(table, made)
    if book is not None:
        table.rehearse()
    entries = book.spend(table.schema.name, made.events) if book is not None else ()
    return carried_out(table, method, made, guarantee, randomness, rows, book, entries)


def carried_out(
    table: Table,
    method: Method,
    made: Plan,
    guarantee: Guarantee,
    randomness: Randomness,
    rows: int | None = None,
    book: Ledger | None = None,
    entries: Sequence[Entry] = (),
) -> Release:
    """Run a method whose plan was checked and whose cost is recorded: the one place where the data are touched."""
    output = method.run(table, made, randomness, rows)
    account = book.account(table.schema.name) if book is not None else None
    model = output.model.promised(guarantee, made.events, randomness.stamp) if output.model is not None else None
    return Release(
        method=method, schema=table.schema, plan=made, guarantee=guarantee,
        events=made.events, tables=output.tables, single=output.single, frame_kind=table.frame_kind,
        randomness=randomness, statistics=output.statistics, confidential=output.confidential,
        notes=(*made.notes, *output.notes), entries=tuple(entries), account=account, model=model,
    )  # fmt: skip


def _sound_seed(seed: int | None) -> int | None:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(
            f"seed must be a whole number of at least 0, found {seed!r}", next_step="leave it out for a release"
        )
    return seed


def _table(subject: Any) -> Table:
    from sfumato.table import Table

    if isinstance(subject, Table):
        return subject
    raise TableError(
        f"a {type(subject).__name__} is not a table with a schema",
        next_step="read it first: table = sfumato.read(data, schema)",
    )


def _refuse_non_method(method: Any) -> None:
    if not isinstance(method, Method) or isinstance(method, type):
        raise PlanError(
            f"{method!r} is not a method",
            next_step="give an instance, for example Contingency(columns=['age'], epsilon=1.0)",
        )


def promised(schema: Schema, made: Plan, recorded: bool, allow_weak: bool = False) -> Guarantee:
    """Return what a release by this plan promises; refuses what is too weak unless that is allowed by name."""
    composed = promise_of(made.events)
    needed = refuse_weak(composed.exact_epsilon, composed.exact_delta, allow_weak)
    assumptions = (*composed.assumptions, *made.assumptions)
    said = {"rows": schema.rows, "recorded": recorded, "assumptions": assumptions, "allowed_weak": needed}
    return composed.model_copy(update=said)


def describe_cost(made: Plan) -> str:
    """Return the cost in a few words: epsilon, delta and adjacency."""
    if made.epsilon is None or not all(event.is_formal for event in made.events):
        return "an exposure: no formal guarantee"
    delta = f", delta {float(exact(made.delta)):.3g}" if exact(made.delta) else ""
    return f"epsilon {show(exact(made.epsilon))}{delta} under {made.adjacency}"
