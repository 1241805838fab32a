"""Membership inference by shadow models, nearest neighbour (GAN-Leaks) and density (DOMIAS).

**Simulated.** Logistic regression is trained on shadow releases of the method with and without the target, and tested
on fresh ones.

**On a given release** three attackers score a person by the released rows: how near the nearest of them is (Chen et
al., 2020, GAN-Leaks), how much denser they lie around the person than rows of other people do (van Breugel et al.,
2023, DOMIAS), and what a model says that was trained on shadow releases: the method run on people of the holdout, some
in and some out (Stadler et al., 2022).

Hits and false alarms of each half of the targets are counted with the threshold that the other half chose. Whether the
attack works is a test of its own, which uses all targets at once: the largest gap over all thresholds, in standard
deviations, beside the largest gaps after dealing the labels "in the table" and "not in it" anew. If the release knows
nothing about who is a member all deals are alike, so that the test is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.core.plan import Plan
from sfumato.errors import RiskError, SfumatoError
from sfumato.metrics.auc import roc_auc
from sfumato.metrics.confidence import LEVEL
from sfumato.metrics.evaluation_input import raw_rows
from sfumato.metrics.rows_view import Codes, Points
from sfumato.privacy.randomness import Randomness
from sfumato.risk.attacks import nearest_neighbours
from sfumato.risk.attacks.attack import (
    MOST_WORST,
    PERMUTATIONS,
    Attack,
    AttackAttempt,
    AttackOptions,
    Attempts,
    Criterion,
    ThreatModel,
    check_trials,
)
from sfumato.risk.attacks.attacker_view import BANDWIDTH, IN_WORDS
from sfumato.risk.attacks.attribute_inference import schema_of_half
from sfumato.risk.attacks.likelihood_ratio import MEMBERSHIP_GOAL
from sfumato.risk.simulated.membership_game import NEVER_RELEASED, chunks
from sfumato.table import read

if TYPE_CHECKING:
    from sfumato.risk.on_release.run import AttackTargets
    from sfumato.risk.simulated.worlds import ReleasedBatch, Score, Worlds

Features = Literal["target", "entropy-total"]
FEATURES = ("target", "entropy-total")
TINY = 1e-12
MOST_TYPICAL = 500
"""Other people by whom the width of the surroundings is chosen."""
PATIENCE = 40.0
"""Seconds that shadow releases may take by the plan where nobody asks for them."""
SHADOWS = 2
FEWEST_SHADOWED = 120
"""People of the holdout needed for shadow releases."""
KNOWS = "the target's record"
HALVES = (
    "Each half of the targets was called by the threshold that the other half chose. Guessing without the release has "
    "as many hits as false alarms."
)


@dataclass(frozen=True)
class ShadowModelAttack(Attack):
    """Logistic regression trained on shadow releases and tested on fresh ones.

    ``features="target"`` looks at what concerns the target: the counts of its cells, or the copies, nearest rows and
    density of rows around it, on values, and how many rows share its cells. ``features="entropy-total"`` is the attack
    of the REAEDP paper: entropy and total of the released counts, which hardly depend on one person. ``shadows`` is the
    number of training releases, as many as trials by default.
    """

    features: Features = "target"
    shadows: int | None = None

    threat: ClassVar[ThreatModel] = ThreatModel(
        goal=MEMBERSHIP_GOAL,
        knowledge=("every other record", "the target's record", "how to run the method on any table"),
    )
    criterion: ClassVar[Criterion] = "membership"

    def __post_init__(self) -> None:
        if self.features not in FEATURES:
            raise RiskError(f"unknown features {self.features!r}", next_step=f"use one of: {', '.join(FEATURES)}")

    @property
    def title(self) -> str:
        """What the attack is called."""
        features = "the target's surroundings" if self.features == "target" else "entropy and total"
        return f"Membership, logistic regression on {features}"

    def fits(self, worlds: Worlds) -> bool:
        """Whether the features can be read: entropy and total are those of counts."""
        return self.features == "target" or worlds.makes == "counts"

    def sees(self, worlds: Worlds) -> str:
        """Return what the attacker sees of a release, in words."""
        return worlds.seen if self.features == "target" else "entropy and total of the released counts"

    def view(self, worlds: Worlds) -> Worlds:
        """Return what concerns the target, or the whole release for its entropy and total."""
        if not self.fits(worlds):
            raise RiskError(f"{worlds.title} releases no counts", next_step="use ShadowModelAttack(features='target')")
        return worlds.essential() if self.features == "target" else worlds

    def releases(self, trials: int) -> int:
        """Return how often the method is run: to train, in each game, and for the control of every second one."""
        return 2 * ((self.shadows or trials) // 2) + trials + trials // 2

    def fit(self, worlds: Worlds, trials: int, randomness: Randomness) -> Score:
        """Return the score of a model that was trained on shadow releases, as many as trials by default."""
        check_trials(self.shadows or trials, LEVEL)
        half = (self.shadows or trials) // 2
        sides = [
            [self._features(worlds.draw(member, part, randomness)) for part in chunks(half, worlds.width)]
            for member in (False, True)
        ]
        seen = np.concatenate([part for side in sides for part in side])
        decide = logistic_regression(seen, np.repeat([0, 1], half))
        return lambda batch: decide(self._features(batch))

    def _features(self, drawn: ReleasedBatch) -> FloatArray:
        return drawn.features if self.features == "target" else entropy_and_total(drawn.vectors)


def entropy_and_total(counts: FloatArray) -> FloatArray:
    """Return the Shannon entropy in bits of each row of counts (negative ones as 0), and its total.

    >>> entropy_and_total(np.array([[1.0, 1.0, -1.0]])).tolist()
    [[1.0, 1.0]]
    """
    kept = np.maximum(counts, 0)
    totals = kept.sum(axis=1, keepdims=True)
    shares = kept / np.where(totals > 0, totals, 1.0)
    terms = shares * np.log2(np.where(shares > 0, shares, 1.0))
    return np.column_stack([-terms.sum(axis=1), counts.sum(axis=1)])


def logistic_regression(features: FloatArray, labels: Any, strength: float = 1.0) -> Callable[[FloatArray], FloatArray]:
    """Return the decision function of logistic regression on standardised features; a low strength learns less."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model: Any = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=1000))
    model.fit(features, labels)
    return lambda other: np.asarray(model.decision_function(other), float)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """How released rows, and rows of other people, lie around each person."""

    nearest: FloatArray
    density: FloatArray
    other_nearest: FloatArray
    other_density: FloatArray

    @property
    def ratio(self) -> FloatArray:
        """Log of how much denser the released rows lie than those of other people."""
        return np.log(self.density + TINY) - np.log(self.other_density + TINY)

    @property
    def features(self) -> FloatArray:
        """What a model learns from."""
        logs = [np.log(self.density + TINY), np.log(self.other_density + TINY)]
        return np.column_stack([self.nearest, self.nearest == 0, self.nearest - self.other_nearest, *logs])


def around(people: Points, made: Points, reference: Points, weights: FloatArray) -> Neighbourhood:
    """Look at the surroundings of each person, as wide as the nearest released row usually is for other people."""
    usual = float(np.median(nearest_neighbours.nearest(reference[:MOST_TYPICAL], made, weights)[1]))
    width = usual or BANDWIDTH
    sides = [
        (
            nearest_neighbours.nearest(people, rows, weights)[1],
            nearest_neighbours.densities(people, rows, weights, width),
        )
        for rows in (made, reference)
    ]
    return Neighbourhood(*sides[0], *sides[1])


def on_release(subject: AttackTargets, options: AttackOptions) -> Attempts:
    """Run the three attacks on released rows; return also why one was left out."""
    made, outside, held = subject.made, subject.outside, subject.held
    if made is None or outside is None or held is None:
        return [], []
    reference = held.points[subject.reference]
    weights, inside = subject.sight.weights, subject.inside
    sides = [around(side.points, made.points, reference, weights) for side in (inside, outside)]
    apart = np.flatnonzero(~np.isin(subject.others, subject.reference))
    found = [
        classify_members(subject, "Membership, nearest released row", (KNOWS,), -sides[0].nearest, -sides[1].nearest),
        classify_members(
            subject,
            "Membership, density ratio",
            (KNOWS, f"{len(reference):,} rows of people who are not in the table"),
            sides[0].ratio,
            sides[1].ratio[apart],
        ),
    ]
    model, why = _shadow(subject, options.shadows)
    if model is not None:
        knows = (KNOWS, f"{len(reference):,} rows of other people", "how to run the method on them")
        scores = [model(side.features) for side in sides]
        found.append(
            classify_members(subject, "Membership, shadow models", knows, scores[0], scores[1][apart], NEVER_RELEASED)
        )
    return found, why


def classify_members(
    subject: AttackTargets,
    name: str,
    knows: Sequence[str],
    inside: FloatArray,
    outside: FloatArray,
    *notes: str,
) -> AttackAttempt:
    """Call members whoever scores at least the threshold of the other half, and count."""
    lines = [threshold(inside[half::2], outside[half::2]) for half in (0, 1)]
    tested, blind = (np.concatenate([side[1::2] >= lines[0], side[::2] >= lines[1]]) for side in (inside, outside))
    best = np.argsort(-inside, kind="stable")[:MOST_WORST]
    return AttackAttempt(
        name=name,
        criterion="membership",
        threat=ThreatModel(goal=MEMBERSHIP_GOAL, knowledge=tuple(knows), sees=IN_WORDS["values"]),
        hits=int(tested.sum()),
        trials=len(tested),
        baseline=None,
        blind_hits=int(blind.sum()),
        blind_trials=len(blind),
        p=max_gap_p_value(inside, outside, subject.dice(2)),
        worst=subject.rows_named(subject.members[best[inside[best] >= min(lines)]]),
        more={"auc": roc_auc(inside, outside)},
        notes=(HALVES, *notes),
    )


def threshold(inside: FloatArray, outside: FloatArray) -> float:
    """Return the score from which on people are called members: where hits stand out most above false alarms.

    The gap is measured in standard deviations, so that few certain hits count as much as many uncertain ones.

    >>> threshold(np.array([0.0, 0.0, 5.0, 6.0]), np.array([0.0, 0.0, 0.1, 0.2]))
    5.0
    """
    scores = np.concatenate([inside, outside])
    order = np.argsort(-scores, kind="stable")
    gaps, ends = _gaps(scores[order], (order < len(inside))[None, :])
    return float(scores[order][ends][gaps[0].argmax()])


def max_gap_p_value(inside: FloatArray, outside: FloatArray, dice: np.random.Generator) -> float:
    """Return how likely so large a gap at the best threshold is where the scores know nothing of who is a member.

    >>> max_gap_p_value(np.arange(30.0), np.arange(30.0) - 40, np.random.default_rng(1))
    0.001
    """
    scores = np.concatenate([inside, outside])
    order = np.argsort(-scores, kind="stable")
    labels = np.tile(order < len(inside), (PERMUTATIONS + 1, 1))
    labels[1:] = dice.permuted(labels[1:], axis=1)
    largest = _gaps(scores[order], labels)[0].max(axis=1)
    return float((largest >= largest[0] - TINY).mean())


def _gaps(falling: FloatArray, labels: Any) -> tuple[FloatArray, Codes]:
    """Return (h - f) / sqrt(p (1 - p)), p the share of all who are called, for every threshold and every deal."""
    ends = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
    hits, called_ = np.cumsum(labels, axis=1)[:, ends], ends + 1.0
    people, members = len(falling), int(labels[0].sum())
    gap = hits / members - (called_ - hits) / (people - members)
    shares = np.clip(called_ / people, 0.5 / people, 1 - 0.5 / people)
    return gap / np.sqrt(shares * (1 - shares)), ends


def _shadow(subject: AttackTargets, shadows: int | None) -> tuple[Any, list[str]]:
    """Return a model trained on shadow releases, or why there is none."""
    method, table = subject.was.method, subject.holdout_table
    if method is None or table is None:
        return None, ["Shadow models: left out, as nobody says by which method the rows were made."]
    if shadows == 0:
        return None, ["Shadow models: left out, as asked."]
    people = len(subject.reference)
    if people < FEWEST_SHADOWED:
        return None, [f"Shadow models: left out, as {people} people of the holdout are too few to run the method on."]
    try:
        plan = method.plan(schema_of_half(table.schema, people // 3), None, "seeded")
        count = SHADOWS if shadows is None else shadows
        if shadows is None and count * (plan.seconds or 0.0) > PATIENCE:
            return None, [_affordable_shadows(method.name, plan.seconds or 0.0)]
        return _trained(subject, plan, count), []
    except SfumatoError as error:
        return None, [
            f"Shadow models: left out, as {method.name} does not run on part of the holdout: {error.headline}."
        ]


def _affordable_shadows(method: str, seconds: float) -> str:
    return (
        f"Shadow models: left out, as the plan allows {seconds:.0f} s for each run of {method}; --shadows {SHADOWS} "
        f"(shadows={SHADOWS}) runs it all the same."
    )


def _trained(subject: AttackTargets, plan: Plan, shadows: int) -> Any:
    """Run the method on a third of the reference again and again; learn who was in, by what the rows show."""
    assert subject.held is not None and subject.holdout_table is not None and subject.was.method is not None
    dice, sight = subject.dice(1), subject.sight
    people, raw = subject.held.points, raw_rows(subject.holdout_table)
    schema = schema_of_half(subject.schema, len(subject.reference) // 3)
    seen: list[FloatArray] = []
    labels: list[FloatArray] = []
    for _ in range(shadows):
        thirds = np.array_split(dice.permutation(subject.reference), 3)
        inner = thirds[0][: len(subject.reference) // 3]
        table = read(raw.take(inner), schema)
        run = Randomness.of(int(dice.integers(2**31)))
        made = sight.read(next(iter(subject.was.method.run(table, plan, run).tables.values()))).points
        for label, side in ((1.0, inner), (0.0, thirds[1])):
            seen.append(around(people[side], made, people[thirds[2]], sight.weights).features)
            labels.append(np.full(len(side), label))
    return logistic_regression(np.concatenate(seen), np.concatenate(labels))
