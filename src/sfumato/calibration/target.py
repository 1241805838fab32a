"""Targets: a metric, a comparison and a number, such as ``tvd_2 <= 0.05``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.calibration.metrics import METRICS, Metric, metric
from sfumato.errors import PlanError

Comparison = Literal["<=", ">="]
FORM = re.compile(r"\s*([A-Za-z]\w*)\s*(<=|>=|==|=|<|>|!=)\s*(\S+)\s*")
EXAMPLE = "write for example 'tvd_2 <= 0.05' or 'transfer_ari >= 0.6'"


@dataclass(frozen=True)
class Target:
    """What is asked for: the metric at most, or at least, the bound.

    >>> target = Target.parse("tvd_2 <= 0.05")
    >>> target.metric.name, target.comparison, target.bound, target.is_met(0.04)
    ('tvd_2', '<=', 0.05, True)
    """

    metric: Metric
    comparison: Comparison
    bound: float

    @classmethod
    def parse(cls, text: str | Target) -> Target:
        """Read a target, or refuse it with what is wrong."""
        if isinstance(text, Target):
            return text
        found = FORM.fullmatch(text)
        if found is None:
            raise PlanError(
                f"{text!r} is not a target: metric, comparison, number", [f"metrics: {', '.join(METRICS)}"], EXAMPLE
            )
        name, comparison, number = found.groups()
        if comparison not in ("<=", ">="):
            raise PlanError(f"{text!r} compares by {comparison!r}", next_step=f"use <= or >=: {EXAMPLE}")
        return cls(metric(name), comparison, _bound(number))

    def __str__(self) -> str:
        short = f"{self.bound:g}"  # a bound with more digits is written in full, so that it reads back unchanged
        return f"{self.metric.name} {self.comparison} {short if float(short) == self.bound else repr(self.bound)}"

    def is_met(self, value: float) -> bool:
        """Whether a number lies on the wanted side."""
        return value <= self.bound if self.comparison == "<=" else value >= self.bound

    def worst(self, low: float, high: float) -> float:
        """Return the end of an interval that must meet the bound."""
        return high if self.comparison == "<=" else low

    def require(self, makes: str, method: str, options: Mapping[str, Any]) -> None:
        """Refuse releases that the metric cannot measure and options that it lacks or does not know, all at once."""
        problems: list[str] = []
        if makes not in self.metric.makes:
            problems.append(f"{method} releases {makes}, {self.metric.name} needs {self.metric.needs()}")
        problems += [f"option {name!r} is missing" for name in self.metric.needed if name not in options]
        known = ", ".join(self.metric.known) or "none"
        problems += [f"unknown option {name!r}; it has: {known}" for name in options if name not in self.metric.known]
        if problems:
            raise PlanError(
                f"{self.metric.name} cannot be measured here",
                problems,
                "choose another metric or method, or give the options",
            )


def _bound(number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise PlanError(f"the bound {number!r} of the target is not a finite number", next_step=EXAMPLE)
    return value
