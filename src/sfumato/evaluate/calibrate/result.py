"""Result of a calibration: curve, feasible intervals, choice and cost."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sfumato.errors import PlanError
from sfumato.evaluate.calibrate.explain import advice, explain_ceiling
from sfumato.evaluate.calibrate.target import Comparison
from sfumato.formatting import capitalize_first
from sfumato.privacy.accounting.strength import warnings
from sfumato.privacy.exact import to_fraction

if TYPE_CHECKING:
    from sfumato.core.release import Release
    from sfumato.privacy.accounting.guarantee import Guarantee

Cost = Literal["pilot", "declared", "private", "public"]
Prefer = Literal["smallest", "largest"]
Search = Literal["grid", "bisection", "ladder"]
CONFIDENTIAL = "computed from the private table without noise: for the custodian, not for publication"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Point(_Part):
    """The metric at one value of the parameter: mean over repeated runs, and an interval for that mean."""

    value: float
    mean: float
    low: float
    high: float
    sd: float
    repeats: int
    exact: bool = False
    """A closed form: no chance, no interval."""
    meets: bool
    """Whether the worse end of the interval meets the target."""

    @classmethod
    def closed_form(cls, value: float, number: float, meets: bool) -> Point:
        """Return a point without chance."""
        return cls(value=value, mean=number, low=number, high=number, sd=0.0, repeats=1, exact=True, meets=meets)


class Charge(_Part):
    """What the selection itself cost, under cost="private"."""

    epsilon: str
    delta: str
    """Recorded as spent: every candidate that was run, and every score."""
    most_epsilon: str
    most_delta: str
    """What it could have cost at most: the guarantee of the whole selection, which the kept release states."""
    candidates_run: int
    candidates: int
    recorded: bool


class ProvedCeiling(_Part):
    """What belongs to a proved ceiling on risk: where it was taken, and what the stated pair alone would have given."""

    at: float | None
    """Share of false alarms, or of attempts that would succeed by chance."""
    delta: str
    """Delta of the method at the choice."""
    unit: str
    """What one neighbouring change adds, removes or replaces."""
    by_pair: float | None
    """The largest value that the stated epsilon and delta alone would have allowed."""
    pair: tuple[Point, ...]
    """The ceiling of the stated pair, at the values of the points."""
    any_table: bool
    """No schema was given: the curve is the same for every table."""


class Calibration(_Part):
    """The curve of a metric against a parameter, and which values meet a target."""

    method: str
    table: str
    parameter: str
    metric: str
    kind: Literal["utility", "risk"]
    meaning: str
    target: str
    comparison: Comparison
    bound: float
    prefer: Prefer
    search: Search
    points: tuple[Point, ...]
    intervals: tuple[tuple[float, float], ...]
    """Runs of neighbouring values that meet the target, by the values that were tried."""
    chosen: float | None
    monotone: bool
    """False where the curve certainly rises somewhere and certainly falls elsewhere."""
    level: float
    """Probability that the intervals of all points hold together."""
    cost: Cost
    private_data_used: bool
    assumption: str
    """Words that belong into the guarantee of a release with the chosen value."""
    charge: Charge | None = None
    proved: ProvedCeiling | None = None
    """For ceilings that follow from the proved curve, under cost="public"."""
    randomness: Literal["secure", "seeded"] = "secure"
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    notes: tuple[str, ...] = ()
    release: Any = Field(default=None, exclude=True, repr=False)
    """Under cost="private": the chosen candidate itself, already paid for. Not part of the JSON."""

    @property
    def feasible(self) -> bool:
        """Whether any tried value meets the target."""
        return self.chosen is not None

    @property
    def best(self) -> Point:
        """The point whose mean comes nearest to what the target asks for."""
        sign = 1 if self.comparison == "<=" else -1
        return min(self.points, key=lambda point: sign * point.mean)

    def point(self, value: float) -> Point:
        """Return the point of one value."""
        return next(point for point in self.points if point.value == value)

    def declare(self, release: Release) -> Release:
        """Return a release whose guarantee says how its parameter was chosen; its model says the same.

        A choice that looked at the private table uncharged stands in the first line. A kept release of a charged
        selection already carries all of it.
        """
        guarantee = release.guarantee
        if self.cost == "private":
            self._require_kept(guarantee)
            return release
        facts = {"assumptions": (*guarantee.assumptions, self.assumption)}
        looked = {"uncharged": self.parameter} if self.cost == "declared" else {}
        return release.promising(guarantee.model_copy(update={**facts, **looked}))

    def _require_kept(self, guarantee: Guarantee) -> None:
        if guarantee.selection is None:
            raise PlanError(
                "this release is not the one that the charged selection kept, so its cost is another",
                next_step="use found.release: it is paid for and carries the guarantee of the selection",
            )

    def statement(self) -> str:
        """Return the answer in plain words: the choice, the shape of the curve, what was charged."""
        lines = [self.answer(), *advice(self), *self.cautions(), *self.notes, f"{as_sentence(self.assumption)}"]
        if self.cost == "declared":
            lines.append(f"Every number here is {CONFIDENTIAL}.")
        if self.randomness == "seeded" and self.charge is not None:
            lines.append("NOT FOR RELEASE: the noise came from a fixed seed.")
        return "\n".join(lines)

    def answer(self) -> str:
        """Return the choice in one or two sentences."""
        if self.proved is not None:
            return explain_ceiling(self, self.proved)
        tried = f"{len(self.points)} values of {self.parameter} from {self.points[0].value:g} to "
        tried += f"{self.points[-1].value:g}"
        if self.chosen is None:
            best = point_text(self.best, self.parameter)
            return f"{self.target} was not reached by any of {tried}. The best is {best}."
        if self.charge is not None:
            where = f"candidate {self.charge.candidates_run} of {self.charge.candidates}"
            noisy = f"noisy {self.metric} {point_text(self.point(self.chosen))}"
            return f"The ladder stopped at {self.parameter} = {self.chosen:g}, {where}: {noisy}, target {self.target}."
        point = self.point(self.chosen)
        lowest = " of the lowest interval" if self.prefer == "largest" and len(self.intervals) > 1 else ""
        which = f"the {self.prefer} value{lowest} that meets {self.target}"
        return f"{self.parameter} = {self.chosen:g} is {which}, of {tried}: {point_text(point)}."

    def cautions(self) -> list[str]:
        """Return what a reader must know before using the choice."""
        lines: list[str] = []
        if not self.monotone:
            lines.append("The curve is not monotone: it rises and it falls by more than chance explains.")
        if len(self.intervals) > 1:
            shown = ", ".join(f"{low:g} to {high:g}" for low, high in self.intervals)
            chance = "" if not self.monotone else "; gaps between them may be chance"
            lines.append(f"The target is met in {len(self.intervals)} separate intervals: {shown}{chance}.")
        if self.feasible and not self._is_connected():
            side = "larger" if self.prefer == "smallest" else "smaller"
            lines.append(f"Some {side} values miss the target again: prefer the choice only if you know why.")
        if self.feasible and self.search != "ladder" and self.proved is None and self._is_at_the_edge():
            side = "below" if self.prefer == "smallest" else "above"
            lines.append(f"The choice is the {self.prefer} value that was tried: values {side} it may do as well.")
        if self.chosen is not None and self.parameter == "epsilon" and self.charge is None:
            lines += [as_sentence(warning) for warning in warnings(to_fraction(self.chosen), Fraction(0))]
        return lines

    def _is_at_the_edge(self) -> bool:
        return self.chosen == (self.points[0] if self.prefer == "smallest" else self.points[-1]).value

    def _is_connected(self) -> bool:
        """Whether the chosen interval reaches the end where the metric is expected to be good."""
        if self.search == "ladder":
            return True
        if self.prefer == "smallest":
            return self.intervals[0][1] == self.points[-1].value
        return self.intervals[0][0] == self.points[0].value


def point_text(point: Point, parameter: str = "") -> str:
    """Return one point in words."""
    where = f"{parameter} = {point.value:g} with " if parameter else ""
    if point.exact:
        return f"{where}exactly {point.mean:.4g}"
    return f"{where}{point.mean:.4g} ({point.low:.4g} to {point.high:.4g})"


def as_sentence(text: str) -> str:
    """Return an assumption as a sentence of its own."""
    return f"{capitalize_first(text)}."


def intervals_of(points: tuple[Point, ...]) -> tuple[tuple[float, float], ...]:
    """Return the runs of neighbouring points that meet the target."""
    ends: list[tuple[float, float]] = []
    before = False
    for point in points:
        if point.meets:
            ends = [*ends[:-1], (ends[-1][0], point.value)] if before else [*ends, (point.value, point.value)]
        before = point.meets
    return tuple(ends)


def is_monotone(points: tuple[Point, ...]) -> bool:
    """Whether the curve rises nowhere or falls nowhere by more than the intervals of two points allow."""
    pairs = list(combinations(points, 2))
    rises = any(later.low > earlier.high for earlier, later in pairs)
    falls = any(later.high < earlier.low for earlier, later in pairs)
    return not (rises and falls)


def choice_of(intervals: tuple[tuple[float, float], ...], prefer: Prefer) -> float | None:
    """Return the chosen value: an end of the lowest interval."""
    if not intervals:
        return None
    return intervals[0][0] if prefer == "smallest" else intervals[0][1]
