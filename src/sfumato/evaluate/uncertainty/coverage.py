"""Measured coverage of the intervals on tables whose true numbers are known (benchmarks/uncertainty.py)."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.evaluate.uncertainty.result import Estimate
from sfumato.evaluate.uncertainty.weakened import NO_RELATION_VISIBLE
from sfumato.formatting import percent_fixed

LEVEL_MEASURED = 0.95
COVERAGE = {"correlation": 0.89, "coefficient": 0.91}
"""Share of 95 % intervals that held the number of the table in the benchmark, where it is below that; of correlations
without what a forecast puts back."""
UNDERCOVERED = ("correlation", "coefficient", "auc")
WEAKENED = (
    "relations between columns come out weaker than they are, by an amount that these intervals do not show: read "
    "such a number ({kinds}) as the least that there is"
)
RESTORED = (
    "the interval of a correlation includes what the release may have taken from it: of a relation of {smallest:.2g} "
    "about half is left, of weaker ones less"
)
NONE_SEEN = "the noise of this release hides every relation: any correlation may lie behind what is seen"
COVERAGE_NOTE = "on tables where we could look, 95 % intervals of a {kind} held the true number in {share} of cases"
OF_YOUR_OWN = (
    "how often intervals of your own statistic hold is not known; where it rests on a relation between columns they "
    "are too narrow"
)


def measured_coverage(kind: str, smallest: float | None) -> float | None:
    """Return how often intervals of this sort held the true number of the table, where that is below nominal."""
    return None if kind == "correlation" and smallest is not None else COVERAGE.get(kind)


def notes_of(estimates: Iterable[Estimate], smallest: float | None) -> list[str]:
    """Return what must be said of intervals that cannot see everything."""
    kinds = dict.fromkeys(each.kind for each in estimates)
    measured = dict.fromkeys((each.kind, each.coverage) for each in estimates if each.coverage is not None)
    held = [COVERAGE_NOTE.format(kind=kind, share=percent_fixed(share, 0)) for kind, share in measured]
    unseen = [kind for kind in kinds if kind in UNDERCOVERED and (kind != "correlation" or smallest is None)]
    weak = [WEAKENED.format(kinds=", ".join(unseen))] if unseen else []
    if "correlation" in kinds and smallest is not None:
        weak.append(NONE_SEEN if smallest >= NO_RELATION_VISIBLE else RESTORED.format(smallest=smallest))
    return [*weak, *held, *([OF_YOUR_OWN] if "own" in kinds else [])]
