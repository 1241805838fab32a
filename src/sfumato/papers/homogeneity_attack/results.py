"""Typed results that the homogeneity-attack paper alone has: risk curves, distances, choices of epsilon."""

from __future__ import annotations

from typing import Literal

from sfumato.papers.charts import FrozenModel
from sfumato.papers.result import Comparison, Reproduction

Name = Literal["adult", "bankruptcy", "bankruptcy-subset"]
Mechanism = Literal["laplace", "geometric", "gaussian-classic", "gaussian-analytic", "gaussian-probabilistic"]
Measure = Literal[
    "printed",
    "conservative",
    "record",
    "record by record",
    "Poisson printed",
    "Poisson zero-truncated",
    "observed sizes",
    "hard",
    "soft",
    "hard by record",
    "soft by record",
]
Domain = Literal["whole domain", "occupied cells"]


class SizeBin(FrozenModel):
    """How many cells have a size within a range."""

    label: str
    cells: int
    printed_cells: int
    """The same for the cells that the paper counted."""


class Experiment(FrozenModel):
    """One of the paper's three tables, cut into cells, with figure 3."""

    name: Name
    title: str
    identifiers: tuple[str, ...]
    sensitive: str
    classes: int
    records: int
    cells: int
    homogeneous_cells: int
    homogeneous_records: int
    largest: int
    singletons: int
    mean_size: float
    values_per_cell: float
    majority: float
    """Share of records that have the most frequent sensitive value: what a guess gets right without any table."""
    sizes: tuple[SizeBin, ...]


class RiskCurve(FrozenModel):
    """Risk against epsilon: figure 4, the Poisson variants, and appendix D."""

    experiment: Name
    mechanism: Mechanism
    measure: Measure
    epsilon: tuple[float, ...]
    risk: tuple[float, ...]
    delta: float | None = None
    equation: int | None = None
    """The printed formula's number, where it is one."""

    def at(self, epsilon: float) -> float:
        """Return the risk at an epsilon of the grid."""
        return self.risk[self.epsilon.index(epsilon)]


class TvdBox(FrozenModel):
    """Total variation distance of all marginals of one order: one box of figure 5."""

    mechanism: Mechanism
    delta: float | None
    epsilon: float
    domain: Domain
    order: int
    mean: float
    standard_error: float
    """Monte Carlo error of the mean, from the spread between draws."""
    quantiles: tuple[float, float, float, float, float]
    """5, 25, 50, 75 and 95 % over draws and marginals."""


class Choice(FrozenModel):
    """The epsilons that keep a risk under a target."""

    experiment: Name
    mechanism: Mechanism
    measure: Measure
    target: float
    intervals: tuple[tuple[float, float], ...]
    floor: float
    ceiling: float


class Sigma(FrozenModel):
    """Gaussian noise for one (epsilon, delta): the printed rules and the exact calibration."""

    epsilon: float
    delta: float
    printed_classic: float
    printed_probabilistic: float
    analytic: float


class TopicComparison(Comparison):
    """One statement of the paper beside the exact value, with the topic that decides where it is shown."""

    topic: str


class PrintedRelation(FrozenModel):
    """One printed relation of table 1 at an example: as printed, and exact."""

    result: str
    measure: str
    noise: str
    equation: int
    example: str
    printed: float
    exact: float


class AttackReproduction(Reproduction):
    """Everything that the reproduction finds, or one part of it; what was not asked for is empty."""

    only: str | None = None
    """The part that was asked for; none where all were."""
    draws: int
    deltas: tuple[float, ...]
    experiments: tuple[Experiment, ...]
    curves: tuple[RiskCurve, ...] = ()
    utilities: tuple[TvdBox, ...] = ()
    choices: tuple[Choice, ...] = ()
    sigmas: tuple[Sigma, ...] = ()
    relations: tuple[PrintedRelation, ...] = ()
    comparisons: tuple[TopicComparison, ...] = ()

    def experiment(self, name: Name) -> Experiment:
        """Return one of the three tables."""
        return next(each for each in self.experiments if each.name == name)

    def curve(
        self,
        experiment: Name,
        mechanism: Mechanism,
        measure: Measure,
        delta: float | None = None,
    ) -> RiskCurve:
        """Return one curve."""
        wanted = (experiment, mechanism, measure, delta)
        return next(c for c in self.curves if (c.experiment, c.mechanism, c.measure, c.delta) == wanted)
