"""Violin charts and the tables beside them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.papers.charts import Chart, ViolinOutline
from sfumato.papers.result import ValueTable, value_table
from sfumato.papers.texts import written_part

part = partial(written_part, "sfumato.papers.range_restriction")

POINTS = 41
HEADER = ("synthesizer", "mean", "sd", "smallest", "median", "largest")
TONES = {
    "Weighted": 1,
    "(0.4, 1.8) avg": 0,
    "(0.4, 1.8) trunc": 0,
    "(0.6, 1.2) avg": 2,
    "(0.6, 1.2) trunc": 2,
    "Top 1 %": 3,
    "Top 5 %": 3,
    "Top 10 %": 3,
}
"""One colour for each range, as in the paper; what has none is muted."""


def outline(
    name: str, sample: NDArray[np.float64], tone: int | None = None, logarithmic: bool = False
) -> ViolinOutline:
    """Return the violin of a sample: a Gaussian kernel density between its ends, 1 at its widest.

    >>> outline("equal", np.ones(5)).at
    (1.0,)
    """
    values = np.log(sample) if logarithmic else sample
    middle, spread = float(np.median(sample)), _bandwidth(values)
    if spread == 0:
        return ViolinOutline(name=name, at=(middle,), width=(0.3,), middle=middle, tone=tone)
    at = np.linspace(values.min(), values.max(), POINTS)
    density = np.exp(-0.5 * ((at[:, None] - values) / spread) ** 2).sum(axis=1)
    width = tuple(round(float(w), 4) for w in density / density.max())
    places = np.exp(at) if logarithmic else at
    return ViolinOutline(name=name, at=tuple(float(f"{a:.5g}") for a in places), width=width, middle=middle, tone=tone)


def _bandwidth(values: NDArray[np.float64]) -> float:
    """Return Silverman's bandwidth; 0 where the values hardly differ."""
    low, high = np.quantile(values, [0.25, 0.75])
    widths = [width for width in (float(values.std()), float(high - low) / 1.34) if width > 0]
    narrow = min(widths, default=0.0)
    return 0.9 * narrow * len(values) ** -0.2 if narrow > 1e-9 * max(abs(low), abs(high)) else 0.0


def violin_chart(
    title: str,
    y: str,
    samples: Mapping[str, NDArray[np.float64]],
    rules: tuple[tuple[str, float], ...] = (),
    logarithmic: bool = False,
) -> Chart:
    """Return one chart of named samples."""
    shapes = tuple(
        outline(name, np.asarray(values, float), TONES.get(name), logarithmic) for name, values in samples.items()
    )
    label = f"Violins of {y} for {', '.join(samples)}; the medians stand in the table."
    return Chart(kind="violins", title=title, label=label, y=y, shapes=shapes, rules=rules, logarithmic=logarithmic)


def spread_table(title: str, samples: Mapping[str, NDArray[np.float64]]) -> ValueTable:
    """Return one line for each synthesizer."""
    return value_table(title, HEADER, ((name, *_facts(np.asarray(each, float))) for name, each in samples.items()))


def _facts(values: NDArray[np.float64]) -> list[str]:
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    facts = (values.mean(), spread, values.min(), np.median(values), values.max())
    return [format_digits(float(fact)) for fact in facts]


def violins(
    title: str, y: str, samples: Mapping[str, NDArray[np.float64]], table: str | None = None, **drawn: Any
) -> dict[str, Any]:
    """Return what a part shows of named samples: their table, titled by ``y`` if not otherwise, and their chart."""
    return {"values": (spread_table(table or y, samples),), "charts": (violin_chart(title, y, samples, **drawn),)}


def format_digits(value: float, digits: int = 4) -> str:
    """Return a number with so many digits that count, without an exponent.

    >>> format_digits(28.1597), format_digits(0.0476512), format_digits(57771.158), format_digits(1.0)
    ('28.16', '0.04765', '57,770', '1')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.{digits}g}"


def list_values(samples: Mapping[str, float], digits: int = 3) -> str:
    """Return names with their numbers in one line."""
    return ", ".join(f"{name} {format_digits(value, digits)}" for name, value in samples.items())
