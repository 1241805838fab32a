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

from sfumato.core.method import Makes, Method, Output
from sfumato.core.plan import Plan
from sfumato.errors import PlanError
from sfumato.evaluate.utility.clusters import ALIGNED_WARNING
from sfumato.privacy.exact import at_most, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.table import Table

Kind = Literal["utility", "risk"]
HOMES: dict[Kind, str] = {
    "utility": "sfumato.evaluate.calibrate.trial",
    "risk": "sfumato.evaluate.calibrate.trial",
}
"""Where the functions of a kind of metric live."""
ANY_DATA: tuple[Makes, ...] = ("counts", "rows")
ROWS: tuple[Makes, ...] = ("rows",)
EVERYTHING: tuple[Makes, ...] = ("counts", "rows", "values")
WHOLE_OPTIONS = {"clusters": (1, 1), "rings": (3, 1), "trials": (200, 1), "person": (0, 0)}
"""Options that are whole numbers: an example, and the least."""
BASES = tuple(10**power for power in range(2, 10))
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
    plain: str = ""
    """What a value means for a person who uses the data, with {value} or {hundred}, which is 100 times as much."""
    proved: bool = False
    """A ceiling that follows from the proved curve of the plan's events: no table is looked at, nothing is run."""
    at: str = ""
    """What the number behind "at" in its target is; a metric without one takes no such number."""

    def measure(self, trial: Trial) -> float:
        """Return the metric of one trial."""
        return float(self._find(self.function)(trial, **self.arguments))

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
    typical = {1: "column", 2: "cross table of two columns", 3: "cross table of three columns"}[order]
    return Metric(
        f"tvd_{order}",
        f"total-variation distance of the released shares, mean over {words}",
        "utility",
        "distance",
        {"order": order},
        options=("columns",),
        in_records="marginal_misplaced_records",
        possible="require_tables",
        plain=f"in an average {typical}, {{hundred}} of 100 rows would have to move for it to be right, and any share "
        "read from it is wrong by at most {hundred} percentage points.",
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
        plain="the share of rows below any limit, such as all who earn less than so much, is wrong by up to {hundred} "
        "percentage points in the worst column.",
    ),
    Metric(
        "entropy_error",
        "absolute error of the Shannon entropy in bits, mean over single columns",
        "utility",
        "entropy_error",
        options=("columns",),
        plain="how evenly an average column is spread over its values is wrong by {value} bits; a fair coin has 1 bit.",
    ),
    Metric(
        "transfer_ari",
        "agreement of clusters learned from the release with those of the rows; 1 is perfect",
        "utility",
        "transfer_ari_of_trial",
        makes=ROWS,
        options=("clusters*", "columns"),
        possible="require_numbers",
        plain="groups found in the release agree with those of the true rows to {value}, where 0 is chance and 1 the "
        "same groups.",
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
        plain="{hundred} of 100 rows belong to another group than the release says, or lie at another distance from "
        "its middle.",
    ),
    Metric(
        "aligned_ari",
        "diagnostic of the paper on cluster geometry: clusters of row i against row i, before the rows are shuffled",
        "utility",
        "aligned_ari_of_trial",
        makes=ROWS,
        possible="require_aligned",
        warning=ALIGNED_WARNING,
        plain="the paper's index is {value}; noise alone can reach it, so it says little about use.",
    ),
    Metric(
        "homogeneity_record",
        "chance that a person's sensitive value is read off rightly, mean over cells",
        "risk",
        "homogeneity_risk",
        {"view": "record"},
        options=CELLS,
        exact=CLOSED,
        plain="in an average cell, a neighbour reads off a person's sensitive value rightly in {hundred} of 100 tries.",
    ),
    Metric(
        "homogeneity_conservative",
        "chance that a value which occurs in the cell is read off, mean over cells",
        "risk",
        "homogeneity_risk",
        {"view": "conservative"},
        options=CELLS,
        exact=CLOSED,
        plain="in an average cell, a neighbour reads off a sensitive value that somebody there has in {hundred} of 100 "
        "tries.",
    ),
    Metric(
        "membership_auc",
        "area under the curve of the attack that tells who is in the table; 0.5 is blind",
        "risk",
        "membership",
        {"what": "auc"},
        EVERYTHING,
        options=("trials", "person"),
        plain="shown a release with a person and one without, an attacker tells which is which in {hundred} of 100 "
        "tries; guessing does in 50.",
    ),
    Metric(
        "membership_rate",
        "share of right answers of the same attack, both answers equally likely",
        "risk",
        "membership",
        {"what": "rate"},
        EVERYTHING,
        options=("trials", "person"),
        plain="asked whether a person is in the table, an attacker is right {hundred} of 100 times; a coin, 50.",
    ),
    Metric(
        "inference_gain",
        "right guesses of the sensitive value, people in the table less people who are not",
        "risk",
        "inference",
        {"what": "gain"},
        options=(*CELLS, "trials"),
        plain="of 100 people in the table, {hundred} more have their sensitive value guessed rightly than of 100 "
        "others: so much is given away about members.",
    ),
    Metric(
        "inference_rate",
        "share of right guesses of the sensitive value of people in the table",
        "risk",
        "inference",
        {"what": "rate"},
        options=(*CELLS, "trials"),
        plain="the sensitive value of {hundred} of 100 people in the table is guessed rightly, also by what is true of "
        "everybody.",
    ),
    Metric(
        "lid",
        "share of rows with a released number within the method's tolerance of their own, as it states it",
        "risk",
        "reported_lid",
        makes=ROWS,
        plain="{hundred} of 100 rows have a released number that nearly is their own.",
    ),
    Metric(
        "advantage",
        "hits less false alarms of the best attacker who asks whether somebody is in the table: a proved ceiling",
        "risk",
        "",
        makes=EVERYTHING,
        proved=True,
        plain="of 100 people in the table an attacker names at most {hundred} more than of 100 who are not in it; "
        "without a release he names as many of both.",
    ),
    Metric(
        "hits",
        "people in the table who are found, at a share of false alarms: a proved ceiling",
        "risk",
        "",
        makes=EVERYTHING,
        proved=True,
        at="false alarms",
        plain="an attacker who wrongly names {chance} of {base} people who are not in the table finds at most {found} "
        "of {base} who are.",
    ),
    Metric(
        "success",
        "attempts at singling out, linkage, inference or reconstruction that succeed, where a share of them would by "
        "chance: a proved ceiling",
        "risk",
        "",
        makes=EVERYTHING,
        proved=True,
        at="success by chance",
        plain="of {base} attempts that would succeed by chance in {chance}, at most {found} succeed with the release.",
    ),
)
CATALOGUE: dict[str, Metric] = {each.name: each for each in _METRICS}


def base_of(share: float) -> int:
    """Return of how many a share is told: 100, or as many as make it one at least, up to a billion.

    >>> base_of(0.1), base_of(0.001), base_of(0.0)
    (100, 1000, 100)
    """
    return next((base for base in BASES if base * share >= 1), 100)


def metric(name: str) -> Metric:
    """Return a metric by name; an unknown one is refused with the names of all."""
    if name not in CATALOGUE:
        raise PlanError(
            f"there is no metric {name!r}",
            [f"{m.name}: {m.meaning}" for m in CATALOGUE.values()],
            f"use one of: {', '.join(CATALOGUE)}",
        )
    return CATALOGUE[name]


def register_metric(new: Metric) -> Metric:
    """Make a metric of your own known to targets."""
    CATALOGUE[new.name] = new
    return new
