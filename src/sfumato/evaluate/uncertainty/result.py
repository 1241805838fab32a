"""Estimates of statistics with expected errors and intervals."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.formatting import format_significant, percent_fixed
from sfumato.privacy.canonical_json import to_jsonable
from sfumato.reprs import ReprMixin, html_table


@dataclass(frozen=True)
class Estimate:
    """One number of the release, its expected error, and an interval for the number of the confidential table."""

    name: str
    value: float
    error: float
    """sqrt(m^2 + s^2) of the reruns' deviations."""
    low: float
    high: float
    kind: str = ""
    """Its sort: share, mean, median, quantile, sd, group mean, correlation, coefficient, auc, own."""
    coverage: float | None = None
    """How often such intervals held the truth where we could look, if that is below nominal."""

    def words(self) -> tuple[str, str, str, str]:
        """Return name, value, error and interval as people read them; nothing where nothing is known."""
        if math.isnan(self.error):
            return self.name, "" if math.isnan(self.value) else format_significant(self.value, 5), "not known", ""
        low, high = (format_significant(each, 5) for each in (self.low, self.high))
        return (
            self.name,
            format_significant(self.value, 5),
            f"± {format_significant(self.error, 3)}",
            f"{low} to {high}",
        )


@dataclass(frozen=True, repr=False)
class Uncertainty(ReprMixin):
    """What is known about statistics of a release, from reruns of its mechanism on the released rows."""

    statistic: str
    estimates: tuple[Estimate, ...]
    reruns: int
    """0 where the error is known without any: released counts have noise of a known law."""
    level: float
    population: bool
    """Whether the intervals are for the population that the table was drawn from, and not for the table alone."""
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        headers = ("number", "released", "expected error", f"{percent_fixed(self.level, 0)} interval")
        return html_table(repr(self), headers, self._lines())

    def _line(self) -> str:
        return f"{self.statistic}: {len(self.estimates)} numbers, {self.reruns} reruns"

    def _lines(self) -> list[tuple[str, ...]]:
        return [each.words() for each in self.estimates]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; what is not known is None."""
        return to_jsonable(asdict(self))
