"""Parse and check targets such as tvd_2_q16 <= 0.05 or hits <= 0.05 at 0.01."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.errors import PlanError
from sfumato.metrics.catalogue import CATALOGUE, Metric, metric

Comparison = Literal["<=", ">="]
FORM = re.compile(r"\s*([A-Za-z]\w*)\s*(<=|>=|==|=|<|>|!=)\s*(\S+)(?:\s+at\s+(\S+))?\s*")
EXAMPLE = "write for example 'tvd_2_q16 <= 0.05', 'transfer_ari >= 0.6' or 'advantage <= 0.2'"


@dataclass(frozen=True)
class Target:
    """What is asked for: the metric at most, or at least, the bound.

    >>> target = Target.parse("tvd_2_q16 <= 0.05")
    >>> target.metric.name, target.comparison, target.bound, target.is_met(0.04)
    ('tvd_2_q16', '<=', 0.05, True)
    """

    metric: Metric
    comparison: Comparison
    bound: float
    at: float | None = None
    """Where a proved ceiling is taken: the share of false alarms, or of attempts that would succeed by chance."""

    @classmethod
    def parse(cls, text: str | Target) -> Target:
        """Read a target, or refuse it with what is wrong."""
        if isinstance(text, Target):
            return text
        parts = FORM.fullmatch(text)
        if parts is None:
            raise PlanError(
                f"{text!r} is not a target: metric, comparison, number", [f"metrics: {', '.join(CATALOGUE)}"], EXAMPLE
            )
        name, comparison, number, at = parts.groups()
        if comparison not in ("<=", ">="):
            raise PlanError(f"{text!r} compares by {comparison!r}", next_step=f"use <= or >=: {EXAMPLE}")
        target = cls(metric(name), comparison, _number(number, "bound"), None if at is None else _number(at, "share"))
        target._require_sense()
        return target

    def __str__(self) -> str:
        at = "" if self.at is None else f" at {_written(self.at)}"
        return f"{self.metric.name} {self.comparison} {_written(self.bound)}{at}"

    def _require_sense(self) -> None:
        """Refuse a share where none belongs or none is given, and ceilings that nothing or everything meets."""
        problems = self._share_problems()
        if self.metric.proved and not problems:
            problems = self._ceiling_problems()
        if problems:
            name, at = self.metric.name, " at 0.01" if self.metric.at else ""
            example = f"write for example '{name} <= 0.2{at}'" if self.metric.proved else EXAMPLE
            raise PlanError(f"{str(self)!r} is not a target that can be asked for", problems, example)

    def _share_problems(self) -> list[str]:
        name, wanted = self.metric.name, self.metric.at
        if self.at is not None and not wanted:
            return [f"{name} takes no number behind 'at'"]
        if self.at is None and wanted:
            return [f"{name} needs the share of {wanted}, behind 'at'"]
        if self.at is not None and not 0 < self.at < 1:
            return [f"the share of {wanted} must lie between 0 and 1, found {self.at:g}"]
        return []

    def _ceiling_problems(self) -> list[str]:
        floor = self.at or 0.0
        problems = [] if self.comparison == "<=" else [f"{self.metric.name} is a ceiling on risk: compare by <="]
        if not self.bound < 1:
            problems.append(f"every release meets a bound of {self.bound:g}: it must be less than 1")
        if self.bound <= floor:
            free = "is reached without any release" if floor else "would allow no release at all"
            problems.append(f"a bound of {self.bound:g} {free}: it must be above {floor:g}")
        return problems

    def facts(self) -> dict[str, Any]:
        """Return what a result repeats of its question."""
        return {
            "metric": self.metric.name,
            "kind": self.metric.kind,
            "meaning": self.metric.meaning,
            "target": str(self),
            "comparison": self.comparison,
            "bound": self.bound,
        }

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


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise PlanError(f"the {what} {text!r} of the target is not a finite number", next_step=EXAMPLE)
    return value


def _written(number: float) -> str:
    """Return a number in short; one with more digits is written in full, so that it reads back unchanged."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
