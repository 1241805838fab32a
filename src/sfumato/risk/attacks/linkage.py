"""Linkage by fresh references, by nearest synthetic row, and of two files through a release.

>>> from sfumato.privacy.noise_distributions import Geometric
>>> from sfumato.risk.simulated import CountWorlds
>>> pair = CountWorlds.of([10, 4, 7], [10, 5, 7], Geometric(8.0), epsilon=8.0)
>>> FreshReferenceLinkage().run(pair, trials=200, seed=1).succeeds
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.confidence import LEVEL
from sfumato.metrics.rows_view import Codes, Observes, RowsView, check_observes
from sfumato.risk.attacks import nearest_neighbours
from sfumato.risk.attacks.attack import (
    MOST_WORST,
    Attack,
    AttackAttempt,
    AttackOptions,
    AttackResult,
    Attempts,
    Criterion,
    ThreatModel,
)
from sfumato.risk.attacks.attacker_view import IN_WORDS, AttackerView, schema_of
from sfumato.risk.simulated.membership_game import seeded_stream
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.privacy.randomness import Randomness
    from sfumato.risk.on_release.run import AttackTargets
    from sfumato.risk.simulated.worlds import ReleasedBatch, Score, Worlds


@dataclass(frozen=True)
class FreshReferenceLinkage(Attack):
    """Release both candidate tables afresh and name the one whose release is nearer, in Euclidean distance.

    The references never are the observed release itself: compared with itself a release is at distance 0, and the
    attack would "succeed" without learning anything. With several ``references`` their mean is compared.
    """

    references: int = 1

    threat: ClassVar[ThreatModel] = ThreatModel(
        goal="to know which of two tables was released",
        knowledge=("both candidate tables", "how to run the method, with other noise than that of the release"),
    )
    criterion: ClassVar[Criterion] = "linkability"

    def __post_init__(self) -> None:
        if isinstance(self.references, bool) or self.references < 1:
            raise RiskError(f"references must be at least 1, found {self.references!r}", next_step="use references=1")

    @property
    def title(self) -> str:
        """What the attack is called."""
        return "Linkage with fresh references"

    def fit(self, worlds: Worlds, trials: int, randomness: Randomness) -> Score:
        """Return by how much a release is nearer to references with the target than to those without."""

        def nearer(batch: ReleasedBatch) -> FloatArray:
            inside = self._distance(worlds, True, batch.vectors, randomness)
            return self._distance(worlds, False, batch.vectors, randomness) - inside

        return nearer

    def releases(self, trials: int) -> int:
        """Return how often the method is run: each game, and the control of every second one, with its references."""
        return (trials + trials // 2) * (1 + 2 * self.references)

    def _distance(self, worlds: Worlds, member: bool, observed: FloatArray, randomness: Randomness) -> FloatArray:
        reference = np.zeros_like(observed)
        for _ in range(self.references):
            reference += worlds.draw(member, len(observed), randomness).vectors / self.references
        return np.sqrt(((observed - reference) ** 2).sum(axis=1))


@dataclass(frozen=True)
class NearestRowLinkage:
    """Link each original row to the nearest synthetic one, by the columns that the attacker knows.

    For synthesizers that keep the order of the rows, so that row i of the synthetic table comes from row i of the
    original. The attacker sees values; with ``sees="bins"`` only the public bins of ordered ones. Where several
    synthetic rows are equally near, one of them is drawn: the rate is exact, without a draw.
    """

    columns: Sequence[str]
    top: int = 10
    sees: Observes = "values"

    threat: ClassVar[ThreatModel] = ThreatModel(
        goal="to find the synthetic row that was made from a person's record",
        knowledge=("the person's values in the named columns", "that rows were made one from one"),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        check_observes(self.sees)
        if not self.columns or isinstance(self.top, bool) or self.top < 1:
            raise RiskError("columns must be named and top be at least 1", next_step="use for example top=10")

    def run(
        self,
        original: Any,
        synthetic: Any,
        schema: Schema | None = None,
        *,
        level: float = LEVEL,
        seed: int | None = None,
    ) -> AttackResult:
        """Return the share of rows whose nearest synthetic row is their own; the control deals the rows anew."""
        sight = AttackerView(schema_of(original, schema), self.columns, self.sees)
        left, right = (sight.read(rows).points for rows in (original, synthetic))
        if len(left) != len(right) or not len(left):
            raise RiskError(
                f"the tables must have the same rows one by one, found {len(left):,} and {len(right):,}",
                next_step="give a synthetic table that was made row by row from the original",
            )
        dealt = seeded_stream(seed).generator.permutation(len(right))
        first, within = _shares(*sight.ranks(left, right), self.top)
        control, _ = _shares(*sight.ranks(left, right[dealt]), self.top)
        n, top = len(first), min(self.top, len(first))
        return AttackResult.of_counts(
            float(first.sum()),
            n,
            float(control.sum()),
            n,
            level,
            attack=f"Linkage of rows by {', '.join(self.columns)}",
            threat=self.threat.seeing(IN_WORDS[self.sees]),
            baseline=1 / n,
            more={f"top {top}": float(within.mean()), f"top {top} baseline": top / n},
        )


def _shares(nearer: Codes, level_with: Codes, top: int) -> tuple[FloatArray, FloatArray]:
    """Return for each row the chance that its own synthetic row is drawn first, and among the first ``top``."""
    first = np.where(nearer == 0, 1 / level_with, 0.0)
    return first, np.clip((top - nearer) / level_with, 0.0, 1.0)


def on_release(subject: AttackTargets, options: AttackOptions) -> Attempts:
    """Join two files about the same people through the release: is the nearest row by one half that by the other?"""
    first, second = options.parts or _parts(subject)
    if subject.made is None or not first or not second:
        return [], ["Linkage: left out, as it needs released rows of two columns at least."]
    dice = subject.dice(20)
    halves = [_half(subject, names, dice) for names in (first, second)]
    linked = [_linked(subject, side, halves) for side in (subject.inside, subject.outside) if side is not None]
    agree = [first == second for first, second in linked]
    knowledge = (f"a file with {', '.join(first)} of every person", f"a second file with {', '.join(second)}")
    attempt = AttackAttempt.on_people(
        "Linkage of two files through the release",
        "linkability",
        ThreatModel(goal="to join two files about the same people", knowledge=knowledge, sees=IN_WORDS["values"]),
        agree[0],
        agree[1] if len(agree) > 1 else None,
        _permutation_baseline(*linked[0], len(subject.made)),
        subject.rows_named(subject.members[np.flatnonzero(agree[0])[:MOST_WORST]]),
        "Baseline: the rows of the second file dealt anew.",
    )
    return [attempt], []


def _parts(subject: AttackTargets) -> tuple[list[str], list[str]]:
    """Return what each of two files holds: quasi-identifiers and the rest, or every second column."""
    known = [name for name in subject.schema.with_role("quasi-identifier") if name in subject.names]
    rest = [name for name in subject.names if name not in known]
    return (known, rest) if known and rest else (list(subject.names[::2]), list(subject.names[1::2]))


def _half(
    subject: AttackTargets, names: Sequence[str], dice: np.random.Generator
) -> tuple[AttackerView, list[int], Codes]:
    """Return how one file is looked at, and released rows in an order of its own: ties are broken by lot."""
    assert subject.made is not None
    unknown = [name for name in names if name not in subject.names]
    if unknown:
        raise RiskError(
            f"the release has no column {', '.join(map(repr, unknown))}",
            next_step=f"name some of: {', '.join(subject.names)}",
        )
    places = [subject.names.index(name) for name in names]
    return AttackerView(subject.schema, names), places, dice.permutation(len(subject.made))


def _linked(
    subject: AttackTargets, people: RowsView, halves: list[tuple[AttackerView, list[int], Codes]]
) -> tuple[Codes, Codes]:
    """Return for each person the released row that is nearest by each half."""
    assert subject.made is not None
    found: list[Codes] = []
    for sight, places, order in halves:
        rows = np.ascontiguousarray(subject.made.points[order][:, places])
        near, _ = nearest_neighbours.nearest(np.ascontiguousarray(people.points[:, places]), rows, sight.weights)
        found.append(order[near])
    return found[0], found[1]


def _permutation_baseline(first: Codes, second: Codes, rows: int) -> float:
    """Return how often both halves meet where the second file is dealt anew: the mean over all deals."""
    counts = [np.bincount(side, minlength=rows) for side in (first, second)]
    return float((counts[0] * counts[1]).sum()) / len(first) ** 2
