"""Catalogue of all metrics: name, label, meaning, direction, and the data each one needs in a calibration.

The texts are data, in ``catalogue.toml``. A target of :func:`sfumato.calibrate` speaks of the metrics with a kind.

>>> metric("tvd_2_q16").kind, metric("membership_auc").kind
('utility', 'risk')
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal, Protocol

from sfumato.core.method import Makes
from sfumato.errors import PlanError
from sfumato.lazy import load_object
from sfumato.privacy.exact import at_most, to_fraction

Kind = Literal["utility", "risk"]
TRIALS = "sfumato.evaluate.calibrate.trial"
"""Where the functions live that measure a metric on one simulated release."""
ANY_DATA: tuple[Makes, ...] = ("counts", "rows")
ROWS: tuple[Makes, ...] = ("rows",)
BASES = tuple(10**power for power in range(2, 10))


class MeasuredTrial(Protocol):
    """One release on one table, with the options of a metric; reads and checks these."""

    def require_options(self) -> None:
        """Refuse options that cannot be read."""
        ...


@dataclass(frozen=True)
class Metric:
    """One metric: what it means, what it needs, and whether a bounded sensitivity is proved."""

    name: str
    meaning: str
    label: str = ""
    """What it is about, in two or three words."""
    larger_is_better: bool = False
    kind: Kind | None = None
    """Utility asks for a larger epsilon, risk for a smaller one; None: no target speaks of it."""
    function: str | Callable[..., float] = ""
    """Function that measures a trial, with the arguments, in the module of trials; or that of ``in_records`` does."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    makes: tuple[Makes, ...] = ANY_DATA
    """Kinds of releases that it can measure."""
    options: tuple[str, ...] = ()
    """Options that it takes; those with a star must be given."""
    in_records: str = ""
    """Function that gives the metric times n, as an exact fraction that one record moves by at most 1; or nothing."""
    exact: str = ""
    """Function that says whether a trial has no chance in it; chance unless there is one."""
    possible: str = ""
    """Function that refuses a trial by public facts alone, before anything is run or spent."""
    warning: str = ""
    """What everybody who chooses by it must read."""
    plain: str = ""
    """What a value means for a person who uses the data, with {value} or {hundred}, which is 100 times as much."""
    proved: bool = False
    """A ceiling that follows from the proved curve of the plan's events: no table is looked at, nothing is run."""
    at: str = ""
    """What the number behind "at" in its target is; a metric without one takes no such number."""
    advice: tuple[str, ...] = ()
    """What else moves it, beside the parameter of a method."""

    def measure(self, trial: MeasuredTrial) -> float:
        """Return the metric of one trial."""
        if not self.function:
            return self.records(trial).share
        return float(_function(self.function)(trial, **self.arguments))

    def in_plain_words(self, value: float, at: float | None = None) -> str:
        """Say what a value means for a person, in frequencies; ``at`` is the number behind "at" in its target.

        >>> metric("membership_rate").in_plain_words(0.55)
        'asked whether a person is in the table, an attacker is right 55 of 100 times; a coin, 50.'
        >>> metric("success").in_plain_words(0.17, at=0.1)
        'of 100 attempts that would succeed by chance in 10, at most 17 succeed with the release.'
        """
        base = base_of(at or 1.0)
        return self.plain.format(
            value=f"{value:.3g}",
            hundred=at_most(100 * to_fraction(value), 3),
            base=f"{base:,}",
            found=at_most(base * to_fraction(value), 4),
            chance=f"{base * (at or 0):.3g}",
        )

    def records(self, trial: MeasuredTrial) -> Any:
        """Return the metric times n and n: what private selection adds noise to."""
        return _function(self.in_records)(trial, **self.arguments)

    def require(self, trial: MeasuredTrial) -> None:
        """Refuse options that cannot be read and releases that cannot be measured, by public facts alone."""
        trial.require_options()
        if self.possible:
            _function(self.possible)(trial, **self.arguments)

    def is_exact(self, trial: MeasuredTrial) -> bool:
        """Whether one computation is enough."""
        return bool(self.exact) and bool(_function(self.exact)(trial))

    @property
    def needed(self) -> tuple[str, ...]:
        """Options without which it cannot be computed."""
        return tuple(name.rstrip("*") for name in self.options if name.endswith("*"))

    @property
    def known(self) -> tuple[str, ...]:
        """All options."""
        return tuple(name.rstrip("*") for name in self.options)

    def needs(self) -> str:
        """Say what a release must be made of, and which options must be given."""
        released = {ANY_DATA: "counts or rows", ROWS: "rows"}.get(self.makes, "any release")
        return ", ".join([released, *(f"{name}=..." for name in self.needed)])


def _function(name: str | Callable[..., Any]) -> Callable[..., Any]:
    return load_object(f"{TRIALS}:{name}") if isinstance(name, str) else name


def _read() -> tuple[dict[str, Metric], dict[str, list[str]]]:
    """Return all metrics in the order of the file, and what former names became."""
    data = tomllib.loads((files("sfumato.metrics") / "catalogue.toml").read_text(encoding="utf-8"))
    texts, renamed = data.pop("advice"), data.pop("renamed")
    metrics: dict[str, Metric] = {}
    for name, facts in data.items():
        lists = {key: tuple(value) for key, value in facts.items() if isinstance(value, list)}
        lists["advice"] = tuple(line for key in facts.get("advice", ()) for line in texts[key])
        metrics[name] = Metric(name, **(facts | lists))
    return metrics, renamed


METRICS, RENAMED = _read()
CATALOGUE: dict[str, Metric] = {name: each for name, each in METRICS.items() if each.kind is not None}
"""The metrics of which a target may speak."""


def base_of(share: float) -> int:
    """Return of how many a share is told: 100, or as many as make it one at least, up to a billion.

    >>> base_of(0.1), base_of(0.001), base_of(0.0)
    (100, 1000, 100)
    """
    return next((base for base in BASES if base * share >= 1), 100)


def metric(name: str) -> Metric:
    """Return a metric that a target may speak of; an unknown one is refused with the names of all."""
    if name not in CATALOGUE:
        known = RENAMED.get(name, CATALOGUE)
        raise PlanError(
            f"there is no metric {name!r}" + (", as its name states no binning" if name in RENAMED else ""),
            [f"{each}: {CATALOGUE[each].meaning}" for each in known],
            f"use one of: {', '.join(known)}",
        )
    return CATALOGUE[name]
