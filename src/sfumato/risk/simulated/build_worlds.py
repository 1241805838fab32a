"""From a table and a method to a game: who the target is, and what the world without the target looks like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.method import Method, Output
from sfumato.core.plan import Plan
from sfumato.errors import RiskError
from sfumato.metrics.evaluation_input import raw_rows
from sfumato.metrics.rows_view import CachedCounts, Observes, RowsView, check_observes
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.risk.attacks.attacker_view import AttackerView
from sfumato.risk.attacks.likelihood_ratio import has_known_count_noise, noise_distribution
from sfumato.risk.simulated.count_worlds import CountTablePair, CountWorlds
from sfumato.risk.simulated.membership_game import Worlds
from sfumato.risk.simulated.method_worlds import MethodWorlds
from sfumato.schema import Schema
from sfumato.table import Table, read

Game = Worlds


def to_game(
    subject: Any,
    method: Method | None = None,
    target: int | None = None,
    rows: int | None = None,
    sees: Observes = "values",
) -> Game:
    """Return a game as it is, or make one from a table and a method."""
    if isinstance(subject, Table):
        if method is None:
            raise RiskError("a table is attacked through a method", next_step="give a method: run(table, method)")
        return membership_game(subject, method, target, rows=rows, sees=sees)
    if method is not None:
        raise RiskError("a method needs a table", next_step="read one: sfumato.read(source, schema)")
    return subject


def membership_game(
    table: Table,
    method: Method,
    target: int | None = None,
    replaced_by: int | None = None,
    rows: int | None = None,
    sees: Observes = "values",
) -> Game:
    """Return the game of one target: the method on this table, against the table without the target.

    ``target`` is a row number from 0; without it the row that is furthest from all others is taken. Under replace the
    row ``replaced_by`` stands in its place, the most different one by default. Of released rows
    the attacker ``sees`` values or bins; counts are counts of bins by nature. Nothing is released or recorded.
    """
    check_observes(sees)
    plan = method.plan(table.schema, rows, "seeded")
    table.require_valid()
    private = raw_rows(table)
    if private.num_rows < 2:
        raise RiskError(f"{private.num_rows} rows are too few for a game", next_step="give a table with two rows")
    within = CachedCounts.of(read(private, table.schema))
    names = _names(method.run(within, plan, Randomness.of(0), rows), method, table.schema)
    sight = AttackerView(table.schema, names, "bins" if method.makes == "counts" else sees)
    people = sight.read(private)
    who = _target(target, people, sight)
    other = _other(replaced_by, who, people, sight) if table.schema.adjacency == "replace" else None
    without = CachedCounts.of(read(_neighbouring_rows(private, who, other), table.schema))
    if has_known_count_noise(method):
        return replace(_count_pair(method, plan, within, without), row=who)
    known = people[[who] if other is None else [who, other]]
    return MethodWorlds(method, plan, within, without, sight, known, rows, who)


def _names(output: Output, method: Method, schema: Schema) -> tuple[str, ...]:
    """Return the columns that a release is about; noisy numbers such as a curve may be about all of them."""
    if method.makes == "values":
        return schema.releasable
    if method.makes == "rows":
        return tuple(next(iter(output.tables.values())).column_names)
    return tuple(dict.fromkeys(name for names in output.tables for name in names))


def _target(target: int | None, people: RowsView, sight: AttackerView) -> int:
    if target is None:
        return sight.most_exposed(people.points, np.random.default_rng(0))
    return _row(target, len(people), "target")


def _row(number: int, rows: int, what: str) -> int:
    if isinstance(number, bool) or not 0 <= number < rows:
        raise RiskError(f"{what} {number!r} is not a row: there are rows 0 to {rows - 1}", next_step=f"choose {what}")
    return int(number)


def _other(replaced_by: int | None, who: int, people: RowsView, sight: AttackerView) -> int:
    apart = sight.between(people.points[[who]], people.points)[0]
    other = int(apart.argmax()) if replaced_by is None else _row(replaced_by, len(people), "replaced_by")
    if apart[other] == 0:
        raise RiskError(
            f"rows {who} and {other} are the same in this release, so that there is nothing to tell apart",
            next_step="choose rows that differ in the released columns",
        )
    return other


def _neighbouring_rows(rows: pa.Table, who: int, other: int | None) -> pa.Table:
    middle: Sequence[pa.Table] = [] if other is None else [rows.slice(other, 1)]
    return pa.concat_tables([rows.slice(0, who), *middle, rows.slice(who + 1)])


def _count_pair(method: Any, plan: Plan, within: Table, without: Table) -> CountWorlds:
    sets = method.measurement().sets
    parts = [(event.kind, part.scale) for event in plan.events for part in event.parts]
    before, after = without.marginals(sets), within.marginals(sets)
    tables = tuple(
        CountTablePair(before[names].ravel(), after[names].ravel(), noise_distribution(kind, scale))
        for names, (kind, scale) in zip(sets, parts, strict=True)
    )
    epsilon, delta = float(to_fraction(plan.epsilon or "0")), float(to_fraction(plan.delta))
    return CountWorlds(tables, epsilon, delta, clamped=method.nonnegative, title=method.name)
