"""An attack on a release that exists: what was tried, how it went, and how likely that is by chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from sfumato.arrays import BoolArray, IntArray
from sfumato.risk.attacks.attack import Criterion, ThreatModel

if TYPE_CHECKING:
    from sfumato.risk.on_release.people import AttackTargets

PERMUTATIONS = 999
"""How often labels are dealt anew where a test is made by dealing."""
MOST_WORST = 10
"""Records that an attack names."""


@dataclass(frozen=True)
class AttackAttempt:
    """An attack as it went, before it is judged together with the others."""

    name: str
    criterion: Criterion
    threat: ThreatModel
    hits: float
    trials: int
    baseline: float | None
    """What the attacker reaches without the release; none where it is what the control has."""
    blind_hits: float | None = None
    blind_trials: int = 0
    """The same on people who are not in the table."""
    p: float | None = None
    """How likely so large a difference is if the release knows nothing about its members."""
    worst: tuple[int, ...] = ()
    people: int = 1
    """Among how many people one success is counted; 1 where each trial is about a person of its own."""
    more: Mapping[str, float] = field(default_factory=dict[str, float])
    notes: tuple[str, ...] = ()

    @classmethod
    def on_people(
        cls,
        name: str,
        criterion: Criterion,
        threat: ThreatModel,
        members: BoolArray,
        others: BoolArray | None,
        baseline: float | None,
        worst: Sequence[int],
        *notes: str,
    ) -> AttackAttempt:
        """Return an attempt with a trial for each person: who of the members, and who of the others, succeeds.

        The chance is that of Fisher's exact test against the others, or without them of so many successes by guessing.
        """
        hits, trials = int(members.sum()), len(members)
        blind, others_trials = (None, 0) if others is None else (int(others.sum()), len(others))
        guessing = baseline or 0.0
        return cls(
            name=name,
            criterion=criterion,
            threat=threat,
            hits=hits,
            trials=trials,
            baseline=baseline,
            blind_hits=blind,
            blind_trials=others_trials,
            p=binomial_p_value(hits, trials, guessing)
            if blind is None
            else fisher_p_value(hits, trials, blind, others_trials),
            worst=tuple(worst),
            notes=notes,
        )


class AttackOptions(NamedTuple):
    """What the user says of the attackers."""

    secret: Sequence[str] | None = None
    """Columns to be guessed."""
    known: Sequence[str] | None = None
    """Columns that they are guessed from."""
    parts: tuple[Sequence[str], Sequence[str]] | None = None
    """What two files hold that are joined through the release."""
    shadows: int | None = None
    """How often the method is run on people of the holdout."""


Attempts = tuple[list[AttackAttempt], list[str]]
"""What was tried, and why something was left out."""


class ReleaseAttack(NamedTuple):
    """An attack in the harness on a given release: which releases it reads, and the function that tries it."""

    name: str
    reads: tuple[Literal["rows", "counts"], ...]
    attempt: Callable[[AttackTargets, AttackOptions], Attempts]


def fisher_p_value(hits: float, trials: int, others: float, others_trials: int) -> float:
    """Return Fisher's exact chance of at least so many of all successes among the members.

    >>> round(fisher_p_value(5, 5, 0, 5), 4)
    0.004
    """
    from scipy.stats import hypergeom

    successes, everybody = round(hits + others), trials + others_trials
    return float(hypergeom.sf(round(hits) - 1, everybody, successes, trials))


def binomial_p_value(hits: float, trials: int, baseline: float) -> float:
    """Return the chance of at least so many successes where each has the chance of the baseline."""
    from scipy.stats import binom

    return float(binom.sf(round(hits) - 1, trials, baseline))


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
