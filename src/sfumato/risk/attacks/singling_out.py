"""Singling out: predicates or cells, learnt from the release, that exactly one person of the table fulfils.

A predicate of weight w among n people isolates one of them with chance n w (1 - w)^(n - 1), at most 37 %, although
nobody looked at these people (Cohen and Nissim, 2020). So a success says nothing by itself. Beside it stand the same
recipe fed with rows of the public domain (the baseline: predicates that isolate one of as many such rows), and the same
predicates on as many people who are not in the table (the control).

**The test.** Predicates share people, so that successes are not independent. But if the release knows nothing about who
is a member, members and others can change places: the labels "in the table" and "not in it" are dealt anew over the
pool of both, and the difference of successes is compared with the differences so found. That test is exact for any
number of predicates, however they overlap.

**Predicates** as Giomi et al. define them (2023, "A Unified Framework for Quantifying Privacy Risk in Synthetic Data").
Of one column: a value that occurs once, or the ends of a range. Of several columns: a row and some of its columns by
lot, levels by equality, numbers from the row's value outwards (at least it above the median, at most it below), kept
where no other row fulfils all of it. Of released counts: a cell that shows one person.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.arrays import BoolArray, FloatArray, IntArray
from sfumato.metrics.rows_view import Points
from sfumato.risk.attacks.attack import (
    MOST_WORST,
    AttackAttempt,
    AttackOptions,
    Attempts,
    ThreatModel,
    binomial_p_value,
    permutation_p_value,
)
from sfumato.risk.attacks.attacker_view import IN_WORDS, AttackerView

if TYPE_CHECKING:
    from sfumato.risk.on_release.run import AttackTargets

MANY = 40
"""Somebody of more people than this is isolated on one side by no deal."""
GOAL = "to state conditions that exactly one person of the table fulfils"
SAME_WEIGHT = (
    "A predicate may isolate somebody by luck, in up to 37 % of tries: what counts is the difference to people who are "
    "not in the table. Baseline: the same recipe fed with as many rows of the public domain."
)
FEWEST = 20
MOST_BLIND = 300
"""Predicates from rows of the public domain."""
Sign = Literal["=", "<=", ">=", "missing"]
MOST_COLUMNS = 6
"""Columns of one predicate."""
MOST_TRIES = 15
"""Rows that are tried for each predicate that is wanted."""
MISSING_SHARE = 0.05
"""Share of missing values in rows of the public domain, where a column may have them."""


@dataclass(frozen=True)
class Condition:
    """One column and what it must be."""

    place: int
    sign: Sign
    value: float = 0.0

    def holds(self, column: FloatArray) -> BoolArray:
        """Return which values fulfil it."""
        if self.sign == "missing":
            return np.isnan(column)
        if self.sign == "=":
            return column == self.value
        return column >= self.value if self.sign == ">=" else column <= self.value


Predicate = tuple[Condition, ...]
Recipe = Callable[[Points, AttackerView, int, np.random.Generator], list[Predicate]]


def matches(predicate: Predicate, points: Points) -> IntArray:
    """Return the places of the rows that fulfil all conditions.

    >>> matches((Condition(0, ">=", 2.0), Condition(1, "missing")), np.array([[1.0, 1.0], [2.0, np.nan]])).tolist()
    [1]
    """
    left = np.flatnonzero(predicate[0].holds(points[:, predicate[0].place]))
    for condition in predicate[1:]:
        left = left[condition.holds(points[left, condition.place])]
    return left


def univariate_predicates(points: Points, sight: AttackerView, most: int, dice: np.random.Generator) -> list[Predicate]:
    """Return predicates of one column that exactly one of the rows fulfils, ``most`` of them by lot."""
    found: list[Predicate] = []
    for place in range(points.shape[1]):
        column = points[:, place]
        missing = np.isnan(column)
        values, counts = np.unique(column[~missing], return_counts=True)
        once: list[Predicate] = [(Condition(place, "=", float(value)),) for value in values[counts == 1]]
        if sight.weights[place] > 0 and len(values):
            ends: tuple[tuple[int, Sign], ...] = ((0, "<="), (-1, ">="))
            once += [(Condition(place, sign, float(values[at])),) for at, sign in ends if counts[at] == 1]
        found += once + ([(Condition(place, "missing"),)] if missing.sum() == 1 else [])
    order = dice.permutation(len(found))[:most]
    return [found[at] for at in order]


def multivariate_predicates(
    points: Points, sight: AttackerView, most: int, dice: np.random.Generator
) -> list[Predicate]:
    """Return predicates of several columns that exactly one of the rows fulfils, each once."""
    columns = points.shape[1]
    if columns < 2:
        return []
    medians = [float(np.nanmedian(c)) if (~np.isnan(c)).any() else 0.0 for c in points.T]
    found: dict[Predicate, None] = {}
    for _ in range(MOST_TRIES * most):
        row = points[dice.integers(len(points))]
        size = int(dice.integers(2, min(MOST_COLUMNS, columns) + 1))
        places = np.sort(dice.choice(columns, size, replace=False))
        predicate = tuple(_condition(int(p), row[p], bool(sight.weights[p] > 0), medians[p]) for p in places)
        if predicate not in found and len(matches(predicate, points)) == 1:
            found[predicate] = None
        if len(found) >= most:
            break
    return list(found)


def _condition(place: int, value: float, graded: bool, median: float) -> Condition:
    if np.isnan(value):
        return Condition(place, "missing")
    if not graded:
        return Condition(place, "=", float(value))
    return Condition(place, ">=" if value > median else "<=", float(value))


def uniform_public_rows(sight: AttackerView, rows: int, dice: np.random.Generator) -> Points:
    """Return rows drawn evenly from the public domain: what an attacker has who never saw the release."""
    drawn: list[FloatArray] = []
    for column in sight.columns:
        if column.is_ordered:
            low, high = (float(end) for end in column.numeric_bounds)
            values = dice.uniform(low, high, rows)
            values = np.rint(values) if column.is_discrete else values
        else:
            values = dice.integers(0, column.present_size, rows).astype(float)
        if column.missing:
            values[dice.random(rows) < MISSING_SHARE] = np.nan
        drawn.append(values)
    return np.column_stack(drawn)


@dataclass(frozen=True, eq=False)
class IsolationCounts:
    """Whom each predicate holds for, among people of the table and others."""

    members: list[IntArray]
    """Places in the pool of members, for each predicate."""
    others: list[IntArray] | None
    size: int
    """People on each side."""

    @property
    def hits(self) -> list[int]:
        """Places of the members who are isolated, one for each predicate that succeeds."""
        return [int(found[0]) for found in self.members if len(found) == 1]

    @property
    def blind_hits(self) -> int | None:
        """Predicates that isolate somebody who is not in the table."""
        return None if self.others is None else sum(len(found) == 1 for found in self.others)

    def chance(self, dice: np.random.Generator) -> float | None:
        """Return how likely so large a difference is where the release knows nothing of who is a member."""
        if self.others is None or not self.members:
            return None
        pairs = [(m, o + self.size) for m, o in zip(self.members, self.others, strict=True)]
        few = [np.concatenate(pair) for pair in pairs if 0 < len(pair[0]) + len(pair[1]) <= MANY]
        observed = sum((len(m) == 1) - int(len(o) == 1) for m, o in pairs if len(m) + len(o) <= MANY)
        return permutation_p_value(few, 2 * self.size, observed, dice)


def on_release(subject: AttackTargets, options: AttackOptions) -> Attempts:
    """Single out by predicates learnt from released rows, or by cells of released counts that show one person."""
    if subject.made is None:
        return _by_cells(subject)
    found: list[AttackAttempt] = []
    why: list[str] = []
    for number, (name, recipe) in enumerate(RECIPES):
        tried = _tried(subject, name, recipe, len(subject.members), subject.dice(10 + number))
        if isinstance(tried, AttackAttempt):
            found.append(tried)
        else:
            why.append(tried)
    return found, why


RECIPES: tuple[tuple[str, Recipe], ...] = (
    ("Singling out, one column", univariate_predicates),
    ("Singling out, several columns", multivariate_predicates),
)


def _tried(
    subject: AttackTargets, name: str, recipe: Recipe, tries: int, dice: np.random.Generator
) -> AttackAttempt | str:
    assert subject.made is not None
    predicates = recipe(subject.made.points, subject.sight, tries, dice)
    if len(predicates) < FEWEST:
        return f"{name}: left out, as only {len(predicates)} conditions hold for exactly one released row."
    places, held = subject.pools
    pool, others = subject.true.points[places], None if held is None else held.points
    isolated = IsolationCounts(
        [matches(each, pool) for each in predicates],
        None if others is None else [matches(each, others) for each in predicates],
        len(places),
    )
    blind = recipe(
        uniform_public_rows(subject.sight, len(subject.made), dice), subject.sight, min(tries, MOST_BLIND), dice
    )
    baseline = _share(blind, pool)
    return isolation_attempt(subject, name, isolated, baseline, dice, _whole(subject, predicates))


def isolation_attempt(
    subject: AttackTargets,
    name: str,
    isolated: IsolationCounts,
    baseline: float,
    dice: np.random.Generator,
    more: dict[str, float],
    sees: str = "values",
) -> AttackAttempt:
    """Return the attack with its chance, and the members who are isolated most often."""
    hits, trials, blind = isolated.hits, len(isolated.members), isolated.blind_hits
    rows, often = np.unique(np.array(hits, np.int64), return_counts=True)
    worst = rows[np.argsort(-often, kind="stable")[:MOST_WORST]]
    p = binomial_p_value(len(hits), trials, baseline) if blind is None else isolated.chance(dice)
    return AttackAttempt(
        name=name,
        criterion="singling out",
        threat=ThreatModel(goal=GOAL, knowledge=("nothing but the release",), sees=IN_WORDS[sees]),
        hits=len(hits),
        trials=trials,
        baseline=baseline,
        blind_hits=blind,
        blind_trials=trials,
        p=p,
        worst=subject.rows_named(subject.pools[0][worst]),
        people=isolated.size,
        more=more,
        notes=(SAME_WEIGHT, f"Among {isolated.size:,} people on each side."),
    )


def _share(predicates: Sequence[Predicate], pool: Points) -> float:
    return float(np.mean([len(matches(each, pool)) == 1 for each in predicates])) if predicates else 0.0


def _whole(subject: AttackTargets, predicates: Sequence[Predicate]) -> dict[str, float]:
    """Return how many isolate somebody of the whole table, where only some of its people are in the pool."""
    if len(subject.pools[0]) == len(subject.true):
        return {}
    return {"on the whole table": _share(predicates, subject.true.points)}


def _by_cells(subject: AttackTargets) -> Attempts:
    """Take every cell that shows one person as a statement that one person is in it."""
    name = "Singling out, cells that show one person"
    names, counts = max(subject.released_counts.items(), key=lambda item: len(item[1]))
    shown = np.flatnonzero(np.rint(counts) == 1)
    if len(shown) < FEWEST:
        return [], [f"{name}: left out, as only {len(shown)} cells show one person."]
    places, held = subject.pools
    dice = subject.dice(41)
    shown = np.sort(dice.permutation(shown)[: len(subject.members)])
    mine = subject.cells(subject.true.codes[places], names)
    others = None if held is None else _people_in(shown, subject.cells(held.codes, names))
    isolated = IsolationCounts(_people_in(shown, mine), others, len(places))
    baseline = float((np.bincount(mine, minlength=len(counts)) == 1).mean())
    tried = isolation_attempt(subject, name, isolated, baseline, dice, {}, "counts")
    notes = ("Baseline: cells of the same table taken by lot.", *tried.notes[1:])
    return [replace(tried, notes=notes)], []


def _people_in(cells: IntArray, own: IntArray) -> list[IntArray]:
    """Return for each of these cells the places of the people in it."""
    order = np.argsort(own, kind="stable")
    low, high = (np.searchsorted(own[order], cells, side=side) for side in ("left", "right"))
    return [order[a:b] for a, b in zip(low, high, strict=True)]
