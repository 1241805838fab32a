"""Errors of released counts and shares in closed form."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.arrays import FloatArray
from sfumato.core.plan import Stage
from sfumato.errors import ArgumentError, PlanError
from sfumato.evaluate.uncertainty.reruns import PublicRelease
from sfumato.evaluate.uncertainty.result import Estimate, Uncertainty

FORMS = "counts of COLUMN; count of COLUMN = LEVEL; shares of COLUMN; share of COLUMN = LEVEL"
_WORDS = re.compile(r"^(count|share)s?\s+of\s+(.+?)(?:\s*==?\s*(.+))?$", re.IGNORECASE)
CLAMPED = "counts below 0 were set to 0: nearly empty cells are larger than the interval knows"


def count_estimates(public: PublicRelease, asked: Sequence[Any], level: float, population: bool) -> Uncertainty:
    """Return errors of counts and shares in closed form; of anything else nothing can be said from counts."""
    if public.makes != "counts":
        raise PlanError(
            f"{public.method.name} releases values and no rows: nothing can be run again on them",
            next_step="read the scale of their noise under 'stages' in release.json",
        )
    read = [_read(each, public) for each in asked]
    estimates = [e for words, counted, only in read for e in counted.estimates(words, only, level, population)]
    notes = (CLAMPED,) if getattr(public.method, "nonnegative", False) else ()
    return Uncertainty("; ".join(str(each) for each in asked), tuple(estimates), 0, level, population, notes)


@dataclass(frozen=True)
class _ColumnCounts:
    """The counts of one column's labels: sums of the cells of one released table."""

    column: str
    labels: tuple[Any, ...]
    counts: FloatArray
    cells: FloatArray
    """Cells that were added up for each label: each has noise of its own."""
    stage: Stage
    drawn: bool
    """Whether rows were drawn from the noisy counts, which adds chance."""

    @property
    def variance(self) -> float:
        return self.stage.law.deviation**2

    def estimates(self, words: str, only: str | None, level: float, population: bool) -> list[Estimate]:
        """Return the asked labels with the errors that their noise has."""
        from scipy.stats import laplace, norm

        law = laplace(scale=math.sqrt(0.5)) if self.stage.law.is_laplace else norm
        reach = float(law.ppf((1 + level) / 2))
        found: list[Estimate] = []
        for place, label in enumerate(self.labels):
            name = f"{words} of {self.column} = {label}"
            if label is not None and (only is None or str(label) == only):
                value, error = self._one(words, place, population)
                low, high = max(value - reach * error, 0.0), value + reach * error
                high = min(high, 1.0) if words == "share" else high
                found.append(Estimate(name, value, error, min(low, high), high, words))
        if not found:
            raise ArgumentError(
                f"{self.column} has no level {only!r}",
                next_step=f"its levels are: {', '.join(str(label) for label in self.labels[:20])}",
            )
        return found

    def _one(self, words: str, place: int, population: bool) -> tuple[float, float]:
        """Return the value of one label and its standard error."""
        present = np.array([label is not None for label in self.labels])
        total = max(float(self.counts[present].sum()), 1.0)
        count = float(self.counts[place])
        share = min(max(count / total, 0.0), 1.0)
        chance = total * share * (1 - share) * (int(population) + int(self.drawn))
        if words == "count":
            return count, math.sqrt(self.variance * float(self.cells[place]) + chance)
        noise = self.variance * (self.cells[place] * (1 - 2 * share) + share**2 * self.cells[present].sum())
        return count / total, math.sqrt(float(noise) + chance) / total


def _read(words: Any, public: PublicRelease) -> tuple[str, _ColumnCounts, str | None]:
    """Return what is asked of which table; the smallest one that holds the column has the least noise."""
    found = _WORDS.match(words.strip()) if isinstance(words, str) else None
    names = sorted({name for columns in public.tables for name in columns})
    if found is None:
        raise ArgumentError(
            f"{words!r} cannot be read off released counts",
            next_step=f"write one of: {FORMS}; columns are: {', '.join(names)}; or release rows, by AIM for example",
        )
    column = found[2].strip().strip("`'\"")
    holding = [(table.num_rows, columns) for columns, table in public.tables.items() if column in columns]
    if not holding:
        raise ArgumentError(f"no released table counts {column!r}", next_step=f"columns are: {', '.join(names)}")
    columns = min(holding)[1]
    only = found[3].strip().strip("`'\"") if found[3] else None
    return found[1].lower(), _counted(public, columns, column), only


def _counted(public: PublicRelease, columns: tuple[str, ...], column: str) -> _ColumnCounts:
    table: pa.Table = public.tables[columns]
    stage = next(stage for stage in public.stages if stage.name == " x ".join(columns))
    given = table.column(column).to_pylist()
    labels = tuple(dict.fromkeys(given))
    places = np.array([labels.index(each) for each in given])
    counts = np.bincount(places, table.column(table.num_columns - 1).to_numpy()).astype(float)
    drawn = bool(getattr(public.method, "synthetic", False))
    return _ColumnCounts(column, labels, counts, np.bincount(places).astype(float), stage, drawn)
