"""The membership game: a method with and without a target, released repeatedly and told apart by an attack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.arrays import FloatArray
from sfumato.core.method import Method, Output
from sfumato.core.plan import Plan
from sfumato.errors import RiskError
from sfumato.metrics.auc import roc_auc
from sfumato.metrics.confidence import LEVEL
from sfumato.metrics.evaluation_input import raw_rows
from sfumato.metrics.rows_view import CachedCounts, Observes, RowsView, check_observes
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.progress import steps
from sfumato.risk.attacks.attack import Attack, AttackResult
from sfumato.risk.attacks.attacker_view import AttackerView
from sfumato.risk.attacks.likelihood_ratio import has_known_count_noise, noise_distribution
from sfumato.risk.simulated.worlds import CountTablePair, CountWorlds, MethodWorlds, Score, Worlds
from sfumato.schema import Schema
from sfumato.table import Table, read

MOST_NUMBERS = 10_000_000
"""Released numbers that are held in memory at once."""
COUNT_TRIALS, ROW_TRIALS = 1000, 200
"""Games where nobody says how many."""
FITTED_RUNS = 150
"""Releases that are made where each of them fits a model, which takes seconds: games of minutes."""
NEVER_RELEASED = "These releases were made for the game, from a seed and outside any ledger: none of them is published."


def to_game(
    subject: Any,
    method: Method | None = None,
    target: int | None = None,
    rows: int | None = None,
    sees: Observes = "values",
) -> Worlds:
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
) -> Worlds:
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


def seeded_stream(seed: int | None) -> Randomness:
    """Return the randomness of a game; without a seed one is drawn, because game releases are never secure ones."""
    if seed is not None and (isinstance(seed, bool) or seed < 0):
        raise RiskError(
            f"seed must be a whole number of at least 0, found {seed!r}", next_step="use for example seed=1"
        )
    return Randomness.of(int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed)


def chunks(trials: int, width: int) -> Iterator[int]:
    """Split trials so that one piece fits comfortably into memory."""
    step = max(MOST_NUMBERS // max(width, 1), 1)
    yield from (min(step, trials - start) for start in range(0, trials, step))


def scores(game: Worlds, member: bool, trials: int, score: Score, randomness: Randomness) -> FloatArray:
    """Return the attacker's scores on fresh releases of one world."""
    return np.concatenate([score(game.draw(member, part, randomness)) for part in chunks(trials, game.width)])


def play_game(
    attack: Attack, worlds: Worlds, trials: int, seed: int | None = None, level: float = LEVEL
) -> AttackResult:
    """Play the game with as many members as others, and once more where no release holds the target."""
    worlds, randomness = attack.view(worlds), seeded_stream(seed)
    score = attack.fit(worlds, trials, randomness)
    members = trials // 2
    inside = scores(worlds, True, members, score, randomness)
    outside = scores(worlds, False, trials - members, score, randomness)
    right = _right(inside, outside, randomness.generator)
    # The control deals the same labels, but every release comes from the world without the target.
    blind = _right(scores(worlds, False, members, score, randomness), outside, randomness.generator)
    return AttackResult.of_counts(
        right,
        trials,
        blind,
        trials,
        level,
        attack=f"{attack.title}, against {worlds.title}",
        threat=attack.threat.seeing(attack.sees(worlds)),
        baseline=0.5,
        auc=roc_auc(inside, outside),
        ceiling=worlds.ceiling,
        claim=worlds.claim,
        optimal=worlds.optimal,
        notes=(*_target_note(worlds), NEVER_RELEASED),
    )


def _target_note(game: Worlds) -> tuple[str, ...]:
    return () if game.row is None else (f"The target is row {game.row + 1:,} of the table, counted from 1.",)


def _right(inside: FloatArray, outside: FloatArray, generator: np.random.Generator) -> int:
    coins = generator.random(len(inside) + len(outside)) < 0.5
    guesses = np.concatenate([inside, -outside])
    return int(np.where(guesses == 0, coins, guesses > 0).sum())


def default_trials(played: Worlds, attacks: Sequence[Any]) -> int:
    """Return how many games to play where nobody says: fewer where each release takes long."""
    if isinstance(played, MethodWorlds) and played.plan.seconds is not None:
        return FITTED_RUNS * ROW_TRIALS // sum(attack.releases(ROW_TRIALS) for attack in attacks)
    return COUNT_TRIALS if played.makes == "counts" else ROW_TRIALS


def run_attacks(
    game: Worlds,
    attacks: Sequence[Attack],
    trials: int | None = None,
    seed: int | None = None,
    level: float = LEVEL,
    stage: str = "about",
) -> list[AttackResult]:
    """Play the game with each attack, as often as its time allows unless ``trials`` says it, and report progress."""
    count = default_trials(game, attacks) if trials is None else trials
    runs = sum(attack.releases(count) for attack in attacks) if isinstance(game, MethodWorlds) else len(attacks)
    with steps(f"{stage} {runs:,} runs", runs) as done:
        watched = replace(game, told=done) if isinstance(game, MethodWorlds) else game
        return [attack.run(watched, trials=count, seed=seed, level=level) for attack in attacks]
