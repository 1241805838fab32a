"""Values that are missing because another column says so: ``age < 15 implies missing(income)``.

Where a column is missing exactly then, both directions are proposed, and the threshold stands last in both: rows that
are made and break a rule change the column that it names last, and it is the age that should move, not the income that
should go (so told, ACS keeps its share of missing incomes; the other way round it grew by half).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array
from sfumato.schema.column import Column
from sfumato.table.drafting.sampling import UNLIKELY, Sample
from sfumato.table.drafting.wording import named, written

LEAST_COVERED = 0.5
"""Share of the missing values that a condition must explain."""
MOST_LISTED = 8
"""Levels that a condition lists."""


@dataclass(frozen=True)
class Condition:
    """What another column says, in words, and the opposite where it is a threshold."""

    words: str
    opposite: str | None
    rows: NDArray[np.bool_]


@dataclass(frozen=True)
class Absence:
    """A condition under which a column is always missing."""

    target: str
    condition: Condition

    @property
    def check(self) -> str:
        """The rule that says when the column is missing."""
        return f"{self.condition.words} implies missing({named(self.target)})"

    @property
    def converse(self) -> str:
        """The rule that says that it is missing only then."""
        return f"missing({named(self.target)}) implies {self.condition.words}"

    def rules(self, kept: Container[str]) -> list[str]:
        """Return what to propose of the rules that all rows keep."""
        if self.check not in kept or self.converse not in kept:
            return [self.check] if self.check in kept else []
        opposite = self.condition.opposite
        there = f"not missing({named(self.target)}) implies {opposite}" if opposite else self.check
        return [there, self.converse]


def absences(sample: Sample) -> list[Absence]:
    """Return for each column with missing values the condition that explains most of them, if one does."""
    found = [_best(sample, name) for name in sample.columns if 0 < sample.missing[name].sum() < sample.rows]
    return [absence for absence in found if absence]


def _best(sample: Sample, target: str) -> Absence | None:
    missing = sample.missing[target]
    least = max(LEAST_COVERED * missing.sum(), UNLIKELY / np.log(missing.mean()))
    best: tuple[float, Condition] | None = None
    for name, column in sample.columns.items():
        if name == target or sample.missing[name].any():
            continue
        for condition in _conditions(sample, column, missing):
            # Of two that explain the same, the threshold reads better than the list.
            score = condition.rows.sum() + (0.5 if column.is_ordered else 0.0)
            if score >= least and (best is None or score > best[0]):
                best = score, condition
    return Absence(target, best[1]) if best else None


def _conditions(sample: Sample, column: Column, missing: NDArray[np.bool_]) -> Iterator[Condition]:
    name = named(column.name)
    if column.is_ordered:
        yield from _thresholds(name, sample.numbers[column.name], missing) if column.kind != "date" else ()
        return
    codes = sample.codes[column.name]
    always = np.bincount(codes, weights=~missing) == 0
    levels = [sample.values[column.name][i] for i in np.flatnonzero(always).tolist()]
    if 0 < len(levels) <= MOST_LISTED:
        yield Condition(_one_of(name, column, levels), None, always[codes])


def _thresholds(name: str, values: Array, missing: NDArray[np.bool_]) -> Iterator[Condition]:
    """Yield the ranges below and above which nothing is known, as tight as the missing values allow."""
    below, above = values < values[~missing].min(), values > values[~missing].max()
    if below.any():
        top = values[below].max()
        whole, cut = float(top).is_integer(), written(top + 1 if float(top).is_integer() else top)
        yield Condition(
            *((f"{name} < {cut}", f"{name} >= {cut}") if whole else (f"{name} <= {cut}", f"{name} > {cut}")), below
        )
    if above.any():
        cut = written(values[above].min())
        yield Condition(f"{name} >= {cut}", f"{name} < {cut}", above)


def _one_of(name: str, column: Column, levels: list[object]) -> str:
    if column.kind == "boolean":
        return name if levels[0] else f"not {name}"
    if len(levels) == 1:
        return f"{name} == {written(levels[0])}"
    return f"{name} in [{', '.join(written(level) for level in sorted(levels, key=str))}]"
