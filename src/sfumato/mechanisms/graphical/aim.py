"""AIM (McKenna et al. 2022): select, measure and estimate marginals in rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import Any, ClassVar, Literal

from sfumato.argument_errors import checked_parameters
from sfumato.core.method import Makes
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.method import DISCRETISATIONS, Bins, GraphicalMethod
from sfumato.mechanisms.graphical.mixture.fit import Backend, require_backend
from sfumato.mechanisms.graphical.plan import GraphicalPlan, chosen_names
from sfumato.mechanisms.graphical.rounds import (
    Algorithm,
    RoundSettings,
    measure_all_pairs,
    run_aim,
    run_aim_with_mixture,
)
from sfumato.mechanisms.graphical.workload import check_workload, largest_clique
from sfumato.privacy.exact import Number, to_fraction, to_positive_fraction
from sfumato.schema import Schema

ONE_WAY_SHARE, CHOICE_SHARE = Fraction(1, 4), Fraction(1, 20)
ModelName = Literal["auto", "tree", "mixture", "both"]
MODELS: dict[str, Algorithm] = {"tree": run_aim, "mixture": measure_all_pairs, "both": run_aim_with_mixture}
MEGABYTES = 4.0
PAIR_STEPS, LARGER_STEPS = 40, 50
"""Steps of the fit after each round. These and the shares above were chosen on one table, Adult."""


@checked_parameters
@dataclass(frozen=True)
class AIM(GraphicalMethod):
    """A synthetic table from a graphical model of noisy marginals, chosen in rounds where the model fits worst.

    The method to reach for first. ``workload`` says which marginals shall be kept: "auto" (every pair, and sets of
    three and four columns at few groups, chosen by what is seen), "2-way", "3-way", column sets, or a mapping of column
    sets to weights. ``target`` names columns that readers will predict (the schema's role "target" unless given): the
    larger sets are then those around them. ``bins`` "adaptive" cuts ordered columns by noisy counts, "schema" by the
    schema's own bins. ``model_megabytes`` bounds the model: more keeps more structure and takes more time. ``engine``
    "tree", the default ("auto"), fits a junction tree; "both" averages it with a mixture of products fitted to the same
    tables; "mixture" measures all pairs once, without rounds, for tables whose columns hang together too closely for a
    tree; ``backend`` "jax" fits the mixture on whatever device JAX finds. With ``rows=None`` the number of rows is the
    noisy total (the public row count under replace). Rules between columns are kept in every row. ``delta`` is 1e-9
    unless it is given.

    Proof: :mod:`sfumato.mechanisms.graphical.rounds`.
    """

    epsilon: Number
    delta: Number | None = None
    columns: Sequence[str] | None = None
    workload: Any = "auto"
    model_megabytes: Number | None = None
    bins: Bins = "adaptive"
    engine: ModelName = "auto"
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
        if self.engine not in ("auto", *MODELS):
            raise PlanError(f"engine {self.engine!r} is unknown", next_step=f"use one of auto, {', '.join(MODELS)}")
        if self.backend not in ("numpy", "jax"):
            raise PlanError(f"backend {self.backend!r} is unknown", next_step="use numpy, or jax for a GPU")
        require_backend(self.backend)
        object.__setattr__(self, "workload", check_workload(self.workload))
        if self.engine == "mixture" and self.workload not in ("auto", "2-way"):
            raise PlanError(
                "the mixture engine measures all pairs once", next_step="leave workload out, or use engine='both'"
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
            choice_share=CHOICE_SHARE,
            workload=self.workload,
            megabytes=self._megabytes,
            targets=self._targets(schema, names),
        )
        if self.engine != "mixture":
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
        """Return the columns that will be predicted: those given, or those with the role of the schema."""
        if self.target is None:
            return tuple(name for name in schema.targets if name in names)
        given = (self.target,) if isinstance(self.target, str) else tuple(self.target)
        unknown = [f"there is no synthesised column {name!r}" for name in given if name not in names]
        if unknown:
            raise PlanError("the target cannot be taken", unknown, f"name columns among these: {', '.join(names)}")
        return given

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
    def chosen_engine(self) -> Algorithm:
        """What chooses and measures tables and fits the model."""
        return MODELS["tree" if self.engine == "auto" else self.engine]

    @classmethod
    def example(cls, schema: Schema) -> AIM:
        """Return a small instance that fits a schema."""
        return cls(epsilon=2.0, workload="2-way")
