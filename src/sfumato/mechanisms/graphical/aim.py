"""AIM (McKenna, Mullins, Sheldon and Miklau 2022): select, measure and estimate marginals in rounds.

1. Initialise: measure every one-way marginal (:func:`~.one_way_marginals.measure_one_way_marginals`).
2. Compile the workload: the marginals that may be measured, with weights (:func:`~.candidates.compile_candidates`).
3. Per round: select the marginal that the model approximates worst by the exponential mechanism
   (:func:`worst_approximated`), measure it with discrete Gaussian noise (:meth:`~.candidates.Candidates.measure`), and
   estimate the model again by mirror descent on the junction tree (:meth:`~.candidates.Candidates.estimate`). A pair
   that was measured may be selected again to have groups of one column cut (:mod:`~.sharpening`).
4. Sample rows from the last model.

Steps 1, 2 and 4 are shared with MST (:mod:`~sfumato.mechanisms.graphical.method`); step 3 is :func:`run_aim`. Three
changes to the paper were measured to help: columns are compressed first, fits start from the last model, and noise
never shrinks so fast that fewer than ``least_rounds`` rounds are left.

Proof note. Adjacency: the schema's. One person moves the counts of every marginal by at most D in L2 and S in L1
(:class:`~.candidates.Candidates`). Each round pays from its :class:`~sfumato.mechanisms.graphical.budget.Budget` before
it draws: a selection by the exponential mechanism, one more of the cuts where a pair is sharpened, and one marginal
with discrete Gaussian noise. Everything else that decides (the model, sigma, what is offered, how often single columns
are measured) is computed from public facts and earlier noisy answers. So the run is (epsilon, delta)-DP by the theorem
of :mod:`sfumato.privacy.accounting.gaussian_and_selection`. Public: column sizes, weights, limits, the totals.

All pairs at once (:func:`measure_all_pairs`) makes no selections: every two-way marginal gets the same discrete
Gaussian noise, and a mixture of products, whose size does not depend on which marginals were measured, is fitted to all
of them. Costs are paid from the same budget; with nothing spent on selections its theorem is that of Gaussian noise
alone, exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, prod
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.argument_errors import checked_parameters
from sfumato.core.method import Makes
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.candidates import Candidates
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, model_marginals
from sfumato.mechanisms.graphical.exponential_mechanism import (
    expected_noise_l1,
    select_cuts,
    select_marginal,
    selection_rate,
)
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique, ModelSize
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement
from sfumato.mechanisms.graphical.method import (
    DISCRETISATIONS,
    Algorithm,
    Bins,
    FittedMarginals,
    GraphicalMethod,
    RoundLog,
    RoundSettings,
    Watch,
    measure_equally,
)
from sfumato.mechanisms.graphical.mixture.fit import Backend, MixtureSettings, require_jax
from sfumato.mechanisms.graphical.mixture.model import AveragedModel, MixtureModel, fit_mixture
from sfumato.mechanisms.graphical.plan import BYTES_PER_CELL, LARGEST_TABLE, GraphicalPlan, chosen_names
from sfumato.mechanisms.graphical.sharpening import Gains, Sharpening, handicap, sharpening_score
from sfumato.mechanisms.graphical.workload import check_workload, largest_clique
from sfumato.privacy.exact import Number, to_fraction, to_positive_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema

ONE_WAY_SHARE, MOST_ONE_WAY_SHARE, SELECTION_SHARE = Fraction(1, 4), Fraction(3, 5), Fraction(1, 20)
MEGABYTES = 4.0
PAIR_STEPS, LARGER_STEPS = 40, 50
"""Steps of the fit after each round. These and the shares above were chosen on one table, Adult."""
CUT_COST = 3
"""What selecting the cuts may cost, in selections of a round, and at most a quarter of what is left for selections."""
FIRST_SHARES = 3
"""Marginals that are measured before any is selected get this many shares of a first round."""
FEW_LARGER = 500
"""Up to so many marginals of more than two columns are offered in every round; of more only now and then, for time."""
ALL_CANDIDATES, SOME_CANDIDATES = 12_000, 2_000
"""Candidates up to which a round weighs all of them (all pairs of 100 columns at two resolutions); of more, this many.
"""
ModelName = Literal["auto", "tree", "mixture", "both"]


@checked_parameters
@dataclass(frozen=True)
class AIM(GraphicalMethod):
    """A synthetic table from a graphical model of noisy marginals, selected in rounds where the model fits worst.

    The method to reach for first. ``workload`` says which marginals shall be kept: "auto" (every pair, and sets of
    three and four columns at few groups, selected in private), "2-way", "3-way", column sets, or a mapping of column
    sets to weights. ``target`` names columns that readers will predict (the schema's role "target" unless given): the
    larger sets are then those around them. ``bins`` "adaptive" cuts ordered columns by noisy counts, "schema" by the
    schema's own bins. ``model_megabytes`` bounds the model: more keeps more structure and takes more time. ``model``
    "tree", the default ("auto"), fits a junction tree; "both" averages it with a mixture of products fitted to the same
    marginals; "mixture" measures all pairs once, without rounds, for tables whose columns hang together too closely for
    a tree; ``backend`` "jax" fits the mixture on whatever device JAX finds. With ``rows=None`` the number of rows is
    the noisy total (the public row count under replace). Rules between columns are kept in every row. ``delta`` is 1e-9
    unless it is given.

    Proof: :mod:`sfumato.mechanisms.graphical.aim`.
    """

    epsilon: Number
    delta: Number | None = None
    columns: Sequence[str] | None = None
    workload: Any = "auto"
    model_megabytes: Number | None = None
    bins: Bins = "adaptive"
    model: ModelName = "auto"
    backend: Backend = "numpy"
    rounding: bool = True
    target: str | Sequence[str] | None = None

    name: ClassVar[str] = "aim"
    summary: ClassVar[str] = "a synthetic table of any columns, from marginals chosen where the model fits worst"
    about: ClassVar[str] = (
        "They were drawn from a model of noisy tables, not copied from the table; one may equal a true row by chance."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        self._check_parameters()
        if self.model_megabytes is not None:
            to_positive_fraction(self.model_megabytes, "model_megabytes")
        if self.model not in ("auto", *ALGORITHMS):
            raise PlanError(f"model {self.model!r} is unknown", next_step=f"use one of auto, {', '.join(ALGORITHMS)}")
        if self.backend not in ("numpy", "jax"):
            raise PlanError(f"backend {self.backend!r} is unknown", next_step="use numpy, or jax for a GPU")
        if self.backend == "jax":
            require_jax()
        object.__setattr__(self, "workload", check_workload(self.workload))
        if self.model == "mixture" and self.workload not in ("auto", "2-way"):
            raise PlanError(
                "a mixture alone is fitted to all pairs, measured once",
                next_step="leave workload out, or use model='both'",
            )

    def planned(self, schema: Schema) -> GraphicalPlan:
        """Return what will be done, from public facts alone."""
        names = chosen_names(schema, self.columns)
        rounds = GraphicalPlan(
            method=self.name,
            schema=schema,
            names=names,
            epsilon=self.epsilon,
            delta=self.spent_delta,
            binning=DISCRETISATIONS[self.bins],
            one_way_share=ONE_WAY_SHARE,
            most_one_way_share=MOST_ONE_WAY_SHARE,
            choice_share=SELECTION_SHARE,
            workload=self.workload,
            megabytes=self._megabytes,
            targets=self._targets(schema, names),
            sharpens=self.model != "mixture" and self.bins == "adaptive",
        )
        if self.model != "mixture":
            return rounds
        return replace(
            rounds,
            choice_share=Fraction(0),
            workload="2-way",
            later="all pairs",
            later_tables=comb(len(names), 2),
            rounds=0,
        )

    def _targets(self, schema: Schema, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that will be predicted: those of the parameter, or those with the role of the schema."""
        if self.target is None:
            return tuple(name for name in schema.targets if name in names)
        targets = (self.target,) if isinstance(self.target, str) else tuple(self.target)
        unknown = [f"there is no synthesised column {name!r}" for name in targets if name not in names]
        if unknown:
            raise PlanError("the target cannot be taken", unknown, f"name columns among these: {', '.join(names)}")
        return targets

    @property
    def _megabytes(self) -> float:
        if self.model_megabytes is not None:
            return float(to_fraction(self.model_megabytes))
        return MEGABYTES

    @property
    def _two_way(self) -> bool:
        """Whether the sets are pairs, or those that "auto" offers beside them."""
        return self.workload == "auto" or largest_clique(self.workload) <= 2

    def settings(self) -> RoundSettings:
        """Return how the budget is spread over rounds."""
        steps = PAIR_STEPS if self._two_way else LARGER_STEPS
        return RoundSettings(megabytes=self._megabytes, steps=steps, backend=self.backend)

    @property
    def algorithm(self) -> Algorithm:
        """What selects and measures marginals and fits the model."""
        return ALGORITHMS["tree" if self.model == "auto" else self.model]

    @classmethod
    def example(cls, schema: Schema) -> AIM:
        """Return a small instance that fits a schema."""
        return cls(epsilon=2.0, workload="2-way")


def run_aim(
    candidates: Candidates,
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    settings: RoundSettings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> FittedMarginals[GraphicalModel]:
    """Select, measure and estimate until the budget is spent; return the model of all measurements."""
    fitted, _ = _run_rounds(candidates, one_way, budget, settings, randomness, watch)
    return fitted


def _run_rounds(
    candidates: Candidates,
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    settings: RoundSettings,
    randomness: Randomness,
    watch: Watch | None,
) -> tuple[FittedMarginals[GraphicalModel], Candidates]:
    """Return the model of all measurements, and the candidates with the groups as they were cut."""
    measurements, log = list(one_way), list[RoundLog]()
    for marginal in candidates.first:
        share = FIRST_SHARES * budget.noise.left / settings.start_rounds
        measurements.append(candidates.measure(marginal, budget.sigma(share), budget, randomness))
        log.append(RoundLog(len(log) + 1, marginal, measurements[-1].stddev, 0.0, budget.share_left))
    model = candidates.estimate(measurements, None, settings.steps, settings.tolerance)
    share, last = budget.noise.left / settings.start_rounds, False
    while not last:
        last = budget.noise.left < 2 * share
        share = budget.noise.left if last else share
        for_selection = share * budget.choices.left / budget.noise.left
        larger = offers_larger(candidates.weights, [each.marginal for each in log[len(candidates.first) :]])
        offered = offer_candidates(candidates, model, budget, share, settings, larger, randomness)
        strength = budget.pay_for_selection(min(for_selection, budget.choices.left))
        gains = {} if last else offer_sharpenings(candidates, model, budget, share, settings, measurements)
        marginal = worst_approximated(candidates, model, offered, gains, strength, budget.sigma(share), randomness)
        if isinstance(marginal, Sharpening):
            edges = worst_edges(candidates, gains[marginal], budget, for_selection, randomness)
            candidates, measurements, model = candidates.cut(marginal.column, edges, measurements, model)
            marginal = CoarsenedMarginal(marginal.pair)
        measurement = candidates.measure(marginal, budget.sigma(share), budget, randomness)
        measurements.append(measurement)
        previous = model_marginals(model, [marginal], candidates.resolutions)[marginal]
        model = candidates.estimate(measurements, model, settings.steps, settings.tolerance)
        moved = float(np.abs(model_marginals(model, [marginal], candidates.resolutions)[marginal] - previous).sum())
        log.append(RoundLog(len(log) + 1, marginal, measurement.stddev, moved, budget.share_left))
        if moved <= expected_noise_l1(measurement.stddev, measurement.noisy_counts.size):
            share = max(share, min(4 * share, budget.noise.left / settings.least_rounds))
        if watch is not None:
            watch(log[-1])
    model = candidates.estimate(measurements, model, settings.last_steps, settings.tolerance)
    groupings = None if candidates.cuttable is None else candidates.cuttable.groupings
    return FittedMarginals(model, tuple(measurements), tuple(log), groupings), candidates


def worst_approximated(
    candidates: Candidates,
    model: GraphicalModel,
    offered: Sequence[CoarsenedMarginal],
    gains: Mapping[Sharpening, Gains],
    strength: Fraction,
    sigma: float,
    randomness: Randomness,
) -> CoarsenedMarginal | Sharpening:
    """Select the marginal that the model approximates worst, or the pair that sharpening serves most."""
    return select_marginal(
        candidates.counts,
        model_marginals(model, offered, candidates.resolutions),
        candidates.weights,
        offered,
        strength,
        sigma,
        candidates.sensitivity,
        randomness,
        {each: sharpening_score(some, strength, candidates.sensitivity) for each, some in gains.items()},
    )


def offer_sharpenings(
    candidates: Candidates,
    model: GraphicalModel,
    budget: Budget,
    share: Fraction,
    settings: RoundSettings,
    measurements: Sequence[LinearMeasurement],
) -> dict[Sharpening, Gains]:
    """Return the measured pairs whose groups may be cut without the model outgrowing its size, and what cuts gain."""
    if candidates.cuttable is None:
        return {}
    precision: dict[Clique, float] = {}
    for each in measurements:
        precision[each.clique] = precision.get(each.clique, 0.0) + each.stddev**-2
    gains: dict[Sharpening, Gains] = {}
    used = 1 - budget.share_left + float(share / budget.noise.total)
    for each in candidates.cuttable.offered(list(precision)):
        sizes = [size + size // 2 if c == each.column else size for c, size in enumerate(candidates.sizes)]
        fits = ModelSize(sizes, model.cliques).cells <= used * settings.megabytes * 1e6 / BYTES_PER_CELL
        if fits and 2 * prod(candidates.sizes[column] for column in each.pair) <= LARGEST_TABLE:
            gains[each] = candidates.cuttable.gains(model, each, budget.sigma(share), precision[each.pair] ** -0.5)
    return {each: some for each, some in gains.items() if some}


def worst_edges(
    candidates: Candidates, gains: Gains, budget: Budget, for_selection: Fraction, randomness: Randomness
) -> list[int]:
    """Select where groups are cut, at most one edge in each; paid before it is drawn."""
    strength = budget.pay_for_selection(min(CUT_COST * for_selection, budget.choices.left / 4))
    rate = selection_rate(strength, candidates.sensitivity, 1)
    handicaps = {group: handicap(len(edges), rate) for group, (edges, _) in gains.items()}
    return select_cuts(gains, handicaps, strength, candidates.sensitivity, randomness)


def offer_candidates(
    candidates: Candidates,
    model: GraphicalModel,
    budget: Budget,
    share: Fraction,
    settings: RoundSettings,
    larger: bool,
    randomness: Randomness,
) -> Sequence[CoarsenedMarginal]:
    """Return the marginals of one round's selection: those with which the model stays within its size."""
    used = 1 - budget.share_left + float(share / budget.noise.total)
    some = subsample_candidates(candidates, randomness)
    return within_model_size(candidates, model, settings, used, some, larger) or within_model_size(
        candidates, model, settings, used, candidates.weights, larger
    )


def offers_larger(offered: Collection[CoarsenedMarginal], selected: Sequence[CoarsenedMarginal]) -> bool:
    """Say whether the next round offers more than two columns at once: seldom where there are many and none is taken.

    Each time that none of them is selected the wait doubles; when one is, they are back in the next round. What was
    selected is released, so the wait tells nothing more.
    """
    if sum(len(marginal.clique) > 2 for marginal in offered) <= FEW_LARGER:
        return True
    due, wait = 0, 1
    for number, marginal in enumerate(selected):
        if number == due:
            wait = 1 if len(marginal.clique) > 2 else 2 * wait
            due = number + wait
    return len(selected) == due


def subsample_candidates(candidates: Candidates, randomness: Randomness) -> Collection[CoarsenedMarginal]:
    """Return the marginals that a round weighs: all, or of very many some that chance alone draws anew each time.

    Chance knows nothing of the rows, so a selection among these costs what any selection does. That a greedy one loses
    little by it: Mirzasoleiman and others 2015, "Lazier than lazy greedy".
    """
    if len(candidates.weights) <= ALL_CANDIDATES:
        return candidates.weights
    every = list(candidates.weights)
    return [every[place] for place in np.sort(randomness.generator.choice(len(every), SOME_CANDIDATES, replace=False))]


def within_model_size(
    candidates: Candidates,
    model: GraphicalModel,
    settings: RoundSettings,
    used: float,
    marginals: Collection[CoarsenedMarginal],
    with_larger: bool = True,
) -> list[CoarsenedMarginal]:
    """Return the marginals with which the model stays within its share of the memory, or needs no more than now."""
    size = ModelSize(candidates.sizes, model.cliques)
    limit = max(size.cells, used * settings.megabytes * 1e6 / BYTES_PER_CELL)
    small = [marginal for marginal in marginals if candidates.counts[marginal].size <= LARGEST_TABLE]
    cliques = {marginal.clique for marginal in small if with_larger or len(marginal.clique) <= 2}
    fit_in = {clique for clique in cliques if size.holds(clique) or size.cells_with(clique) <= limit}
    return [marginal for marginal in small if marginal.clique in fit_in]


def run_aim_with_mixture(
    candidates: Candidates,
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    settings: RoundSettings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> FittedMarginals[AveragedModel]:
    """Select and measure marginals in rounds, then fit a mixture to the same ones beside the tree."""
    fitted, candidates = _run_rounds(candidates, one_way, budget, settings, randomness, watch)
    mixture = _fit_mixture(candidates, fitted.measurements, settings, randomness)
    return FittedMarginals(AveragedModel(fitted.model, mixture), fitted.measurements, fitted.rounds, fitted.groupings)


def measure_all_pairs(
    candidates: Candidates,
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    settings: RoundSettings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> FittedMarginals[MixtureModel]:
    """Measure every pair once and fit a mixture to all of them."""
    pairs = [each for each in candidates.counts if len(each.clique) == 2 and each.groups is None]
    measurements, log = measure_equally(candidates, pairs, one_way, budget, randomness, watch)
    model = _fit_mixture(candidates, measurements, settings, randomness)
    return FittedMarginals(model, measurements, log)


def _fit_mixture(
    candidates: Candidates,
    measurements: Sequence[LinearMeasurement],
    settings: RoundSettings,
    randomness: Randomness,
) -> MixtureModel:
    return fit_mixture(
        candidates.sizes,
        measurements,
        candidates.total,
        supports=candidates.structural_zeros,
        generator=randomness.generator,
        settings=MixtureSettings(backend=settings.backend),
    )


ALGORITHMS: dict[str, Algorithm] = {
    "tree": run_aim,
    "mixture": measure_all_pairs,
    "both": run_aim_with_mixture,
}
"""What AIM runs, by the name of the model that it fits."""
