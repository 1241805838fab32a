"""One self-contained page: a metric against a parameter, its intervals, the target, and every value that meets it."""

from __future__ import annotations

from sfumato.calibration.result import CONFIDENTIAL, Calibration, Point, sentence
from sfumato.report.card import Banner
from sfumato.report.charts.trade_off import trade_off_chart
from sfumato.report.page import render
from sfumato.report.risk_page import Grid
from sfumato.version import __version__

TEMPLATE = "calibration.html.j2"


def calibration_page(found: Calibration) -> str:
    """Return the page as HTML."""
    return render(
        TEMPLATE,
        {"chart-trade-off": trade_off_chart(found)},
        version=__version__,
        found=found,
        banners=banners(found),
        answer=found.answer(),
        cautions=found.cautions(),
        values=values_grid(found),
        cost=cost_words(found),
        how=how_words(found),
        caption=caption(found),
    )


def banners(found: Calibration) -> list[Banner]:
    """Return the warnings across the top."""
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
    return {"pilot": "from a pilot", "declared": "custodian's copy, do not publish", "private": kept}[found.cost]


def values_grid(found: Calibration) -> Grid:
    """Return the curve as a table."""
    header = (found.parameter, found.metric, f"{100 * found.level:g} % interval", "runs", "meets the target")
    return Grid(header, tuple(_row(point) for point in found.points), (0, 1, 3))


def _row(point: Point) -> tuple[str, ...]:
    interval = "exact" if point.exact else f"{point.low:.4g} to {point.high:.4g}"
    return (f"{point.value:g}", f"{point.mean:.4g}", interval, str(point.repeats), "yes" if point.meets else "no")


def caption(found: Calibration) -> str:
    """Say what the chart shows."""
    shaded = "Shaded: values that meet the target." if found.intervals else "No value meets the target."
    if all(point.exact for point in found.points):
        return f"Exact, not simulated. {shaded}"
    band = "noisy scores of one release each" if found.charge else f"means over {found.points[0].repeats} releases each"
    return f"Points: {band}; the band holds for all of them together with probability {found.level:g}. {shaded}"


def cost_words(found: Calibration) -> tuple[str, ...]:
    """Say what the search used and what it cost."""
    lines = [sentence(found.assumption)]
    if found.cost == "declared":
        lines.append(f"Every number here is {CONFIDENTIAL}. Put the sentence above into the guarantee.")
    return tuple(lines)


def how_words(found: Calibration) -> tuple[str, ...]:
    """Say how the values were tried and when one counts as meeting the target."""
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
