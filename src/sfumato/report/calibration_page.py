"""Page on a calibration: a metric against a parameter, with the target and the choices.

Beside it, for orientation: which epsilons others took.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.evaluate.calibrate.deployments import Deployment, by_epsilon, nearest_deployments, orientation_text
from sfumato.evaluate.calibrate.explain import advice, explain_value
from sfumato.evaluate.calibrate.result import CONFIDENTIAL, Calibration, Point, as_sentence
from sfumato.formatting import percent
from sfumato.privacy.exact import at_most, to_fraction
from sfumato.report.blocks import BulletList, Card, Cards, ChartBlock, Page, Paragraphs, Section, TableBlock
from sfumato.report.charts.axis import Axis
from sfumato.report.charts.marks import LineMark, Lines, RuleMark
from sfumato.report.page import to_html
from sfumato.report.texts import Texts
from sfumato.version import __version__

say = Texts("calibration")
HEIGHT = 340
MOST_PLACES = 8
"""As many tried values have a tick each."""
MARGIN = 1.12
"""A single feasible value is shaded this factor to both sides."""
SIDE = 0.02
"""Where steps are equal: this share of the axis to both sides."""


def trade_off_chart(calibration: Calibration) -> Markup:
    """Return points and intervals of the metric, the target as a line, feasible values shaded, the choice ringed."""
    line = LineMark(
        f"{calibration.metric} of {calibration.method}",
        [point.value for point in calibration.points],
        [point.mean for point in calibration.points],
        [point.low for point in calibration.points],
        [point.high for point in calibration.points],
    )
    x, y, drawn = _across(calibration), Axis(calibration.metric), [line, *_of_pair(calibration)]
    rules = (RuleMark(f"target: {calibration.target}", calibration.bound, goal=True),)
    chosen = (
        None
        if calibration.chosen is None
        else RuleMark(f"chosen: {calibration.parameter} = {calibration.chosen:g}", calibration.chosen)
    )
    answer = f"{chosen.words}." if chosen else "No value meets it."
    shaded = [each if each[0] < each[1] else _around(calibration, *each) for each in calibration.intervals]
    chart = Lines(drawn, x, y, rules, shaded, shade_words=("meets the target", ""), marked=chosen)
    return chart.html(f"{chart.described()} {answer}", HEIGHT)


def _of_pair(calibration: Calibration) -> list[LineMark]:
    """Return what a stated pair alone would prove, beside a proved ceiling."""
    if calibration.proved is None:
        return []
    pair = calibration.proved.pair
    return [LineMark("stated pair alone", [p.value for p in pair], [p.mean for p in pair], yardstick=True)]


def deployments_chart(epsilon: float, delta: float) -> Markup:
    """Return what others took, with its legend."""
    drawing = deployments_figure(epsilon, delta)
    words = f"{drawing.described()} {orientation_text(epsilon, delta)[0]}"
    return drawing.html(words, HEIGHT)


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


def _across(calibration: Calibration) -> Axis:
    """Return the axis of the parameter: a logarithm has no place for 0."""
    low, high = _around(calibration, calibration.points[0].value, calibration.points[-1].value)
    tried = [point.value for point in calibration.points]
    places = tried if len(tried) <= MOST_PLACES else None
    if _even(calibration):
        return Axis(calibration.parameter, low, high, places=places)
    return Axis(f"{calibration.parameter} (log scale)", low, high, logarithmic=True, places=places)


def _even(calibration: Calibration) -> bool:
    return calibration.points[0].value == 0


def _around(calibration: Calibration, low: float, high: float) -> tuple[float, float]:
    """Return an interval a little wider than the one given."""
    if _even(calibration):
        side = SIDE * (calibration.points[-1].value or 1.0)
        return low - side, high + side
    factor = MARGIN if len(calibration.points) > 1 else 2.0
    return low / factor, high * factor


def calibration_page(calibration: Calibration) -> str:
    """Return the page as HTML."""
    metric, parameter, method = calibration.metric, calibration.parameter, calibration.method
    copy = ", custodian's copy" if calibration.cost == "declared" else ""
    page = Page(
        calibration.table,
        f"Which {parameter} of {method} meets {calibration.target}? {metric}: {calibration.meaning}.",
        tuple(banners(calibration)),
        tuple(_sections(calibration)),
        kicker=f"Sfumato calibration{copy}",
        footer=f"{metric} of {method}, {calibration.search} over {parameter}. sfumato {__version__}.",
        tab=f"{calibration.table}: {metric} against {parameter}",
    )
    return to_html(page)


def _sections(calibration: Calibration) -> Iterator[Section]:
    yield Section("answer", "The answer in short", (Cards(tuple(_cards(calibration))),), "The answer")
    chart = ChartBlock("", (caption(calibration),), trade_off_chart(calibration), (values_grid(calibration),))
    yield Section("curve", f"{calibration.metric} against {calibration.parameter}", (chart,), "The curve")
    others = published_deployments(calibration)
    if others is not None:
        products = "All products, with your choice"
        yield Section(
            "others",
            "What others took",
            (ChartBlock("", others.words, others.chart, (others.grid,), products),),
            "Others",
        )
    yield Section("how", "How the values were tried", (Paragraphs(how_words(calibration)),), "How")


def _cards(calibration: Calibration) -> Iterator[Card]:
    heading = "The target was not reached" if calibration.chosen is None else "The answer"
    notes = calibration.notes if calibration.proved else ()
    plain = Paragraphs((*explain_value(calibration), *notes, *calibration.cautions()))
    yield Card(heading, calibration.answer(), (plain,))
    steps = tuple(advice(calibration))
    if steps:
        yield Card("What you can do", "", (BulletList(steps),))
    yield Card("What the choice costs", "", (Paragraphs(cost_words(calibration)),), whole=bool(steps))


class DeploymentComparison(NamedTuple):
    """What others took, with ours among them."""

    words: tuple[str, ...]
    chart: Markup
    grid: TableBlock


def published_deployments(calibration: Calibration, each_side: int | None = None) -> DeploymentComparison | None:
    """Return what others took, where an epsilon was chosen that can be compared; all, or the nearest on each side."""
    if calibration.parameter != "epsilon" or calibration.chosen is None or calibration.charge is not None:
        return None
    delta = 0.0 if calibration.proved is None else float(to_fraction(calibration.proved.delta))
    known = by_epsilon(delta) if each_side is None else nearest_deployments(calibration.chosen, delta, each_side)
    words, chart = orientation_text(calibration.chosen, delta), deployments_chart(calibration.chosen, delta)
    return DeploymentComparison(words, chart, deployments_grid(calibration, known, delta))


def deployments_grid(calibration: Calibration, known: Sequence[tuple[float, Deployment]], delta: float) -> TableBlock:
    """Return products by their epsilon, with the choice among them."""
    chosen = calibration.chosen or 0.0
    ours = (f"{chosen:g}", "your choice", "", "", _protected(calibration), f"{delta:.3g}" if delta else "")
    rows = [(chosen, ours), *((epsilon, _product(epsilon, each)) for epsilon, each in known)]
    header = ("epsilon", "product", "curator", "year", "protects", "delta, or rho")
    return TableBlock(header, tuple(row for _, row in sorted(rows, key=lambda pair: pair[0])), (0, 3))


def _product(epsilon: float, each: Deployment) -> tuple[str, ...]:
    by = "" if each.delta is None else f"{each.delta:.3g}"
    by = f"rho {each.rho:g}" if each.epsilon is None else by
    return (f"{epsilon:g}", each.name, each.curator, str(each.year), each.unit or "not stated", by)


def _protected(calibration: Calibration) -> str:
    return "" if calibration.proved is None else calibration.proved.unit


def banners(calibration: Calibration) -> list[Banner]:
    """Return the warnings across the top."""
    if calibration.cost == "public":
        return []
    if calibration.cost == "pilot":
        return [Banner("warning", "From a pilot table", say("pilot"))]
    if calibration.cost == "declared":
        return [Banner("danger", "Custodian's copy: about confidential data. Do not publish.", say("declared"))]
    if calibration.randomness == "seeded":
        return [Banner("danger", "Not for release", "The noise came from a fixed seed.")]
    return []


def standing(calibration: Calibration) -> str:
    """Say in a few words who may see the page."""
    kept = (
        "charged: every number on it is paid for" if calibration.randomness == "secure" else "seeded: not for release"
    )
    if calibration.cost == "public":
        return "from public facts: may be shown to anybody"
    return {"pilot": "from a pilot", "declared": "custodian's copy, do not publish", "private": kept}[calibration.cost]


def values_grid(calibration: Calibration) -> TableBlock:
    """Return the curve as a table."""
    if calibration.proved is not None:
        header = (calibration.parameter, f"{calibration.metric}, proved", "by the stated pair", "meets the target")
        pairs = zip(calibration.points, calibration.proved.pair, strict=True)
        return TableBlock(header, tuple(_proved_row(point, stated) for point, stated in pairs), (0, 1, 2))
    interval = f"{percent(calibration.level, 6)} interval"
    header = (calibration.parameter, calibration.metric, interval, "runs", "meets the target")
    return TableBlock(header, tuple(_row(point) for point in calibration.points), (0, 1, 3))


def _row(point: Point) -> tuple[str, ...]:
    interval = "exact" if point.exact else f"{point.low:.4g} to {point.high:.4g}"
    return (f"{point.value:g}", f"{point.mean:.4g}", interval, str(point.repeats), "yes" if point.meets else "no")


def _proved_row(point: Point, stated: Point) -> tuple[str, ...]:
    return (f"{point.value:g}", at_most(point.mean, 3), at_most(stated.mean, 3), "yes" if point.meets else "no")


def caption(calibration: Calibration) -> str:
    """Say what the chart shows."""
    shaded = say("caption.meets" if calibration.intervals else "caption.none")
    if calibration.proved is not None:
        return f"{say('caption.proved')} {shaded}"
    if all(point.exact for point in calibration.points):
        return f"{say('caption.exact')} {shaded}"
    runs, level = calibration.points[0].repeats, calibration.level
    return f"{say('caption.scores' if calibration.charge else 'caption.means', runs=runs, level=level)} {shaded}"


def cost_words(calibration: Calibration) -> tuple[str, ...]:
    """Say what the search used and what it cost."""
    declare = (say("declare", confidential=CONFIDENTIAL),) * (calibration.cost == "declared")
    return as_sentence(calibration.assumption), *declare


def how_words(calibration: Calibration) -> tuple[str, ...]:
    """Say how the values were tried and when one counts as meeting the target."""
    if calibration.proved is not None:
        return say("planned"), say("ceiling")
    rule = "" if calibration.charge else say("rule", prefer=calibration.prefer)
    shape = "" if calibration.monotone else say("shape")
    search = say.table("search")[calibration.search]
    return tuple(line for line in (search, rule, shape, *calibration.notes) if line)
