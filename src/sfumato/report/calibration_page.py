"""One self-contained page: a metric against a parameter, its intervals, the target, and every value that meets it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from sfumato.calibration.deployments import Deployment, neighbours, orientation, ranked
from sfumato.calibration.result import CONFIDENTIAL, Calibration, Point, sentence
from sfumato.calibration.words import advice, in_plain_words
from sfumato.privacy.exact import at_most, exact
from sfumato.report.charts.trade_off import others_chart, trade_off_chart
from sfumato.report.page import render
from sfumato.report.risk_page import Grid
from sfumato.report.words.banners import Banner
from sfumato.version import __version__

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
    return render(
        TEMPLATE,
        chart=trade_off_chart(found),
        version=__version__,
        found=found,
        banners=banners(found),
        answer=found.answer(),
        advice=advice(found),
        plain=(*in_plain_words(found), *(found.notes if found.proved else ()), *found.cautions()),
        values=values_grid(found),
        cost=cost_words(found),
        how=how_words(found),
        caption=caption(found),
        others=others(found),
    )


class Others(NamedTuple):
    """What others took, with ours among them."""

    words: tuple[str, ...]
    chart: Markup
    grid: Grid


def others(found: Calibration, each_side: int | None = None) -> Others | None:
    """Return what others took, where an epsilon was chosen that can be compared; all, or the nearest on each side."""
    if found.parameter != "epsilon" or found.chosen is None or found.charge is not None:
        return None
    delta = 0.0 if found.proved is None else float(exact(found.proved.delta))
    known = ranked(delta) if each_side is None else neighbours(found.chosen, delta, each_side)
    words, chart = orientation(found.chosen, delta), others_chart(found.chosen, delta)
    return Others(words, chart, others_grid(found, known, delta))


def others_grid(found: Calibration, known: Sequence[tuple[float, Deployment]], delta: float) -> Grid:
    """Return products by their epsilon, with the choice among them."""
    chosen = found.chosen or 0.0
    ours = (f"{chosen:g}", "your choice", "", "", _protected(found), f"{delta:.3g}" if delta else "")
    rows = [(chosen, ours), *((epsilon, _product(epsilon, each)) for epsilon, each in known)]
    header = ("epsilon", "product", "curator", "year", "protects", "delta, or rho")
    return Grid(header, tuple(row for _, row in sorted(rows, key=lambda pair: pair[0])), (0, 3))


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


def values_grid(found: Calibration) -> Grid:
    """Return the curve as a table."""
    if found.proved is not None:
        header = (found.parameter, f"{found.metric}, proved", "by the stated pair", "meets the target")
        pairs = zip(found.points, found.proved.pair, strict=True)
        return Grid(header, tuple(_proved_row(point, stated) for point, stated in pairs), (0, 1, 2))
    header = (found.parameter, found.metric, f"{100 * found.level:g} % interval", "runs", "meets the target")
    return Grid(header, tuple(_row(point) for point in found.points), (0, 1, 3))


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
    lines = [sentence(found.assumption)]
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
