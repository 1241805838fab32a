"""Render the attack page: verdict, criteria, every attack with its baseline, worst records.

The page holds true numbers about the confidential rows, without noise. It is one file that loads nothing, and it is
written for its owner alone, never inside a bundle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.target_folder import require_free_path, save_private_file
from sfumato.formatting import capitalize_first, counted, format_number, percent
from sfumato.metrics.confidence import Interval
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.exact import percent_at_most
from sfumato.report.blocks import (
    Block,
    Card,
    Cards,
    ChartBlock,
    Definition,
    Definitions,
    MeasuredRow,
    MeasureTable,
    Page,
    Paragraphs,
    Section,
    Standing,
    TableBlock,
    Verdict,
)
from sfumato.report.charts.axis import Axis
from sfumato.report.charts.interval_plots import axis_ends, interval_plot
from sfumato.report.charts.marks import LineMark, Lines
from sfumato.report.page import to_html
from sfumato.report.privacy_criteria import (
    CriterionAnswer,
    NistPoint,
    attack_status,
    criteria,
    hazard_points,
    pyramid_points,
)
from sfumato.report.texts import Texts
from sfumato.risk.on_release.result import ReleaseAttackReport, ReleaseAttackResult
from sfumato.risk.on_release.run import guarantee_curve
from sfumato.version import __version__

say = Texts("risk_pages")
MOST_ROWS = 25
"""Worst records that the page names."""
STEPS = 60
"""Points of the drawn curve."""
HEIGHT = 340
ROOM = 1.03
"""Where the axis of false alarms ends: the last word beside it needs room."""
CHANCE = 0.001
HEADER = ("attack", "of the table", "not in it", "without the release", "ceiling", "side by side")
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


def attack_table(report: ReleaseAttackReport) -> MeasureTable:
    """Return every attack beside its yardsticks, in the order in which they were run."""
    holdout = report.holdout_rows is not None
    other = "people who are not in it" if holdout else "without the release"
    return MeasureTable(HEADER, tuple(_row(each, holdout) for each in report.results), "people of the table", other)


def _row(result: ReleaseAttackResult, holdout: bool) -> MeasuredRow:
    within, control = result.control_interval, result.control
    ceiling = "none known" if result.ceiling is None else percent_at_most(result.ceiling, 2)
    cells = (
        (percent(result.rate), _span(result.interval)),
        ("" if control is None else percent(control), "" if within is None else _span(within)),
        (percent(result.baseline), ""),
        (ceiling, ""),
    )
    tries = counted(result.trials, "try")
    tries = f"Overfitting, not privacy. {tries}" if result.criterion == "overfitting" else tries
    words = f"{tries}; chance of such a difference without a leak {_chance(result.adjusted)}, corrected"
    return MeasuredRow(result.attack, words, cells, _picture(result), *attack_status(result, holdout))


def _picture(result: ReleaseAttackResult) -> Markup:
    """Return the success on people of the table beside that on others, and the ceiling of the guarantee."""
    within = result.control_interval
    beside = result.baseline if result.control is None else result.control
    other = (beside, beside, beside) if within is None else (within.low, beside, within.high)
    mine = (result.interval.low, result.rate, result.interval.high)
    ceiling = () if result.ceiling is None else (result.ceiling,)
    whom = "without the release" if within is None else "on people who are not in it"
    words = (
        f"{result.attack}: {percent(result.rate)} on people of the table, interval {_span(result.interval)}; "
        f"{percent(beside)} {whom}."
    )
    words += (
        f" The guarantee allows at most {percent_at_most(result.ceiling, 2)}." if result.ceiling is not None else ""
    )
    return interval_plot(mine, other, axis_ends((*mine, *other, *ceiling), from_zero=True), words, ceiling)


def _span(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _chance(chance: float | None) -> str:
    if chance is None:
        return "not tested"
    return f"below {CHANCE:g}" if chance < CHANCE else f"{chance:.2g}"


def worst_records(report: ReleaseAttackReport) -> TableBlock:
    """Return the rows that attacks which work read best."""
    rows = tuple((f"{row:,}", str(len(by)), "; ".join(by)) for row, by in report.worst_records[:MOST_ROWS])
    return TableBlock(("row of the table", "attacks", "by which it was read"), rows, (0, 1))


def success_chart(report: ReleaseAttackReport, curve: PrivacyCurve) -> Markup:
    """Return the most hits at each share of false alarms, guessing, and where the membership attacks stand."""
    across = [step / STEPS for step in range(STEPS + 1)]
    items = [LineMark("most hits that the guarantee allows", across, [curve.hits(each) for each in across], dots=False)]
    for each in report.of("membership"):
        if each.control is not None:
            ends = ([each.interval.low], [each.interval.high])
            items.append(LineMark(each.attack.removeprefix("Membership, "), [each.control], [each.rate], *ends))
    items.append(LineMark("guessing: as many hits as false alarms", [0.0, 1.0], [0.0, 1.0], yardstick=True))
    measured = [f"{each.name} {percent(each.y[0])} at {percent(each.x[0])} false alarms" for each in items[1:-1]]
    few, many = (percent_at_most(curve.hits(rate), 2) for rate in (0.01, 0.1))
    words = (
        f"Hits against false alarms. The guarantee allows at most {few} hits at 1 % false alarms and {many} at 10 %. "
        f"Measured: {'; '.join(measured) or 'nothing'}."
    )
    x = Axis("false alarms", 0.0, ROOM, percent=True, places=(0, 0.25, 0.5, 0.75, 1))
    y = Axis("hits", 0.0, 1.0, percent=True)
    return Lines(items, x, y).html(words, HEIGHT)


def attack_page(report: ReleaseAttackReport) -> str:
    """Return the page: verdict, the three criteria, every attack, the worst records, pyramid and hazards."""
    page = Page(
        report.table,
        _lead(report),
        tuple(attack_banners(report)),
        tuple(_sections(report)),
        kicker="Sfumato risk of a release, custodian's copy",
        footer=f"Attacks on a release of {report.table}. {report.notice} sfumato {__version__}.",
        tab=f"{report.table}: attacks on the release (do not publish)",
    )
    return to_html(page)


def _sections(report: ReleaseAttackReport) -> Iterator[Section]:
    curve, claim = guarantee_curve(report.given)
    notes = tuple(f"{capitalize_first(note)}." for note in report.notes)
    yield Section("", "", (Verdict(report.grade, GRADE_COLOURS[report.grade], report.verdict, notes),))
    answers = Cards(tuple(map(_criterion, criteria(report, curve))), in_three=True)
    yield Section("criteria", "The three criteria of WP 216", (answers,), "Three criteria")
    yield Section("attacks", "Every attack beside its yardsticks", tuple(_attacks(report)), "Every attack")
    if curve is not None:
        chart = ChartBlock(
            "Hits against false alarms", (say("attacks.curve", claim=claim),), success_chart(report, curve)
        )
        yield Section("hits", "What the guarantee allows an attacker", (chart,), "Hits and false alarms")
    worst = worst_records(report)
    blocks = (Paragraphs((say("attacks.worst"),)), worst) if worst.rows else (Paragraphs((say("attacks.nobody"),)),)
    yield Section("worst", "Who was read best", blocks, "Worst records")
    yield from _nist(report, curve)
    threats = tuple(Definition(each.attack, (f"The attacker {each.threat}.", *each.notes)) for each in report.results)
    yield Section("threats", "Who attacks, and how to read it", (Definitions(threats),), "Attackers")


def _criterion(answer: CriterionAnswer) -> Card:
    items = [Definition("Proved", (answer.proved,)), Definition("Measured", (answer.measured,))]
    items += [Definition("Baseline", (answer.baseline,))] if answer.baseline else []
    standing = Standing(answer.standing, answer.nearness)
    return Card(answer.heading, answer.question, (standing, Definitions(tuple(items))))


def _attacks(report: ReleaseAttackReport) -> Iterator[Block]:
    yield Paragraphs((say("attacks.yardsticks", level=100 * report.level),))
    yield attack_table(report) if report.results else Paragraphs((say("attacks.none"),))
    yield Paragraphs(tuple(report.left_out))


def _nist(report: ReleaseAttackReport, curve: PrivacyCurve | None) -> Iterator[Section]:
    document, schema = _document(report), report.given.schema
    pyramid = ("pyramid", "The pyramid of NIST SP 800-226")
    if document is None or schema is None:
        yield Section(*pyramid, (Paragraphs((say("attacks.unknown"),)),), "Pyramid")
        return
    order = Paragraphs((say("attacks.pyramid"),))
    yield Section(*pyramid, (order, _points(pyramid_points(document, schema, curve))), "Pyramid")
    yield Section("hazards", "Its hazards, one by one", (_points(hazard_points(document, schema)),), "Hazards")


def _points(points: Iterable[NistPoint]) -> Definitions:
    return Definitions(tuple(Definition(each.name, (each.answer,), each.standing, each.nearness) for each in points))


def _document(report: ReleaseAttackReport) -> ReleaseDocument | None:
    """Return the public document of what was attacked, if it is a release of ours."""
    if report.given.document is not None:
        return report.given.document
    return None if report.given.release is None else ReleaseDocument.from_release(report.given.release)


def attack_banners(report: ReleaseAttackReport) -> list[Banner]:
    """Return the warnings across the top."""
    text = say("attacks.confidential", rows=counted(report.rows, "confidential row"))
    banners = [Banner("danger", "Confidential: for the custodian's eyes. Do not publish.", text)]
    if report.refuted:
        named = "; ".join(each.attack for each in report.refuted)
        banners.insert(0, Banner("danger", "The guarantee is refuted", f"Better than it allows: {named}."))
    if report.holdout_rows is None:
        banners.append(Banner("warning", "No holdout", say("attacks.no_holdout")))
    return banners


def _lead(report: ReleaseAttackReport) -> str:
    released = "" if report.made_rows is None else f", {counted(report.made_rows, 'released row')}"
    held = "no holdout" if report.holdout_rows is None else f"a holdout of {counted(report.holdout_rows, 'row')}"
    return (
        f"{capitalize_first(report.what)}{released}, beside {counted(report.rows, 'confidential row')} and {held}. "
        f"{counted(len(report.results), 'attack')} on up to {format_number(report.targets)} people on each side."
    )


def save_attacks(report: ReleaseAttackReport, path: str | Path) -> Path:
    """Write the page with mode 600; refuse a place inside a bundle or one that exists."""
    place = require_free_path(path, WHAT)
    return save_private_file(place, attack_page(report))
