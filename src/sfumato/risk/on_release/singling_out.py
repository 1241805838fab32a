"""Singling out: a predicate learnt from the release that exactly one person of the table fulfils.

A predicate of weight w among n people isolates one of them with chance n w (1 - w)^(n - 1), at most 37 %, although
nobody looked at these people (Cohen and Nissim, 2020). So a success says nothing by itself. Beside it stand the same
recipe fed with rows of the public domain (the baseline: predicates that isolate one of as many such rows), and the same
predicates on as many people who are not in the table (the control).

**The test.** Predicates share people, so that successes are not independent. But if the release knows nothing about who
is a member, members and others can change places: the labels "in the table" and "not in it" are dealt anew over the
pool of both, and the difference of successes is compared with the differences so found. That test is exact for any
number of predicates, however they overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import IntArray
from sfumato.metrics.rows_view import Points
from sfumato.risk.attacks.attack import ThreatModel
from sfumato.risk.attacks.attacker_view import IN_WORDS, AttackerView
from sfumato.risk.on_release.judge import binomial_p_value
from sfumato.risk.on_release.people import AttackTargets
from sfumato.risk.on_release.predicates import (
    Predicate,
    matches,
    multivariate_predicates,
    uniform_public_rows,
    univariate_predicates,
)
from sfumato.risk.on_release.result import MOST_WORST, PERMUTATIONS, AttackAttempt

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
Recipe = Callable[[Points, AttackerView, int, np.random.Generator], list[Predicate]]


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


def permutation_p_value(groups: Sequence[IntArray], people: int, observed: int, dice: np.random.Generator) -> float:
    """Return the share of deals in which members are isolated as often above others as observed, itself counted."""
    from scipy.sparse import csr_array

    if not groups:
        return 1.0
    ends = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
    who, columns = np.unique(np.concatenate(groups), return_inverse=True)
    table = csr_array((np.ones(ends[-1], np.int32), columns, ends), shape=(len(groups), len(who)))
    sizes = np.diff(ends)[:, None]
    labels = np.zeros((PERMUTATIONS, people), np.int32)
    labels[:, : people // 2] = 1
    inside: IntArray = table @ dice.permuted(labels, axis=1)[:, who].T
    differences = np.equal(inside, 1).sum(axis=0) - np.equal(sizes - inside, 1).sum(axis=0)
    return float((1 + (differences >= observed).sum()) / (PERMUTATIONS + 1))


def singling_out(subject: AttackTargets, tries: int) -> tuple[list[AttackAttempt], list[str]]:
    """Run both attacks on released rows; return also why one was left out."""
    kinds: tuple[tuple[str, Recipe], ...] = (
        ("Singling out, one column", univariate_predicates),
        ("Singling out, several columns", multivariate_predicates),
    )
    found: list[AttackAttempt] = []
    why: list[str] = []
    for number, (name, recipe) in enumerate(kinds):
        tried = _tried(subject, name, recipe, tries, subject.dice(10 + number))
        if isinstance(tried, AttackAttempt):
            found.append(tried)
        else:
            why.append(tried)
    return found, why


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
