"""Render the attack page: verdict, criteria, every attack with its baseline, worst records.

The page holds true numbers about the confidential rows, without noise. It is one file that loads nothing, and it is
written for its owner alone, never inside a bundle.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.private_files import require_free_path, save_private_file
from sfumato.formatting import counted, format_number, percent
from sfumato.metrics.confidence import Interval
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.exact import percent_at_most
from sfumato.report.attack_page.article29_criteria import attack_status, criteria
from sfumato.report.attack_page.nist_800_226 import NistPoint, hazard_points, pyramid_points
from sfumato.report.charts.interval_plots import interval_plot
from sfumato.report.charts.marks import LineMark, lines
from sfumato.report.charts.plane import Axis
from sfumato.report.comparison_page.measures import axis_ends
from sfumato.report.homogeneity_page import TableBlock
from sfumato.report.page import render_page
from sfumato.risk.on_release.result import ReleaseAttackReport, ReleaseAttackResult
from sfumato.risk.on_release.run import guarantee_curve
from sfumato.schema import Schema
from sfumato.version import __version__

MOST_ROWS = 25

"""Worst records that the page names."""

STEPS = 60

"""Points of the drawn curve."""

HEIGHT = 340

ROOM = 1.03

"""Where the axis of false alarms ends: the last word beside it needs room."""

CHANCE = 0.001


class AttackRow(NamedTuple):
    """One attack beside its yardsticks."""

    name: str
    words: str
    rate: str
    interval: str
    control: str
    control_interval: str
    baseline: str
    ceiling: str
    standing: str
    nearness: str
    chart: Markup


def attack_rows(found: ReleaseAttackReport) -> list[AttackRow]:
    """Return every attack, in the order in which they were run."""
    return [_row(each, found.holdout_rows is not None) for each in found.results]


def _row(result: ReleaseAttackResult, holdout: bool) -> AttackRow:
    within = result.control_interval
    beside = result.baseline if result.control is None else result.control
    other = (beside, beside, beside) if within is None else (within.low, beside, within.high)
    mine = (result.interval.low, result.rate, result.interval.high)
    ceiling = () if result.ceiling is None else (result.ceiling,)
    words = (
        f"{result.attack}: {percent(result.rate)} on people of the table, interval {_span(result.interval)}; "
        f"{percent(beside)} {'without the release' if within is None else 'on people who are not in it'}."
    )
    words += f" The guarantee allows at most {_ceiling(result.ceiling)}." if result.ceiling is not None else ""
    tried = f"{counted(result.trials, 'try')}"
    tried = f"Overfitting, not privacy. {tried}" if result.criterion == "overfitting" else tried
    return AttackRow(
        result.attack,
        f"{tried}; chance of such a difference without a leak {_chance(result.adjusted)}, corrected",
        percent(result.rate),
        _span(result.interval),
        "" if result.control is None else percent(result.control),
        "" if within is None else _span(within),
        percent(result.baseline),
        "none known" if result.ceiling is None else _ceiling(result.ceiling),
        *attack_status(result, holdout),
        interval_plot(mine, other, axis_ends((*mine, *other, *ceiling), from_zero=True), words, ceiling),
    )


def _span(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _ceiling(share: float) -> str:
    return percent_at_most(share, 2)


def _chance(chance: float | None) -> str:
    if chance is None:
        return "not tested"
    return f"below {CHANCE:g}" if chance < CHANCE else f"{chance:.2g}"


def worst_records(found: ReleaseAttackReport) -> TableBlock:
    """Return the rows that attacks which work read best."""
    rows = tuple((f"{row:,}", str(len(by)), "; ".join(by)) for row, by in found.worst_records[:MOST_ROWS])
    return TableBlock(("row of the table", "attacks", "by which it was read"), rows, (0, 1))


def success_chart(found: ReleaseAttackReport, curve: PrivacyCurve) -> Markup:
    """Return the most hits at each share of false alarms, guessing, and where the membership attacks stand."""
    across = [step / STEPS for step in range(STEPS + 1)]
    items = [LineMark("most hits that the guarantee allows", across, [curve.hits(each) for each in across], dots=False)]
    for each in found.of("membership"):
        if each.control is not None:
            ends = ([each.interval.low], [each.interval.high])
            items.append(LineMark(each.attack.removeprefix("Membership, "), [each.control], [each.rate], *ends))
    items.append(LineMark("guessing: as many hits as false alarms", [0.0, 1.0], [0.0, 1.0], yardstick=True))
    told = [f"{each.name} {percent(each.y[0])} at {percent(each.x[0])} false alarms" for each in items[1:-1]]
    words = (
        f"Hits against false alarms. The guarantee allows at most {_ceiling(curve.hits(0.01))} hits at 1 % false "
        f"alarms and {_ceiling(curve.hits(0.1))} at 10 %. Measured: {'; '.join(told) or 'nothing'}."
    )
    x = Axis("false alarms", 0.0, ROOM, percent=True, places=(0, 0.25, 0.5, 0.75, 1))
    y = Axis("hits", 0.0, 1.0, percent=True)
    return lines(items, x, y, words, height=HEIGHT)


TEMPLATE = "attacks.html.j2"

WHAT = "the page of attacks"

GRADE_COLOURS = {
    "nothing found": "good",
    "within its guarantee": "good",
    "cannot be told": "part",
    "exposes some people": "bad",
    "gives its people away": "bad",
    "breaks its guarantee": "bad",
}

"""How a grade is coloured; its words always stand beside the colour."""

NOBODY_KNOWS = (
    "Nobody says how these rows were made: they came as a plain file. None of the points can be answered, so that "
    "everything below rests on the attacks that were tried."
)


def attack_page(found: ReleaseAttackReport) -> str:
    """Return the page: verdict, the three criteria, every attack, the worst records, pyramid and hazards."""
    curve, claim = guarantee_curve(found.given)
    document = _document(found)
    schema: Schema | None = found.given.schema
    pillars, pitfalls = list[NistPoint](), list[NistPoint]()
    if document is not None and schema is not None:
        pillars, pitfalls = pyramid_points(document, schema, curve), hazard_points(document, schema)
    return render_page(
        TEMPLATE,
        version=__version__,
        found=found,
        banners=attack_banners(found),
        tone=GRADE_COLOURS[found.grade],
        lead=_lead(found),
        criteria=criteria(found, curve),
        attacks=attack_rows(found),
        hits=_hits(found, curve),
        claim=claim,
        worst=worst_records(found),
        threats=_threats(found.results),
        pyramid=pillars,
        hazards=pitfalls,
        unknown=NOBODY_KNOWS,
        say=format_number,
    )


def _hits(found: ReleaseAttackReport, curve: PrivacyCurve | None) -> str:
    return "" if curve is None else success_chart(found, curve)


def _document(found: ReleaseAttackReport) -> ReleaseDocument | None:
    """Return the public document of what was attacked, if it is a release of ours."""
    if found.given.document is not None:
        return found.given.document
    return None if found.given.release is None else ReleaseDocument.from_release(found.given.release)


def attack_banners(found: ReleaseAttackReport) -> list[Banner]:
    """Return the warnings across the top."""
    text = f"Computed from {counted(found.rows, 'confidential row')} without noise, and no budget paid for it."
    shown = [Banner("danger", "Confidential: for the custodian's eyes. Do not publish.", text)]
    if found.refuted:
        named = "; ".join(each.attack for each in found.refuted)
        shown.insert(0, Banner("danger", "The guarantee is refuted", f"Better than it allows: {named}."))
    if found.holdout_rows is None:
        text = "What the release gives away about its people cannot be told from what it teaches about everybody."
        shown.append(Banner("warning", "No holdout", text))
    return shown


def _lead(found: ReleaseAttackReport) -> str:
    made = "" if found.made_rows is None else f", {counted(found.made_rows, 'released row')}"
    held = "no holdout" if found.holdout_rows is None else f"a holdout of {counted(found.holdout_rows, 'row')}"
    return (
        f"{found.what[:1].upper()}{found.what[1:]}{made}, beside {counted(found.rows, 'confidential row')} and {held}. "
        f"{counted(len(found.results), 'attack')} on up to {format_number(found.targets)} people on each side."
    )


def _threats(results: Iterable[ReleaseAttackResult]) -> list[tuple[str, tuple[str, ...]]]:
    """Return who attacks, and how the numbers are to be read."""
    return [(each.attack, (f"The attacker {each.threat}.", *each.notes)) for each in results]


def save_attacks(found: ReleaseAttackReport, path: str | Path) -> Path:
    """Write the page with mode 600; refuse a place inside a bundle or one that exists."""
    place = require_free_path(path, WHAT)
    return save_private_file(place, attack_page(found))
