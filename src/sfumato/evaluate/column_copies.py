"""Compare numeric columns of all synthetic copies with the private table: ECDF, mean, median and quantiles.

Both functions are compared at the pooled values (Woo and others 2009): the largest absolute difference and the mean
squared one. Every number here is computed from confidential values without noise: it is for the custodian, and
publishing it would be a release of its own that no budget pays for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError, TableError
from sfumato.formatting import percent
from sfumato.metrics.confidence import FrozenModel, mean_interval
from sfumato.metrics.distances import ecdf_differences, finite_columns
from sfumato.metrics.evaluation_input import open_evaluation_input, shared_columns
from sfumato.metrics.rows_view import read_rows_view
from sfumato.schema import Schema

LEVEL = 0.95
QUANTILES = (0.1, 0.5, 0.9)
CONFIDENTIAL = "Computed from confidential values: for the custodian, not for publication."


class MeanOverCopies(FrozenModel):
    """One number averaged over synthetic copies, with the interval of Student's t for that average."""

    mean: float
    sd: float | None
    """Spread between copies; none where there is one copy."""
    low: float | None
    high: float | None
    copies: int

    @classmethod
    def of(cls, values: Sequence[float], level: float = LEVEL) -> MeanOverCopies:
        """Return average, spread and interval.

        >>> print(MeanOverCopies.of([1.0, 2.0, 3.0]))
        2 (-0.4841 to 4.484)
        """
        count, mean = len(values), float(np.mean(values))
        if count < 2:
            return cls(mean=mean, sd=None, low=None, high=None, copies=count)
        interval = mean_interval(values, level)
        sd = float(np.std(values, ddof=1))
        return cls(mean=mean, sd=sd, low=interval.low, high=interval.high, copies=count)

    def __str__(self) -> str:
        return f"{self.mean:.4g}" if self.low is None else f"{self.mean:.4g} ({self.low:.4g} to {self.high:.4g})"


class Ratio(FrozenModel):
    """A statistic of the synthetic values over that of the confidential ones; 1 is perfect."""

    name: str
    confidential: float
    ratio: MeanOverCopies | None
    """None where the confidential statistic is 0, and no ratio exists."""


class ColumnCopies(FrozenModel):
    """Synthetic copies of one column against the confidential values. For the custodian's eyes."""

    records: int
    copies: int
    ecdf_max: MeanOverCopies
    ecdf_msq: MeanOverCopies
    ratios: tuple[Ratio, ...]
    level: float = LEVEL

    def ratio(self, name: str) -> Ratio:
        """Return one ratio by its name, such as ``median`` or ``Q90``."""
        ratio = next((each for each in self.ratios if each.name == name), None)
        if ratio is None:
            raise PlanError(f"no ratio {name!r}", next_step=f"use one of: {', '.join(r.name for r in self.ratios)}")
        return ratio

    def statement(self) -> str:
        """Return everything in words, first of all who may read it."""
        many = f"{self.copies} synthetic copies" if self.copies > 1 else "1 synthetic copy, so without intervals"
        brackets = f"; in brackets {percent(self.level, 6)} intervals over copies" if self.copies > 1 else ""
        lines = [CONFIDENTIAL, f"{self.records:,} confidential values against {many}{brackets}."]
        lines.append(f"ECDF: largest difference {self.ecdf_max}, mean squared difference {self.ecdf_msq}.")
        ratios = [f"{r.name} {r.ratio or 'not defined (confidential value is 0)'}" for r in self.ratios]
        return "\n".join([*lines, f"Synthetic over confidential: {'; '.join(ratios)}."])


def compare_column_copies(
    confidential: ArrayLike,
    copies: ArrayLike | Sequence[ArrayLike],
    quantiles: Sequence[float] = QUANTILES,
    level: float = LEVEL,
) -> ColumnCopies:
    """Compare synthetic copies of a column with the confidential values: ECDF, mean, median and quantiles.

    ``copies`` is one synthetic column or several of any length; a matrix has one copy in each row. The interval says
    how much the average depends on which copies were drawn. It does not say how much the table is a matter of chance.

    >>> found = compare_column_copies([1.0, 2.0, 3.0], [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    >>> print(f"{found.ecdf_max.mean:.4f} {found.ratio('mean').ratio.mean}")
    0.1667 1.25
    """
    _require_parameters(quantiles, level)
    named = {"confidential values": confidential}
    real, *drawn = finite_columns(named | {f"copy {i}": each for i, each in enumerate(_as_copies(copies), 1)})
    differences = [ecdf_differences(real, each) for each in drawn]
    return ColumnCopies(
        records=len(real),
        copies=len(drawn),
        level=level,
        ecdf_max=MeanOverCopies.of([float(np.abs(d).max()) for d in differences], level),
        ecdf_msq=MeanOverCopies.of([float(np.mean(d**2)) for d in differences], level),
        ratios=tuple(_ratio(name, get, real, drawn, level) for name, get in _statistics(quantiles).items()),
    )


def _statistics(quantiles: Sequence[float]) -> dict[str, Callable[[FloatArray], float]]:
    """Return mean, median and quantiles by name; the median is named as such, not as Q50."""

    def quantile(share: float) -> Callable[[FloatArray], float]:
        return lambda values: float(np.quantile(values, share))

    named = {f"Q{100 * share:g}": quantile(share) for share in quantiles if share != 0.5}
    return {"mean": lambda values: float(values.mean()), "median": quantile(0.5), **named}


def _ratio(
    name: str, get: Callable[[FloatArray], float], real: FloatArray, drawn: list[FloatArray], level: float
) -> Ratio:
    truth = get(real)
    ratio = MeanOverCopies.of([get(each) / truth for each in drawn], level) if truth else None
    return Ratio(name=name, confidential=truth, ratio=ratio)


def _require_parameters(quantiles: Sequence[float], level: float) -> None:
    problems = [f"quantile {share}: outside 0 to 1" for share in quantiles if not 0 <= share <= 1]
    if not 0 < level < 1:
        problems.append(f"level {level}: not between 0 and 1")
    if problems:
        raise PlanError("this comparison cannot be made", problems, "give shares such as 0.1, 0.5 and 0.9")


def _as_copies(copies: ArrayLike | Sequence[ArrayLike]) -> list[ArrayLike]:
    """Return a list of copies; one plain column is one copy."""
    items: list[ArrayLike] = list(copies)  # pyright: ignore[reportArgumentType]
    return [np.asarray(items)] if items and np.ndim(items[0]) == 0 else items


def compare_copies(
    original: Any,
    released: Any,
    schema: Schema,
    columns: Sequence[str] | None = None,
    quantiles: Sequence[float] = QUANTILES,
) -> dict[str, ColumnCopies]:
    """Compare numbers and dates column by column; all that the table and every copy have, unless named.

    ``original`` is a table, frame or path; ``released`` a release, a bundle, a frame or path, or a list of copies.
    Missing values are left out of both sides.
    """
    several = list(released) if isinstance(released, list | tuple) else [released]
    copies = [copy for each in several for copy in open_evaluation_input(each).require_rows().copies_for(schema)]
    names = _compared(schema, copies, columns)
    true = _values(original, schema, names, "the table")
    values = [_values(copy, schema, names, f"copy {i}") for i, copy in enumerate(copies, 1)]
    return {name: compare_column_copies(true[name], [each[name] for each in values], quantiles) for name in names}


def _compared(schema: Schema, copies: Sequence[Any], columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns to compare, or refuse with every problem."""
    released = [set(shared_columns(schema, copy)[0]) for copy in copies]
    fits = [name for name in schema.releasable if schema[name].is_ordered and all(name in each for each in released)]
    names = fits if columns is None else list(columns)
    problems = [f"{name!r} is no released column of numbers or dates" for name in names if name not in fits]
    problems += [] if names else ["the release has no column of numbers or dates"]
    if problems:
        raise PlanError("these columns cannot be compared", problems, f"name some of: {', '.join(fits) or 'none'}")
    return tuple(names)


def _values(source: Any, schema: Schema, names: tuple[str, ...], what: str) -> dict[str, FloatArray]:
    """Return the values of each column that are there."""
    points = read_rows_view(source, schema, names).points
    columns = {name: points[~np.isnan(points[:, i]), i] for i, name in enumerate(names)}
    if empty := [name for name, values in columns.items() if not len(values)]:
        raise TableError(f"{what} has no value of {', '.join(empty)}", next_step="leave the column out")
    return columns
