"""The trade-off chart: a metric against a parameter, on equal factors unless 0 was tried, with band and target.

Beside it, for orientation: which epsilons others took.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from sfumato.calibration.deployments import Deployment, orientation, ranked
from sfumato.calibration.result import Calibration
from sfumato.report.charts.lines import Line, Lines, Rule, ends_in_words, lines
from sfumato.report.charts.plane import Axis
from sfumato.report.charts.shown import charted

HEIGHT = 340
MOST_PLACES = 8
"""As many tried values have a tick each."""
MARGIN = 1.12
"""A single feasible value is shaded this factor to both sides."""
SIDE = 0.02
"""Where steps are equal: this share of the axis to both sides."""


def trade_off_chart(found: Calibration) -> Markup:
    """Return points and intervals of the metric, the target as a line, feasible values shaded, the choice ringed."""
    line = Line(
        f"{found.metric} of {found.method}",
        [point.value for point in found.points],
        [point.mean for point in found.points],
        [point.low for point in found.points],
        [point.high for point in found.points],
    )
    x, y, drawn = _across(found), Axis(found.metric), [line, *_of_pair(found)]
    rules = (Rule(f"target: {found.target}", found.bound, goal=True),)
    chosen = None if found.chosen is None else Rule(f"chosen: {found.parameter} = {found.chosen:g}", found.chosen)
    said = [ends_in_words(drawn, x, y), f"{rules[0].words}.", f"{chosen.words}." if chosen else "No value meets it."]
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


def _of_pair(found: Calibration) -> list[Line]:
    """Return what a stated pair alone would prove, beside a proved ceiling."""
    if found.proved is None:
        return []
    pair = found.proved.pair
    return [Line("stated pair alone", [p.value for p in pair], [p.mean for p in pair], yardstick=True)]


def others_chart(epsilon: float, delta: float) -> Markup:
    """Return what others took, with its legend."""
    drawing = others_drawing(epsilon, delta)
    words = f"{ends_in_words(drawing.shown, drawing.x, drawing.y)} {orientation(epsilon, delta)[0]}"
    return charted(drawing, words, HEIGHT, narrow=False)


def others_drawing(epsilon: float, delta: float) -> Lines:
    """Return how many products took at most an epsilon, of all and of those for whole people, with ours ringed."""
    known = ranked(delta)
    whole = [pair for pair in known if pair[1].covers_a_person]
    drawn = [_count("all products", known, epsilon), _count("a person or user as a whole", whole, epsilon)]
    x, y = Axis("epsilon (log scale)", logarithmic=True), Axis("products with at most this epsilon")
    return Lines(drawn, x, y, marked=Rule(f"yours: epsilon = {epsilon:g}", epsilon))


def _count(name: str, known: Sequence[tuple[float, Deployment]], ours: float) -> Line:
    """Return a count that steps up at every product."""
    places = sorted({ours, *(epsilon for epsilon, _ in known)})
    below = [float(sum(epsilon < place for epsilon, _ in known)) for place in places]
    upto = [float(sum(epsilon <= place for epsilon, _ in known)) for place in places]
    steps = [count for pair in zip(below, upto, strict=True) for count in pair]
    return Line(name, [place for place in places for _ in range(2)], steps, dots=False)


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
