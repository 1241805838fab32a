"""Page on a calibration: a metric against a parameter, with the target and the choices.

Beside it, for orientation: which epsilons others took.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.evaluate.calibrate.deployments import Deployment, by_epsilon, nearest_deployments, orientation_text
from sfumato.evaluate.calibrate.explain import advice, explain_value
from sfumato.evaluate.calibrate.result import CONFIDENTIAL, Calibration, Point, as_sentence
from sfumato.formatting import percent
from sfumato.privacy.exact import at_most, to_fraction
from sfumato.report.charts.figure import figure_html
from sfumato.report.charts.marks import LineMark, Lines, RuleMark, describe_ends, lines
from sfumato.report.charts.plane import Axis
from sfumato.report.homogeneity_page import TableBlock
from sfumato.report.page import render_page
from sfumato.version import __version__

HEIGHT = 340

MOST_PLACES = 8

"""As many tried values have a tick each."""

MARGIN = 1.12

"""A single feasible value is shaded this factor to both sides."""

SIDE = 0.02

"""Where steps are equal: this share of the axis to both sides."""


def trade_off_chart(found: Calibration) -> Markup:
    """Return points and intervals of the metric, the target as a line, feasible values shaded, the choice ringed."""
    line = LineMark(
        f"{found.metric} of {found.method}",
        [point.value for point in found.points],
        [point.mean for point in found.points],
        [point.low for point in found.points],
        [point.high for point in found.points],
    )
    x, y, drawn = _across(found), Axis(found.metric), [line, *_of_pair(found)]
    rules = (RuleMark(f"target: {found.target}", found.bound, goal=True),)
    chosen = None if found.chosen is None else RuleMark(f"chosen: {found.parameter} = {found.chosen:g}", found.chosen)
    said = [describe_ends(drawn, x, y), f"{rules[0].words}.", f"{chosen.words}." if chosen else "No value meets it."]
    return lines(
        drawn,
        x,
        y,
        " ".join(said),
        rules=rules,
        shaded=[each if each[0] < each[1] else _around(found, *each) for each in found.intervals],
        shade_words="meets the target",
        marked=chosen,
        height=HEIGHT,
    )


def _of_pair(found: Calibration) -> list[LineMark]:
    """Return what a stated pair alone would prove, beside a proved ceiling."""
    if found.proved is None:
        return []
    pair = found.proved.pair
    return [LineMark("stated pair alone", [p.value for p in pair], [p.mean for p in pair], yardstick=True)]


def deployments_chart(epsilon: float, delta: float) -> Markup:
    """Return what others took, with its legend."""
    drawing = deployments_figure(epsilon, delta)
    words = f"{describe_ends(drawing.shown, drawing.x, drawing.y)} {orientation_text(epsilon, delta)[0]}"
    return figure_html(drawing, words, HEIGHT, narrow=False)


def deployments_figure(epsilon: float, delta: float) -> Lines:
    """Return how many products took at most an epsilon, of all and of those for whole people, with ours ringed."""
    known = by_epsilon(delta)
    whole = [pair for pair in known if pair[1].covers_a_person]
    drawn = [_count("all products", known, epsilon), _count("a person or user as a whole", whole, epsilon)]
    x, y = Axis("epsilon (log scale)", logarithmic=True), Axis("products with at most this epsilon")
    return Lines(drawn, x, y, marked=RuleMark(f"yours: epsilon = {epsilon:g}", epsilon))


def _count(name: str, known: Sequence[tuple[float, Deployment]], ours: float) -> LineMark:
    """Return a count that steps up at every product."""
    places = sorted({ours, *(epsilon for epsilon, _ in known)})
    below = [float(sum(epsilon < place for epsilon, _ in known)) for place in places]
    upto = [float(sum(epsilon <= place for epsilon, _ in known)) for place in places]
    steps = [count for pair in zip(below, upto, strict=True) for count in pair]
    return LineMark(name, [place for place in places for _ in range(2)], steps, dots=False)


def _across(found: Calibration) -> Axis:
    """Return the axis of the parameter: a logarithm has no place for 0."""
    low, high = _around(found, found.points[0].value, found.points[-1].value)
    tried = [point.value for point in found.points]
    places = tried if len(tried) <= MOST_PLACES else None
    if _even(found):
        return Axis(found.parameter, low, high, places=places)
    return Axis(f"{found.parameter} (log scale)", low, high, logarithmic=True, places=places)


def _even(found: Calibration) -> bool:
    return found.points[0].value == 0


def _around(found: Calibration, low: float, high: float) -> tuple[float, float]:
    """Return an interval a little wider than the one given."""
    if _even(found):
        side = SIDE * (found.points[-1].value or 1.0)
        return low - side, high + side
    factor = MARGIN if len(found.points) > 1 else 2.0
    return low / factor, high * factor


TEMPLATE = "calibration.html.j2"

PROVED_HOW = (
    "At each value the method was planned, and the curve of its events, delta at every epsilon, gives the ceiling. "
    "No table was looked at and nothing was run. The choice is rounded down and was planned itself.",
    "The ceiling holds whatever the attacker knows and however they compute. What is true of everybody of a kind can "
    "be learned without the person and is not bounded. The closed-form risk of being read off a cross table, by a "
    "neighbour who knows some columns, is another question: sfumato risk homogeneity.",
)


def calibration_page(found: Calibration) -> str:
    """Return the page as HTML."""
    return render_page(
        TEMPLATE,
        chart=trade_off_chart(found),
        version=__version__,
        found=found,
        banners=banners(found),
        answer=found.answer(),
        advice=advice(found),
        plain=(*explain_value(found), *(found.notes if found.proved else ()), *found.cautions()),
        values=values_grid(found),
        cost=cost_words(found),
        how=how_words(found),
        caption=caption(found),
        others=published_deployments(found),
    )


class DeploymentComparison(NamedTuple):
    """What others took, with ours among them."""

    words: tuple[str, ...]
    chart: Markup
    grid: TableBlock


def published_deployments(found: Calibration, each_side: int | None = None) -> DeploymentComparison | None:
    """Return what others took, where an epsilon was chosen that can be compared; all, or the nearest on each side."""
    if found.parameter != "epsilon" or found.chosen is None or found.charge is not None:
        return None
    delta = 0.0 if found.proved is None else float(to_fraction(found.proved.delta))
    known = by_epsilon(delta) if each_side is None else nearest_deployments(found.chosen, delta, each_side)
    words, chart = orientation_text(found.chosen, delta), deployments_chart(found.chosen, delta)
    return DeploymentComparison(words, chart, deployments_grid(found, known, delta))


def deployments_grid(found: Calibration, known: Sequence[tuple[float, Deployment]], delta: float) -> TableBlock:
    """Return products by their epsilon, with the choice among them."""
    chosen = found.chosen or 0.0
    ours = (f"{chosen:g}", "your choice", "", "", _protected(found), f"{delta:.3g}" if delta else "")
    rows = [(chosen, ours), *((epsilon, _product(epsilon, each)) for epsilon, each in known)]
    header = ("epsilon", "product", "curator", "year", "protects", "delta, or rho")
    return TableBlock(header, tuple(row for _, row in sorted(rows, key=lambda pair: pair[0])), (0, 3))


def _product(epsilon: float, each: Deployment) -> tuple[str, ...]:
    by = "" if each.delta is None else f"{each.delta:.3g}"
    by = f"rho {each.rho:g}" if each.epsilon is None else by
    return (f"{epsilon:g}", each.name, each.curator, str(each.year), each.unit or "not stated", by)


def _protected(found: Calibration) -> str:
    return "" if found.proved is None else found.proved.unit


def banners(found: Calibration) -> list[Banner]:
    """Return the warnings across the top."""
    if found.cost == "public":
        return []
    if found.cost == "pilot":
        text = "The table that is to be released was not looked at. As public as the pilot itself."
        return [Banner("warning", "From a pilot table", text)]
    if found.cost == "declared":
        text = "Choosing by this page is a query that no budget pays for: the guarantee must say so."
        return [Banner("danger", "Custodian's copy: about confidential data. Do not publish.", text)]
    if found.randomness == "seeded":
        return [Banner("danger", "Not for release", "The noise came from a fixed seed.")]
    return []


def standing(found: Calibration) -> str:
    """Say in a few words who may see the page."""
    kept = "charged: every number on it is paid for" if found.randomness == "secure" else "seeded: not for release"
    if found.cost == "public":
        return "from public facts: may be shown to anybody"
    return {"pilot": "from a pilot", "declared": "custodian's copy, do not publish", "private": kept}[found.cost]


def values_grid(found: Calibration) -> TableBlock:
    """Return the curve as a table."""
    if found.proved is not None:
        header = (found.parameter, f"{found.metric}, proved", "by the stated pair", "meets the target")
        pairs = zip(found.points, found.proved.pair, strict=True)
        return TableBlock(header, tuple(_proved_row(point, stated) for point, stated in pairs), (0, 1, 2))
    header = (found.parameter, found.metric, f"{percent(found.level, 6)} interval", "runs", "meets the target")
    return TableBlock(header, tuple(_row(point) for point in found.points), (0, 1, 3))


def _row(point: Point) -> tuple[str, ...]:
    interval = "exact" if point.exact else f"{point.low:.4g} to {point.high:.4g}"
    return (f"{point.value:g}", f"{point.mean:.4g}", interval, str(point.repeats), "yes" if point.meets else "no")


def _proved_row(point: Point, stated: Point) -> tuple[str, ...]:
    return (f"{point.value:g}", at_most(point.mean, 3), at_most(stated.mean, 3), "yes" if point.meets else "no")


def caption(found: Calibration) -> str:
    """Say what the chart shows."""
    shaded = "Shaded: values that meet the target." if found.intervals else "No value meets the target."
    if found.proved is not None:
        return f"Ceilings for every attacker, proved: by the whole curve, and by the stated pair alone. {shaded}"
    if all(point.exact for point in found.points):
        return f"Exact, not simulated. {shaded}"
    band = "noisy scores of one release each" if found.charge else f"means over {found.points[0].repeats} releases each"
    return f"Points: {band}; the intervals hold for all of them together with probability {found.level:g}. {shaded}"


def cost_words(found: Calibration) -> tuple[str, ...]:
    """Say what the search used and what it cost."""
    lines = [as_sentence(found.assumption)]
    if found.cost == "declared":
        lines.append(f"Every number here is {CONFIDENTIAL}. Put the sentence above into the guarantee.")
    return tuple(lines)


def how_words(found: Calibration) -> tuple[str, ...]:
    """Say how the values were tried and when one counts as meeting the target."""
    if found.proved is not None:
        return PROVED_HOW
    ways = {
        "grid": "Every value of a grid was tried.",
        "bisection": "A few values were tried first, then every gap at whose ends the answer differs was halved; what "
        "lies wholly between two of the first values is not seen.",
        "ladder": "Candidates were released from the smallest up, each with a noisy score, until one met the target.",
    }
    rule = "A value meets the target if the worse end of its interval does. "
    rule += f"Of the lowest values that meet it without a gap, the {found.prefer} is chosen."
    shape = "" if found.monotone else "The curve rises and falls by more than chance explains: look at all intervals."
    return tuple(line for line in (ways[found.search], rule if not found.charge else "", shape, *found.notes) if line)
