"""The verdict: what a release will be good for, in words, and from how many rows on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.core.forecast import Forecast
from sfumato.evaluate.forecast.noise_facts import CELLS, NoiseFacts
from sfumato.evaluate.forecast.theory import ExpectedMetrics, expected_metrics

DROWNED = 0.3
"""A column with this share of its rows in a wrong cell tells nothing that a guess would not."""
TOO_FAR = 0.25
"""Where a quarter of the rows of an average column stands in a wrong cell, noise is comparable to the rows."""
UNREADABLE, NOISY_CELLS = 0.6, 0.5
"""A table in which only relations beyond the first number are seen, and of which the noise of an average cell is this
share of what the cell holds: single columns are blurred, and nothing else is there."""
STRONG, WEAK = "strong relations", "weak relations"
ROWS = np.geomspace(1.0, 1e9, 91)
"""Numbers of rows that are tried: each is 1.26 times the one before."""


@dataclass(frozen=True)
class VerdictUse:
    """Something that a table is used for, and the error up to which it serves."""

    words: str
    error: Callable[[ExpectedMetrics | Forecast], float | None]
    most: float

    def served(self, errors: ExpectedMetrics | Forecast) -> bool | None:
        """Say whether a release with these errors serves; None where it holds nothing of the kind."""
        error = self.error(errors)
        return None if error is None else error <= self.most


UNKNOWN_ROWS = "which nobody said: "
"""Before this a verdict without a number of rows says that it depends, and behind it on what."""
SINGLE, MEANS, TABLES = "single columns", "means", "cross tables of two columns"
USES = (
    VerdictUse(SINGLE, lambda errors: errors.tvd_1, 0.1),
    VerdictUse(MEANS, lambda errors: errors.mean_error, 0.1),
    VerdictUse(STRONG, lambda errors: errors.smallest_relation, 0.5),
    VerdictUse(WEAK, lambda errors: errors.smallest_relation, 0.2),
    VerdictUse(TABLES, lambda errors: errors.tvd_2, 0.1),
)
"""A tenth of the rows in a wrong cell, a mean off by a tenth of a standard deviation; strong relations are correlations
from .5 on, weak ones from .2 on."""


def verdict_of_forecast(facts: NoiseFacts, rows: float, errors: ExpectedMetrics) -> str:
    """Return in one sentence what a release will be good for."""
    good, bad = (_named([use.words for use in USES if use.served(errors) is answer]) for answer in (True, False))
    refused = f"not for {_joined(bad, 'or')}" if bad else ""
    praised = f"good for {_joined(good, 'and')}" if good else ""
    if is_drowned_in_noise(facts, rows, errors):
        return f"The noise is comparable to the rows: {'; '.join(filter(None, (praised, refused)))}."
    praised = praised or "good for a rough look at single columns at most"
    return f"{'; '.join(filter(None, (praised, refused)))}.".capitalize()


def verdict_without_rows(needed: Sequence[tuple[str, int]]) -> str:
    """Return a verdict that leaves the number of rows open."""
    uses = [f"{words} from about {rows:,} rows on" for words, rows in needed]
    if not uses:
        return "Good for nothing, however many rows there are."
    return f"It depends on the number of rows, {UNKNOWN_ROWS}good for {_joined(uses, 'and')}."


def _named(uses: Sequence[str]) -> list[str]:
    """Return the uses; strong and weak relations together are relations."""
    if not {STRONG, WEAK} <= set(uses):
        return list(uses)
    return ["relations" if use == STRONG else use for use in uses if use != WEAK]


def _joined(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def is_drowned_in_noise(facts: NoiseFacts, rows: float, errors: ExpectedMetrics) -> bool:
    """Say whether noise is comparable to the rows.

    Either a quarter of the rows of an average column stands in a wrong cell; or the noise of an average cell is half of
    what it holds (a 16th of the rows, or the share of a level) and hardly any relation can be seen.
    """
    if errors.tvd_1 > TOO_FAR:
        return True
    noise = np.mean([column.noise / rows * min(column.cells, CELLS) for column in facts.columns])
    unseen = errors.smallest_relation is not None and errors.smallest_relation >= UNREADABLE
    return bool(unseen and noise >= NOISY_CELLS)


def rows_needed(facts: NoiseFacts) -> tuple[tuple[str, int], ...]:
    """Return for each use from about how many rows on a release will serve it; uses that none serves are left out."""
    found = [expected_metrics(facts, float(rows)) for rows in ROWS]
    needed = ((use, [use.error(errors) for errors in found]) for use in USES)
    return tuple(
        (use.words, _first_below(np.array(errors, float), use.most))
        for use, errors in needed
        if errors[-1] is not None and errors[-1] <= use.most
    )


def _first_below(errors: FloatArray, most: float) -> int:
    """Return from how many rows on an error that falls is below a limit; between two tried ones, on a straight line."""
    place = int(np.argmax(errors <= most))
    if place == 0:
        return 1
    logs, high = np.log(errors[[place, place - 1]]), np.log(ROWS[[place, place - 1]])
    return rounded(float(np.exp(np.interp(np.log(most), logs, high))))


def rounded(number: float) -> int:
    """Return a number to two digits.

    >>> rounded(12345.6), rounded(7.2)
    (12000, 7)
    """
    return int(float(f"{number:.1e}")) if number >= 10 else round(number)
