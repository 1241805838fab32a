"""Every attack beside its yardsticks, as rows of a table; who attacks; and the people who were read best."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from sfumato.privacy.accounting.curve import Curve
from sfumato.privacy.exact import at_most, exact
from sfumato.report.attacked.criteria import standing
from sfumato.report.charts.lines import Line, lines
from sfumato.report.charts.plane import Axis
from sfumato.report.charts.small import intervals
from sfumato.report.compared.measures import axis_ends
from sfumato.report.risk_page import Grid
from sfumato.report.words.numbers import counted, percent
from sfumato.risk.attack import Interval
from sfumato.risk.released.result import ReleaseAttack, ReleaseAttacks

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


def attack_rows(found: ReleaseAttacks) -> list[AttackRow]:
    """Return every attack, in the order in which they were run."""
    return [_row(each, found.holdout_rows is not None) for each in found.results]


def _row(result: ReleaseAttack, holdout: bool) -> AttackRow:
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
        *standing(result, holdout),
        intervals(mine, other, axis_ends((*mine, *other, *ceiling), from_zero=True), words, ceiling),
    )


def _span(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _ceiling(share: float) -> str:
    return f"{at_most(100 * exact(share), 2)} %"


def _chance(chance: float | None) -> str:
    if chance is None:
        return "not tested"
    return f"below {CHANCE:g}" if chance < CHANCE else f"{chance:.2g}"


def worst_grid(found: ReleaseAttacks) -> Grid:
    """Return the rows that attacks which work read best."""
    rows = tuple((f"{row:,}", str(len(by)), "; ".join(by)) for row, by in found.worst_records[:MOST_ROWS])
    return Grid(("row of the table", "attacks", "by which it was read"), rows, (0, 1))


def hits_chart(found: ReleaseAttacks, curve: Curve) -> Markup:
    """Return the most hits at each share of false alarms, guessing, and where the membership attacks stand."""
    across = [step / STEPS for step in range(STEPS + 1)]
    items = [Line("most hits that the guarantee allows", across, [curve.hits(each) for each in across], dots=False)]
    for each in found.of("membership"):
        if each.control is not None:
            ends = ([each.interval.low], [each.interval.high])
            items.append(Line(each.attack.removeprefix("Membership, "), [each.control], [each.rate], *ends))
    items.append(Line("guessing: as many hits as false alarms", [0.0, 1.0], [0.0, 1.0], yardstick=True))
    told = [f"{each.name} {percent(each.y[0])} at {percent(each.x[0])} false alarms" for each in items[1:-1]]
    words = (
        f"Hits against false alarms. The guarantee allows at most {_ceiling(curve.hits(0.01))} hits at 1 % false "
        f"alarms and {_ceiling(curve.hits(0.1))} at 10 %. Measured: {'; '.join(told) or 'nothing'}."
    )
    x = Axis("false alarms", 0.0, ROOM, percent=True, places=(0, 0.25, 0.5, 0.75, 1))
    y = Axis("hits", 0.0, 1.0, percent=True)
    return lines(items, x, y, words, height=HEIGHT)
