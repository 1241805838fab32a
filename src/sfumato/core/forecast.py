"""Forecast of a release: expected errors, a verdict and advice, as data and sentences.

This module holds the shape; :mod:`sfumato.evaluate.forecast` computes it from public facts and a number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sfumato.formatting import list_names, percent
from sfumato.reprs import ReprMixin

MOST_NAMED = 8
"""Names in one sentence."""
NO_RELATION = 0.95
"""A correlation that no two columns of use have."""


@dataclass(frozen=True)
class ColumnForecast:
    """One column: expected errors of what is read off it alone."""

    name: str
    share_error: float
    """Expected error of the share of one level or cell."""
    tvd: float
    """Expected share of rows in a wrong cell: a number has 16 cells of equal mass."""
    mean_error_sd: float | None = None
    """Expected error of the mean in standard deviations, for typical shapes; None where there is no mean."""
    mean_error_range: float | None = None
    """The same as a share of the public range."""
    median_error_range: float | None = None
    drowned: bool = False
    """Whether the noise is as large as what it covers: the column will tell nothing."""


@dataclass(frozen=True)
class ForecastAdvice:
    """One thing that would help: what to do, and the errors now and then."""

    words: str
    """Such as "keep the 12 columns that matter"."""
    measure: str
    now: float
    then: float


@dataclass(frozen=True, repr=False)
class Forecast(ReprMixin):
    """Expected errors of a release of so many rows. Numbers are means over columns or pairs, as a comparison has them.

    Where no number of rows is public or said, ``rows`` is None, the errors are None and ``rows_needed`` tells from how
    many rows on the table will be of use.
    """

    method: str
    rows: int | None = None
    tvd_1_q16: float | None = None
    tvd_2_q16: float | None = None
    share_error: float | None = None
    mean_error_sd: float | None = None
    """In standard deviations, for typical shapes."""
    mean_error_range: float | None = None
    """As a share of the public range."""
    median_error_range: float | None = None
    smallest_relation: float | None = None
    """The smallest correlation (or Cramer's V) that will still be seen."""
    columns: tuple[ColumnForecast, ...] = ()
    rows_needed: tuple[tuple[str, int], ...] = ()
    """For each use in words, from about how many rows on the release will serve it."""
    advice: tuple[ForecastAdvice, ...] = ()
    verdict: str = ""
    overwhelmed: bool = False
    """Whether the noise is comparable to the rows: a release must be asked for with ``--anyway``."""

    @property
    def drowned(self) -> tuple[str, ...]:
        """The columns that will tell nothing."""
        return tuple(column.name for column in self.columns if column.drowned)

    def sentences(self, advice: bool = True) -> tuple[str, ...]:
        """Return the forecast in words, the verdict first: what a page or a terminal shows before anything is spent.

        Once it is spent, nobody wants the ``advice``: what is needed, and what would help.
        """
        wanted = (*self._needed(), *self._helping()) if advice else ()
        return (self.verdict, *self._expected(), *self._drowning(), *wanted)

    def _expected(self) -> Iterator[str]:
        if self.rows is None:
            return
        parts = [
            _part("a share is off by", self.share_error, _points),
            _part("a mean by", self.mean_error_sd, self._of_spread),
            _part("a median by", self.median_error_range, lambda error: f"{percent(error)} of the public range"),
        ]
        yield f"Expected with about {self.rows:,} rows: {', '.join(part for part in parts if part)}."
        wrong = [
            _part("", self.tvd_1_q16, lambda share: f"{percent(share)} of the rows of a single column"),
            _part("", self.tvd_2_q16, lambda share: f"{percent(share)} of those of a table of two columns"),
        ]
        phrases = [part for part in wrong if part]
        if phrases:
            yield f"In a wrong cell, numbers in 16 cells: {' and '.join(phrases)}."
        if self.smallest_relation is not None:
            yield _seen(self.smallest_relation)

    def _of_spread(self, error: float) -> str:
        share = "" if self.mean_error_range is None else f" ({percent(self.mean_error_range)} of the public range)"
        return f"{error:.2g} standard deviations{share}"

    def _drowning(self) -> Iterator[str]:
        if self.drowned:
            yield f"Will drown in noise: {list_names(self.drowned, MOST_NAMED)}."

    def _needed(self) -> Iterator[str]:
        missing = [(use, rows) for use, rows in self.rows_needed if self.rows is not None and rows > self.rows]
        if missing:
            uses = "; ".join(f"{use} from about {rows:,} on" for use, rows in missing)
            yield f"Rows needed with these settings: {uses}."

    def _helping(self) -> Iterator[str]:
        for advice in self.advice:
            measure, shown = MEASURES[advice.measure]
            yield f"What would help: {advice.words} ({measure}: {shown(advice.now)} now, {shown(advice.then)} then)."

    def _line(self) -> str:
        return self.verdict

    def _lines(self) -> list[tuple[str, str]]:
        return [("verdict" if place == 0 else "", words) for place, words in enumerate(self.sentences())]


def _part(words: str, error: float | None, shown: Callable[[float], str]) -> str:
    return "" if error is None else f"{words} {shown(error)}".strip()


def _seen(relation: float) -> str:
    if relation >= NO_RELATION:
        return "No relation between columns will be seen."
    return f"Relations between columns will be seen from a correlation (or Cramer's V) of about {relation:.2g} on."


def _points(share: float) -> str:
    return f"{float(f'{100 * share:.2g}'):g} percentage points"


MEASURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "tvd_1_q16": ("rows of a column in a wrong cell", percent),
    "tvd_2_q16": ("rows of a pair in a wrong cell", percent),
    "smallest_relation": ("smallest relation seen", "{:.2g}".format),
    "mean_error_sd": ("error of a mean in standard deviations", "{:.2g}".format),
}
"""How the measure of an advice reads."""
