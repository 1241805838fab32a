"""MST (McKenna, Miklau and Sheldon 2021): measure a spanning tree of pairs, estimate a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.argument_errors import checked_parameters
from sfumato.core.method import Makes
from sfumato.mechanisms.graphical.method import DISCRETISATIONS, Bins, GraphicalMethod
from sfumato.mechanisms.graphical.plan import GraphicalPlan, chosen_names
from sfumato.mechanisms.graphical.rounds import Algorithm, RoundSettings
from sfumato.mechanisms.graphical.spanning_tree import run_mst
from sfumato.privacy.exact import Number
from sfumato.schema import Schema

ONE_WAY_SHARE = CHOICE_SHARE = Fraction(1, 3)
MEGABYTES = 50.0
"""A tree of pairs is small whatever the columns are; this only refuses columns that no pair can hold."""


@checked_parameters
@dataclass(frozen=True)
class MST(GraphicalMethod):
    """A synthetic table from a graphical model of d - 1 noisy pairs that tie all columns together.

    A third of the budget goes to one-way tables, a third to choosing the pairs, a third to measuring them. Faster than
    AIM and a little less faithful: it keeps one chain of dependence between any two columns. ``delta`` is
    1e-9 unless it is given.

    Proof: :mod:`sfumato.mechanisms.graphical.spanning_tree`.
    """

    epsilon: Number
    delta: Number | None = None
    columns: Sequence[str] | None = None
    bins: Bins = "adaptive"
    rounding: bool = True

    name: ClassVar[str] = "mst"
    summary: ClassVar[str] = "a synthetic table of any columns, from a spanning tree of noisy pairs (fast)"
    about: ClassVar[str] = (
        "They were drawn from a model of noisy pairs, not copied from the table; one may equal a true row by chance."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        self._check_parameters()

    def planned(self, schema: Schema) -> GraphicalPlan:
        """Return what will be done, from public facts alone."""
        names = chosen_names(schema, self.columns)
        return GraphicalPlan(
            method=self.name,
            schema=schema,
            names=names,
            epsilon=self.epsilon,
            delta=self.spent_delta,
            binning=DISCRETISATIONS[self.bins],
            one_way_share=ONE_WAY_SHARE,
            choice_share=CHOICE_SHARE,
            workload="2-way",
            megabytes=MEGABYTES,
            later="pairs of the tree",
            later_tables=max(len(names) - 1, 1),
            rounds=1,
        )

    def settings(self) -> RoundSettings:
        """Return the limits of the fit."""
        return RoundSettings(megabytes=MEGABYTES)

    @property
    def chosen_engine(self) -> Algorithm:
        """A tree is chosen, then measured."""
        return run_mst

    @classmethod
    def example(cls, schema: Schema) -> MST:
        """Return a small instance that fits a schema."""
        return cls(epsilon=2.0)
