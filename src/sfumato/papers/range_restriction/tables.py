"""Tables of samples: mean, spread and quartiles of whatever the violins show."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.papers.range_restriction.data import Array
from sfumato.papers.range_restriction.results import Values

HEADER = ("synthesizer", "mean", "sd", "smallest", "median", "largest")


def spread_table(title: str, samples: Mapping[str, Array], factor: float = 1.0, digits: int = 4) -> Values:
    """Return one line for each synthesizer."""
    rows = tuple((name, *_facts(np.asarray(values, float) * factor, digits)) for name, values in samples.items())
    return Values(title=title, header=HEADER, rows=rows, numbers=(1, 2, 3, 4, 5))


def _facts(values: Array, digits: int) -> list[str]:
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    facts = (values.mean(), spread, values.min(), np.median(values), values.max())
    return [say(float(fact), digits) for fact in facts]


def say(value: float, digits: int = 4) -> str:
    """Return a number with so many digits that count, without an exponent.

    >>> say(28.1597), say(0.0476512), say(57771.158), say(1.0)
    ('28.16', '0.04765', '57,770', '1')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.{digits}g}"


def listed(samples: Mapping[str, float], digits: int = 3) -> str:
    """Return names with their numbers in one line."""
    return ", ".join(f"{name} {say(value, digits)}" for name, value in samples.items())
