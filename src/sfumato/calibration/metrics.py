"""The metrics by name: what a target of :func:`sfumato.calibrate` may speak about.

Each metric measures one :class:`Trial`: a method at one setting, run once on a table. Numbers are computed from the
true rows without noise. They are for the custodian, unless the table is a pilot.

>>> metric("tvd_2").kind, metric("membership_auc").kind
('utility', 'risk')
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from sfumato.errors import PlanError
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Makes, Method, Output
from sfumato.release.plan import Plan
from sfumato.table import Table
from sfumato.utility.clusters import ALIGNED_WARNING

Kind = Literal["utility", "risk"]
HOMES: dict[Kind, str] = {
    "utility": "sfumato.calibration.utility_measures",
    "risk": "sfumato.calibration.risk_measures",
}
"""Where the functions of a kind of metric live."""
ANY_DATA: tuple[Makes, ...] = ("counts", "rows")
ROWS: tuple[Makes, ...] = ("rows",)
EVERYTHING: tuple[Makes, ...] = ("counts", "rows", "values")
WHOLE_OPTIONS = {"clusters": (1, 1), "rings": (3, 1), "trials": (200, 1), "person": (0, 0)}
"""Options that are whole numbers: an example, and the least."""
COLUMN_OPTIONS = ("columns", "identifiers", "sensitive")


@dataclass(frozen=True)
class Trial:
    """One method at one setting on one table, with the options of the metric. Runs when its output is asked for."""

    table: Table
    method: Method
    seed: int
    rows: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    made: Mapping[tuple[str, ...], pa.Table] | None = None
    """What was released already; none for a simulated run."""
    memory: dict[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    """What all trials on one table share, such as its cells."""

    def remembered(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return something about the table that is computed once for all trials."""
        if name not in self.memory:
            self.memory[name] = compute()
        return self.memory[name]

    @cached_property
    def plan(self) -> Plan:
        """What the method would record."""
        return self.method.plan(self.table.schema, self.rows, "seeded")

    @cached_property
    def output(self) -> Output:
        """What the method hands back in a run of its own."""
        return self.method.run(self.table, self.plan, Randomness.of(self.seed), self.rows)

    @property
    def tables(self) -> Mapping[tuple[str, ...], pa.Table]:
        """What came out: count tables, or the one table of rows."""
        return self.output.tables if self.made is None else self.made

    def names(self, option: str) -> tuple[str, ...] | None:
        """Read an option that lists columns; none where it is not given."""
        value = self.options.get(option)
        if value is None:
            return None
        names = tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else tuple(value)
        for name in names:
            self.table.schema[name]  # refuses what is not a column
        return names

    def require_options(self) -> None:
        """Read every option once: a wrong one is refused before anything is run or spent."""
        for option in self.options:
            if option in WHOLE_OPTIONS:
                self.whole(option, *WHOLE_OPTIONS[option])
            elif option in COLUMN_OPTIONS:
                self.names(option)

    def whole(self, option: str, default: int, least: int) -> int:
        """Read a whole option of at least so much; the default where it is not given."""
        value = self.options.get(option, default)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not (math.isfinite(number) and number.is_integer() and number >= least):
            raise PlanError(
                f"{option} must be a whole number of at least {least}, found {value!r}",
                next_step=f"write {option}={max(default, least)}",
            )
        return int(number)


@dataclass(frozen=True)
class Metric:
    """One registered metric: what it means, what it needs, and whether a bounded sensitivity is proved."""

    name: str
    meaning: str
    kind: Kind
    """Utility asks for a larger epsilon, risk for a smaller one."""
    function: str | Callable[..., float]
    """Takes a trial and the arguments; a name stands for a function in the module of the metric's kind."""
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

    def measure(self, trial: Trial) -> float:
        """Return the metric of one trial."""
        return float(self._find(self.function)(trial, **self.arguments))

    def records(self, trial: Trial) -> Any:
        """Return the metric times n and n: what private selection adds noise to."""
        return self._find(self.in_records)(trial, **self.arguments)

    def require(self, trial: Trial) -> None:
        """Refuse options that cannot be read and releases that cannot be measured, by public facts alone."""
        trial.require_options()
        if self.possible:
            self._find(self.possible)(trial, **self.arguments)

    def is_exact(self, trial: Trial) -> bool:
        """Whether one computation is enough."""
        return bool(self.exact) and bool(self._find(self.exact)(trial))

    def _find(self, name: str | Callable[..., Any]) -> Callable[..., Any]:
        return getattr(importlib.import_module(HOMES[self.kind]), name) if isinstance(name, str) else name

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
        made = {ANY_DATA: "counts or rows", ROWS: "rows"}.get(self.makes, "any release")
        return ", ".join([made, *(f"{name}=..." for name in self.needed)])


def _distance(order: int) -> Metric:
    words = {1: "single columns", 2: "pairs of columns", 3: "triples of columns"}[order]
    return Metric(
        f"tvd_{order}",
        f"total-variation distance of the released shares, mean over {words}",
        "utility",
        "distance",
        {"order": order},
        options=("columns",),
        in_records="distance_in_records",
        possible="require_tables",
    )


CELLS = ("identifiers", "sensitive")
CLOSED = "homogeneity_is_exact"
_METRICS = (
    _distance(1),
    _distance(2),
    _distance(3),
    Metric(
        "ecdf_max",
        "largest difference of distribution functions over the public bins, worst ordered column",
        "utility",
        "ecdf",
        options=("columns",),
        in_records="ecdf_in_records",
        possible="require_tables",
    ),
    Metric(
        "entropy_error",
        "absolute error of the Shannon entropy in bits, mean over single columns",
        "utility",
        "entropy_error",
        options=("columns",),
    ),
    Metric(
        "transfer_ari",
        "agreement of clusters learned from the release with those of the rows; 1 is perfect",
        "utility",
        "clusters_kept",
        makes=ROWS,
        options=("clusters*", "columns"),
        possible="require_numbers",
    ),
    Metric(
        "cluster_tvd",
        "share of rows that the released clusters put into a wrong cluster, or at a wrong distance from its centre",
        "utility",
        "clusters_misplaced",
        makes=ROWS,
        options=("clusters*", "columns", "rings"),
        in_records="clusters_in_records",
        possible="require_numbers",
    ),
    Metric(
        "aligned_ari",
        "diagnostic of the paper on cluster geometry: clusters of row i against row i, before the rows are shuffled",
        "utility",
        "aligned",
        makes=ROWS,
        possible="require_aligned",
        warning=ALIGNED_WARNING,
    ),
    Metric(
        "homogeneity_record",
        "chance that a person's sensitive value is read off rightly, mean over cells",
        "risk",
        "homogeneity",
        {"view": "record"},
        options=CELLS,
        exact=CLOSED,
    ),
    Metric(
        "homogeneity_conservative",
        "chance that a value which occurs in the cell is read off, mean over cells",
        "risk",
        "homogeneity",
        {"view": "conservative"},
        options=CELLS,
        exact=CLOSED,
    ),
    Metric(
        "membership_auc",
        "area under the curve of the attack that tells who is in the table; 0.5 is blind",
        "risk",
        "membership",
        {"what": "auc"},
        EVERYTHING,
        options=("trials", "person"),
    ),
    Metric(
        "membership_rate",
        "share of right answers of the same attack, both answers equally likely",
        "risk",
        "membership",
        {"what": "rate"},
        EVERYTHING,
        options=("trials", "person"),
    ),
    Metric(
        "inference_gain",
        "right guesses of the sensitive value, people in the table less people who are not",
        "risk",
        "inference",
        {"what": "gain"},
        options=(*CELLS, "trials"),
    ),
    Metric(
        "inference_rate",
        "share of right guesses of the sensitive value of people in the table",
        "risk",
        "inference",
        {"what": "rate"},
        options=(*CELLS, "trials"),
    ),
    Metric(
        "lid",
        "share of rows with a released number within the method's tolerance of their own, as it states it",
        "risk",
        "stated_disclosure",
        makes=ROWS,
    ),
)
METRICS: dict[str, Metric] = {each.name: each for each in _METRICS}


def metric(name: str) -> Metric:
    """Return a metric by name; an unknown one is refused with the names of all."""
    if name not in METRICS:
        raise PlanError(
            f"there is no metric {name!r}",
            [f"{m.name}: {m.meaning}" for m in METRICS.values()],
            f"use one of: {', '.join(METRICS)}",
        )
    return METRICS[name]


def register_metric(new: Metric) -> Metric:
    """Make a metric of your own known to targets."""
    METRICS[new.name] = new
    return new
