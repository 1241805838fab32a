"""Plan of cluster geometry: grid or principal plane, shares of the budget, memory, proof note.

Up to three columns: all of epsilon goes into one noisy grid (:mod:`sfumato.mechanisms.noisy_grid`), and centres,
shares and
radii are those of rows drawn from it. In prototypes a split of .65 for the grid and .35 for radii came close; the one
grid is simpler and costs one pass. Its coarseness is 5, not 10: with 10 the clusters of 400 rows at epsilon .5 fall
between 20 cells or not, by the luck of the box (transfer ARI .64 to .96 over four boxes; with 5, .92 to .98).

More columns need delta > 0 and go through the noisy principal plane (:mod:`.principal_plane`).

Rows are drawn from ellipsoids, not balls: second moments less what the centres explain give the pooled shape of the
clusters for nothing. Mostly better: breast cancer at epsilon 1 has transfer ARI .71 against .61, 10,000 diamonds .79
against .76 with a mean error of the correlations of .03 against .10; at epsilon .5 the diamonds lose .02.

Coarseness, the smallest side and the ellipsoids were chosen on the tables that these numbers come from: they flatter.

Proof note. The stages are those of :mod:`sfumato.mechanisms.lattice_sums`, and so is their joint theorem; the vectors
are made in :mod:`.compiled_loops`. In lattice units, L2, one record moves

- scales (unit STEPS^2): add-remove sqrt(1 + 5d/4), since a^2 + (a^2 - 1/2)^2 = a^4 + 1/4; replace sqrt(4d), since the
  count stays and (a - b)^2 (1 + (a + b)^2) <= 4;
- products (unit STEPS^2): |yy'| = |y|^2 <= 1, the triangle less; replace sqrt(2), since |xx' - yy'|^2 = |x|^4 + |y|^4 -
  2 (x'y)^2;
- counts (plane, sizes, radii; each record counts 2^24): 1; replace sqrt(2);
- steps (unit 2^24): 1; replace 2, for two records of one cluster.

Columns of levels, with a share s of epsilon for all m of them: the geometry is (epsilon (1 - s), delta)-DP. Given it,
each record lies in one cluster, that of the nearest released centre, and in one cell of each table of cluster by level;
these tables get discrete Laplace noise at epsilon s / m each. Costs add up, and rows are drawn from these alone. QED
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sfumato.core.parameters import delta_problems, number_problems, shared_epsilon_problems
from sfumato.core.plan import BYTES_PER_VALUE, MOST_CLUSTERS, Plan, Stage, event_facts, exact_cost, refuse_memory
from sfumato.errors import PlanError
from sfumato.mechanisms.cluster_geometry.principal_plane import BINS
from sfumato.mechanisms.lattice_sums import KIND, LENGTH, UNIT, lattice_parts, lattice_stage
from sfumato.mechanisms.noisy_grid import LARGEST_DIMENSION, GridPlan, affordable_cells
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.gaussian_calibration import gaussian_mu
from sfumato.privacy.accounting.sensitivity import (
    ceil_sqrt,
    histogram_l1,
    histogram_l2_squared,
    moments_l2_squared_quarters,
    nonobtuse_sum_l2_squared,
    vector_sum_sensitivity,
)
from sfumato.privacy.exact import Number, to_fraction
from sfumato.privacy.noise import laplace_scale
from sfumato.sampling.public_box import Adjacency, BoundedAxis, box_problems
from sfumato.schema import Schema
from sfumato.schema.column import Column

OTHER_PASSES = 4
"""Passes over the rows besides Lloyd steps: scales, products, the plane, radii."""
SHARES = {"scales": 0.30, "products": 0.25, "plane": 0.25, "radii": 0.20}
STEP_SHARES = {"scales": 0.15, "products": 0.20, "plane": 0.25, "sizes": 0.10, "steps": 0.10, "radii": 0.20}
"""Shares of mu^2, without and with Lloyd steps; several of them divide what is there for one."""
STEP_STRENGTHS = (20_000, 500_000, 500_000)
"""n_pub * epsilon from which each further Lloyd step pays."""
LARGEST_PLANE = 1 << 14
PLANE_COARSENESS = 10.0
SMALLEST_SIDE = 6
"""Breast cancer at epsilon 1: transfer ARI .60 with 6 cells a side, .49 with the 5 that the rule gives."""
LARGEST_GEOMETRY_GRID = 1 << 16
GRID_COARSENESS = 5.0
GRID_ROWS = 20_000
"""Rows drawn from a noisy grid to find its clusters: post-processing, so that the number is free."""
BYTES_PER_DISTANCE = 16


@dataclass(frozen=True, kw_only=True)
class GeometryPlan:
    """A private geometry, planned from public facts alone: the same facts always give the same plan.

    >>> plan = GeometryPlan(axes=(BoundedAxis(0, 1),) * 5, clusters=4, epsilon=1, delta=1e-6, n_pub=10_000)
    >>> [part.stage for part in plan.parts]
    ['scales', 'products', 'plane', 'radii']
    """

    axes: tuple[BoundedAxis, ...]
    clusters: int
    epsilon: Number
    delta: Number = 0
    n_pub: int
    adjacency: Adjacency = "add-remove"

    def __post_init__(self) -> None:
        problems = box_problems(self.axes)
        if not 1 <= self.clusters <= MOST_CLUSTERS:
            problems.append(f"clusters must lie between 1 and {MOST_CLUSTERS:,}, found {self.clusters}")
        if self.n_pub < max(self.clusters, 1):
            problems.append(f"{self.clusters} clusters of {self.n_pub} rows: n_pub must not be below the clusters")
        if self.adjacency not in ("add-remove", "replace"):
            problems.append(f"unknown adjacency {self.adjacency!r}")
        problems += shared_epsilon_problems(self.epsilon) + self._delta_problems()
        if problems:
            raise PlanError("cannot plan a private geometry", problems, "give public bounds, clusters and a budget")

    def _delta_problems(self) -> list[str]:
        problems = number_problems(self.delta, "delta", 0, 1)
        if problems or (self.by_grid and to_fraction(self.delta, "delta") == 0):
            return problems
        if to_fraction(self.delta, "delta") == 0:
            return [f"{len(self.axes)} columns need delta above 0; up to {LARGEST_DIMENSION} do without"]
        return delta_problems(self.delta)

    @property
    def by_grid(self) -> bool:
        """Whether one noisy grid over the box does everything, at pure epsilon."""
        return len(self.axes) <= LARGEST_DIMENSION

    @property
    def kind(self) -> str:
        """The kind of event that the parts make."""
        return "discrete-laplace" if self.by_grid else KIND

    @cached_property
    def grid(self) -> GridPlan:
        """The noisy grid of up to three columns."""
        return GridPlan(
            axes=self.axes,
            epsilon=self.epsilon,
            n_pub=self.n_pub,
            adjacency=self.adjacency,
            most_cells=LARGEST_GEOMETRY_GRID,
            coarseness=GRID_COARSENESS,
        )

    @property
    def passes(self) -> int:
        """How often the rows are read where no grid holds them: scales, products, the plane, each step, and radii."""
        return OTHER_PASSES + self.rounds

    @property
    def rounds(self) -> int:
        """How many Lloyd steps follow the plane."""
        strength = self.n_pub * float(to_fraction(self.epsilon))
        return sum(strength >= least for least in STEP_STRENGTHS)

    @property
    def shares(self) -> dict[str, float]:
        """Shares of mu^2 by stage; the stages of Lloyd steps carry their number, from 1."""
        if not self.rounds:
            return SHARES
        shares: dict[str, float] = {}
        for stage, share in STEP_SHARES.items():
            if stage in ("sizes", "steps"):
                shares |= {f"{stage} {t}": share / self.rounds for t in range(1, self.rounds + 1)}
            else:
                shares[stage] = share
        return shares

    @cached_property
    def plane_side(self) -> int:
        """Cells along each direction of the plane."""
        moved = math.sqrt(histogram_l2_squared(self.adjacency))
        sigma = moved / (gaussian_mu(self.epsilon, self.delta) * math.sqrt(self.shares["plane"]))
        cells = affordable_cells(self.n_pub * math.sqrt(2) / (PLANE_COARSENESS * sigma), 2, LARGEST_PLANE)
        return max(SMALLEST_SIDE, round(math.sqrt(cells)))

    @property
    def _cells(self) -> dict[str, int]:
        d, k = len(self.axes), self.clusters
        return {
            "scales": 1 + 2 * d,
            "products": d * (d + 1) // 2,
            "plane": self.plane_side**2,
            "sizes": k,
            "steps": k * d,
            "radii": k * BINS,
        }

    @property
    def _units(self) -> dict[str, int]:
        """L2 sensitivities in lattice units, rounded up; quarters keep the squares whole."""
        count = ceil_sqrt(histogram_l2_squared(self.adjacency) * LENGTH**2)
        scales = math.isqrt(moments_l2_squared_quarters(self.adjacency, len(self.axes)) * UNIT**2 // 4) + 1
        products = ceil_sqrt(nonobtuse_sum_l2_squared(self.adjacency, UNIT**2))
        steps = vector_sum_sensitivity(self.adjacency, LENGTH)
        return {"scales": scales, "products": products, "plane": count, "sizes": count, "steps": steps, "radii": count}

    @cached_property
    def parts(self) -> tuple[EventPart, ...]:
        """What the event records, stage by stage: coordinates, sensitivity in lattice units, scale of the noise."""
        if self.by_grid:
            return (self.grid.part,)
        return lattice_parts(self.shares, self._units, self._cells, self.epsilon, self.delta)


@dataclass(frozen=True)
class PlannedClusterGeometry:
    """A geometry and the levels of its clusters, planned on one schema from public facts alone."""

    name: str
    """Of the method."""
    schema: Schema
    ordered: tuple[Column, ...]
    levels: tuple[Column, ...]
    epsilon: Fraction
    geometry: GeometryPlan
    notes: tuple[str, ...]

    @property
    def level_epsilon(self) -> Fraction:
        """What all columns of levels may cost together."""
        return self.epsilon - to_fraction(self.geometry.epsilon)

    @property
    def level_parts(self) -> tuple[EventPart, ...]:
        """One noisy table of cluster by level for each column of levels."""
        moved = histogram_l1(self.schema.adjacency)
        return tuple(
            EventPart(
                stage=f"cluster x {c.name}",
                cells=self.geometry.clusters * c.size,
                sensitivity=moved,
                scale=laplace_scale(self.level_epsilon / len(self.levels), moved),
            )
            for c in self.levels
        )

    def plan(self, rows: int | None, randomness: str) -> Plan:
        """Return cost and needs."""
        stages = (*self._geometry_stages(), *self._level_stages())
        count = rows if rows is not None else self.schema.rows
        memory = self._memory(stages, count)
        refuse_memory(memory, "the geometry and its rows", "ask for fewer rows, clusters or columns")
        events = self._events(randomness)
        return Plan.for_(self.name, self.schema, stages, events, memory, rows=count, notes=self.notes)

    def _events(self, randomness: str) -> tuple[Event, ...]:
        facts = event_facts(self.name, self.schema, randomness)
        events = [
            Event(
                kind=self.geometry.kind,
                parts=self.geometry.parts,
                **exact_cost(self.geometry.epsilon, self.geometry.delta),
                **facts,
            )
        ]
        if self.levels:
            events.append(
                Event(
                    kind="discrete-laplace",
                    parts=self.level_parts,
                    **exact_cost(self.level_epsilon),
                    **facts,
                )
            )
        return tuple(events)

    def _memory(self, stages: tuple[Stage, ...], count: int | None) -> int:
        """Return the bytes of the counts, of the drawn rows, and of the distances of points to every centre."""
        values = sum(stage.cells for stage in stages) + (count or 0) * (len(self.ordered) + len(self.levels))
        points = GRID_ROWS if self.geometry.by_grid else self.geometry.plane_side**2
        return BYTES_PER_VALUE * values + BYTES_PER_DISTANCE * points * self.geometry.clusters * len(self.ordered)

    def _geometry_stages(self) -> tuple[Stage, ...]:
        cost = to_fraction(self.geometry.epsilon)
        if self.geometry.by_grid:
            (part,) = self.geometry.parts
            return (Stage.of(part, "discrete laplace", cost, _rounded(cost / self.epsilon)),)
        shares = {stage: to_fraction(str(share)) for stage, share in self.geometry.shares.items()}
        return tuple(
            lattice_stage(part, _rounded(cost / self.epsilon * shares[part.stage])) for part in self.geometry.parts
        )

    def _level_stages(self) -> tuple[Stage, ...]:
        each = self.level_epsilon / len(self.levels) if self.levels else Fraction(0)
        share = _rounded(each / self.epsilon)
        return tuple(Stage.of(part, "discrete laplace", each, share) for part in self.level_parts)


def _rounded(share: Fraction) -> Fraction:
    """Return a share with a denominator that a reader can take in."""
    return share.limit_denominator(10**6)
