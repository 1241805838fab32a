"""Likelihood-ratio attack on noisy counts, and its exact accuracy (Neyman-Pearson).

Two equally likely tables give release laws P and Q. The likelihood-ratio test is right in (1 + TV) / 2 of all games,
where TV is the total variation distance of P and Q, and no other test is right more often (Neyman and Pearson 1933).

**On a given release** the attacker knows every other record and the law of the noise. Everybody in a cell meets the
same noise. So at most one target is taken from each cell of each released table: then all scores are independent, and
the exact intervals hold. The threshold is 0, which needs no choosing. Who is not in the table can be anybody: the score
depends on the noise alone, so that without a holdout people of the public domain take its place.

>>> from sfumato.privacy.noise_distributions import Geometric
>>> from sfumato.risk.simulated import CountWorlds
>>> pair = CountWorlds.of([10, 4, 7], [10, 5, 7], Geometric(1.0), epsilon=1.0)
>>> result = LikelihoodRatio().run(pair, trials=2000, seed=1)
>>> result.optimal in result.interval, result.refutes_claim
(True, False)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts, FloatArray, IntArray
from sfumato.errors import RiskError
from sfumato.metrics.rows_view import Codes
from sfumato.privacy.noise_distributions import DiscreteGaussian, Gaussian, Geometric, Laplace
from sfumato.risk.attacks.attack import (
    MOST_WORST,
    Attack,
    AttackAttempt,
    AttackOptions,
    Attempts,
    Criterion,
    ThreatModel,
)
from sfumato.risk.attacks.attacker_view import IN_WORDS

if TYPE_CHECKING:
    from sfumato.privacy.randomness import Randomness
    from sfumato.risk.on_release.run import AttackTargets
    from sfumato.risk.simulated.worlds import Score, Worlds

MEMBERSHIP_GOAL = "to know whether the target's record is in the table"
FEWEST = 20
"""People in cells of their own from which on the attack is tried on a release."""
Law = Laplace | Geometric | Gaussian | DiscreteGaussian
MOST_TERMS = 5_000_000
SAME_LOSS = 1e-9
"""Log-likelihood ratios closer than this are one outcome: sums of equal noise scales meet again."""


@dataclass(frozen=True)
class LikelihoodRatio(Attack):
    """The best of all attacks on noisy counts: compare the likelihoods of the release in both worlds."""

    threat: ClassVar[ThreatModel] = ThreatModel(
        goal=MEMBERSHIP_GOAL,
        knowledge=("every other record", "the target's record", "the mechanism and its noise, exactly"),
    )
    criterion: ClassVar[Criterion] = "membership"

    @property
    def title(self) -> str:
        """What the attack is called."""
        return "Membership, likelihood ratio"

    def fits(self, worlds: Worlds) -> bool:
        """Whether the law of what is released is known."""
        return worlds.log_ratio is not None

    def view(self, worlds: Worlds) -> Worlds:
        """Return the cells that differ; refuse releases whose likelihood is not known."""
        if not self.fits(worlds):
            raise RiskError(
                f"the likelihood of what {worlds.title} releases is not known",
                next_step="use ShadowModelAttack() for it; LikelihoodRatio needs Histogram, Contingency or CountWorlds",
            )
        return worlds.essential()

    def fit(self, worlds: Worlds, trials: int, randomness: Randomness) -> Score:
        """Return the log of the likelihood ratio: nothing has to be learnt."""
        ratio = worlds.log_ratio
        assert ratio is not None  # refused by view
        return lambda batch: ratio(batch.vectors)


def count_log_ratio(law: Law, values: FloatArray, within: Counts, without: Counts, clamped: bool) -> FloatArray:
    """Return the log of how much likelier each released count is with the target than without, cell by cell."""
    ratio = log_density(law, values - within) - log_density(law, values - without)
    if not clamped:
        return ratio
    floor = np.log(np.maximum(law.cdf(-within), 1e-300)) - np.log(np.maximum(law.cdf(-without), 1e-300))
    return np.where(values <= 0, floor, ratio)


def noise_distribution(kind: str, scale: float) -> Law:
    """Return the law of the noise that an event records."""
    return Geometric(1 / scale) if kind == "discrete-laplace" else DiscreteGaussian(scale)


def optimal_accuracy(
    noise: Law | Sequence[Law], shifts: Sequence[int] = (1,), zeros: Sequence[int] | None = None
) -> float:
    """Return how often the best attacker tells two tables apart whose counts differ by ``shifts``, cell by cell.

    ``noise`` is one law for all cells, or one for each. ``Laplace`` and ``Gaussian`` are read as continuous, not
    rounded; the discrete laws are what Sfumato releases. ``zeros`` are the counts without the target where negative
    released counts are clamped to 0. (1,) is one record more; (1, 1) one record less here and one more there.

    >>> from sfumato.privacy.noise_distributions import Geometric, Laplace
    >>> round(optimal_accuracy(Laplace(1.0), (1, 1)), 4), round(optimal_accuracy(Laplace(1.0)), 4)
    (0.7241, 0.6967)
    >>> round(optimal_accuracy(Geometric(1.0)), 6)   # the ceiling itself
    0.731059
    """
    moved = [(law, abs(shift)) for law, shift in zip(_laws(noise, len(shifts)), shifts, strict=True) if shift]
    if not moved:
        return 0.5
    laws = [law for law, _ in moved]
    if all(isinstance(law, Geometric | DiscreteGaussian) for law in laws):
        return _sum_over_outcomes(noise, shifts, zeros)
    if zeros is None and all(isinstance(law, Gaussian) for law in laws):
        return _gaussian(moved)
    if zeros is None and all(isinstance(law, Laplace) for law in laws):
        return _laplace(moved)
    raise RiskError(
        "no exact optimum is known for this mixture of laws",
        next_step="use laws of one kind; clamped counts need Geometric or DiscreteGaussian noise",
    )


def _laws(noise: Law | Sequence[Law], cells: int) -> Sequence[Law]:
    if not isinstance(noise, Sequence):
        return [noise] * cells
    if len(noise) != cells:
        raise RiskError(f"{cells} shifts need {cells} laws, found {len(noise)}", next_step="give one law per shift")
    return noise


def _gaussian(moved: Sequence[tuple[Law, int]]) -> float:
    squares = math.fsum((shift / law.sigma) ** 2 for law, shift in moved if isinstance(law, Gaussian))
    return 0.5 * math.erfc(-math.sqrt(squares) / 2 / math.sqrt(2))


def _laplace(moved: Sequence[tuple[Law, int]]) -> float:
    rates = [shift * law.epsilon / law.sensitivity for law, shift in moved if isinstance(law, Laplace)]
    if len(rates) == 1:
        return 1 - math.exp(-rates[0] / 2) / 2
    if len(rates) == 2 and math.isclose(*rates):
        return 1 - math.exp(-rates[0]) * (0.5 + rates[0] / 4)
    raise RiskError(
        "continuous Laplace noise has a closed form for one cell, or two cells that move alike",
        next_step="use Geometric, what Sfumato releases: any cells are summed exactly",
    )


def _sum_over_outcomes(noise: Law | Sequence[Law], shifts: Sequence[int], zeros: Sequence[int] | None) -> float:
    """Sum over all outcomes, cell by cell; outcomes of equal likelihood ratio are merged on the way."""
    laws = _laws(noise, len(shifts))
    p, q, losses = np.ones(1), np.ones(1), np.zeros(1)
    for i, (law, shift) in enumerate(zip(laws, shifts, strict=True)):
        if not shift:
            continue
        fresh = outcome_probabilities(law, shift, None if zeros is None else zeros[i])
        if len(p) * len(fresh[0]) > MOST_TERMS:
            raise RiskError(
                f"the exact optimum needs more than {MOST_TERMS:,} terms", next_step="measure it with LikelihoodRatio()"
            )
        p, q = np.outer(p, fresh[0]).ravel(), np.outer(q, fresh[1]).ravel()
        p, q, losses = _merged(p, q, np.add.outer(losses, fresh[2]).ravel())
    return float(0.5 + np.abs(p - q).sum() / 4)


def outcome_probabilities(law: Law, shift: int, zero: int | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the probabilities of one released count with and without the target, and their log ratio, merged."""
    reach = law.reach() + abs(shift)
    noise = np.arange(-reach, reach + 1)
    low = -reach if zero is None else max(-zero, -reach)
    noise = noise[noise >= low]
    q, p = law.pmf(noise), law.pmf(noise - shift)
    losses = log_density(law, noise - shift) - log_density(law, noise)
    q[0], p[0] = law.cdf(low), law.cdf(low - shift)
    if zero is not None:
        losses[0] = np.log(max(float(p[0]), 1e-300)) - np.log(max(float(q[0]), 1e-300))
    return _merged(p, q, losses)


def log_density(law: Law, noise: NDArray[np.generic]) -> FloatArray:
    """Return the log density of noise, up to a constant of the law."""
    values = noise.astype(float)
    if isinstance(law, Laplace | Geometric):
        return -np.abs(values) * (law.epsilon / law.sensitivity)
    return -(values**2) / (2 * law.sigma**2)


def _merged(p: FloatArray, q: FloatArray, losses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    keys, place = np.unique(np.round(losses / SAME_LOSS), return_inverse=True)
    sums = [np.asarray(np.bincount(place.ravel(), mass, len(keys)), float) for mass in (p, q)]
    return sums[0], sums[1], keys * SAME_LOSS


def on_release(subject: AttackTargets, options: AttackOptions) -> Attempts:
    """Call a member whoever makes the released counts likelier; return also why that was left out."""
    method: Any = subject.was.method
    if method is None or not has_known_count_noise(method) or subject.schema.person is not None:
        return [], ["Likelihood ratio: left out, as the law of these counts for one row is not known exactly."]
    generator = subject.dice(40)
    outside = subject.outside
    strangers = _anybody(subject, generator) if outside is None else outside.codes
    chosen, cells = _one_target_per_cell(subject, strangers, generator)
    member = chosen < len(subject.inside)
    scores = _scores(subject, cells, member)
    inside, blind = scores[member], scores[~member]
    if min(len(inside), len(blind)) < FEWEST:
        few = min(len(inside), len(blind))
        return [], [f"Likelihood ratio: left out, as only {few} people lie in cells of their own."]
    best = np.argsort(-inside, kind="stable")[:MOST_WORST]
    attempt = AttackAttempt.on_people(
        LikelihoodRatio().title,
        "membership",
        LikelihoodRatio.threat.seeing(IN_WORDS["counts"]),
        inside > 0,
        blind > 0,
        None,
        subject.rows_named(subject.members[chosen[member][best]]),
        "One target from each cell, so that each meets noise of its own.",
    )
    return [attempt], []


def has_known_count_noise(method: Any) -> bool:
    """Whether a release of this method is nothing but counts with recorded noise: its best attack is known exactly."""
    from sfumato.mechanisms.counts.contingency import Contingency
    from sfumato.mechanisms.counts.histogram import Histogram

    return type(method) in (Histogram, Contingency) and not getattr(method, "synthetic", False)


def _anybody(subject: AttackTargets, dice: np.random.Generator) -> Codes:
    sizes = [column.size for column in subject.sight.columns]
    return dice.integers(0, sizes, (len(subject.inside), len(sizes)))


def _one_target_per_cell(
    subject: AttackTargets, strangers: Codes, dice: np.random.Generator
) -> tuple[IntArray, dict[tuple[str, ...], IntArray]]:
    """Return targets of whom no two share a cell, members and strangers in turn, and their cells."""
    codes = np.concatenate([subject.inside.codes, strangers])
    cells = {names: subject.cells(codes, names) for names in subject.was.tables}
    mine, theirs = dice.permutation(len(subject.inside)), len(subject.inside) + dice.permutation(len(strangers))
    waiting = {True: list(mine), False: list(theirs)}
    taken: dict[tuple[str, ...], set[int]] = {names: set() for names in cells}
    chosen: list[int] = []
    turn = True
    while waiting[True] and waiting[False]:
        who = waiting[turn].pop()
        if all(int(cells[names][who]) not in taken[names] for names in cells):
            chosen.append(int(who))
            for names in cells:
                taken[names].add(int(cells[names][who]))
            turn = not turn
    order = np.array(sorted(chosen), np.int64)
    return order, {names: own[order] for names, own in cells.items()}


def _scores(subject: AttackTargets, cells: dict[tuple[str, ...], IntArray], member: Any) -> FloatArray:
    """Return the log of how much likelier the release is with each target than without."""
    method: Any = subject.was.method
    sets = [tuple(names) for names in method.measurement().sets]
    parts = [(event.kind, part.scale) for event in subject.was.events for part in event.parts]
    true, made = subject.table.marginals(sets), subject.released_counts
    total = np.zeros(len(member))
    for names, (kind, scale) in zip(sets, parts, strict=True):
        own = cells[names]
        without = true[names].ravel()[own] - member
        total += count_log_ratio(
            noise_distribution(kind, scale), made[names][own], without + 1, without, method.nonnegative
        )
    return total
