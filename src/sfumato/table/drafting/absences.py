"""Values that are missing because another column says so: ``age < 15 implies missing(income)``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.schema.column import Column
from sfumato.table.drafting.sampling import UNLIKELY, Sample
from sfumato.table.drafting.wording import named, written

LEAST_COVERED = 0.5
"""Share of the missing values that a condition must explain."""
MOST_LISTED = 8
"""Levels that a condition lists."""


@dataclass(frozen=True)
class Absence:
    """A condition under which a column is always missing, and whether it is missing only then."""

    target: str
    condition: str
    exact: bool

    @property
    def check(self) -> str:
        """The rule that says when the column is missing."""
        return f"{self.condition} implies missing({named(self.target)})"

    @property
    def converse(self) -> str:
        """The rule that says that it is missing only then."""
        return f"missing({named(self.target)}) implies {self.condition}"


def absences(sample: Sample) -> list[Absence]:
    """Return for each column with missing values the condition that explains most of them, if one does."""
    found = [_best(sample, name) for name in sample.columns if 0 < sample.missing[name].sum() < sample.rows]
    return [absence for absence in found if absence]


def _best(sample: Sample, target: str) -> Absence | None:
    missing = sample.missing[target]
    least = max(LEAST_COVERED * missing.sum(), UNLIKELY / np.log(missing.mean()))
    best: tuple[float, Absence] | None = None
    for name, column in sample.columns.items():
        if name == target or sample.missing[name].any():
            continue
        for condition, covered in _conditions(sample, column, missing):
            rows = int(covered.sum())
            # Of two that explain the same, the threshold reads better than the list.
            score = rows + (0.5 if column.is_ordered else 0.0)
            if rows >= least and (best is None or score > best[0]):
                best = score, Absence(target, condition, bool((covered == missing).all()))
    return best[1] if best else None


def _conditions(sample: Sample, column: Column, missing: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    name = named(column.name)
    if column.is_ordered:
        yield from _thresholds(name, sample.numbers[column.name], missing) if column.kind != "date" else ()
        return
    codes = sample.codes[column.name]
    always = np.bincount(codes, weights=~missing) == 0
    levels = [sample.values[column.name][i] for i in np.flatnonzero(always).tolist()]
    if 0 < len(levels) <= MOST_LISTED:
        yield _one_of(name, column, levels), always[codes]


def _thresholds(name: str, values: np.ndarray, missing: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the ranges below and above which nothing is known, as tight as the missing values allow."""
    below, above = values < values[~missing].min(), values > values[~missing].max()
    if below.any():
        top = values[below].max()
        yield (f"{name} < {written(top + 1)}" if float(top).is_integer() else f"{name} <= {written(top)}"), below
    if above.any():
        bottom = values[above].min()
        yield f"{name} >= {written(bottom)}", above


def _one_of(name: str, column: Column, levels: list[object]) -> str:
    if column.kind == "boolean":
        return name if levels[0] else f"not {name}"
    if len(levels) == 1:
        return f"{name} == {written(levels[0])}"
    return f"{name} in [{', '.join(written(level) for level in sorted(levels, key=str))}]"
