"""One self-contained page: what a cross table would give away at each epsilon, and what it would be good for.

The page shows true numbers of the table it was computed on. It is the custodian's copy, unless that table was a pilot.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sfumato.privacy.exact import at_least
from sfumato.report.charts.risk import alone_chart, guess_chart, risk_chart, utility_chart
from sfumato.report.page import render
from sfumato.report.words.banners import Banner
from sfumato.report.words.numbers import say
from sfumato.risk.homogeneity.answers import alone, attacker, forward, inverse, percent, steering
from sfumato.risk.homogeneity.results import RiskCurves, RiskPoint, few_of
from sfumato.risk.homogeneity.several_curves import SeveralCurves
from sfumato.version import __version__

TEMPLATE = "risk.html.j2"
COMPANIONS = (
    ("cells", "Occupied cells", "combinations of the identifiers that at least one person has"),
    ("records", "People", "rows in these cells"),
    ("k_anonymity", "k-anonymity", "the smallest cell: nobody shares their identifiers with fewer than k - 1 others"),
    (
        "distinct_l",
        "distinct l-diversity",
        "the fewest sensitive values in a cell; 1: some cell gives all away",
    ),
    ("entropy_l", "entropy l-diversity", "the same, by entropy: rare values count less"),
    ("t_closeness", "t-closeness", "the largest distance of a cell's law from the overall law, values unordered"),
    ("t_closeness_ordered", "t-closeness, ordered", "the same where the order of the values matters"),
    ("homogeneous_cells", "Homogeneous cells", "share of cells with one sensitive value only"),
    ("homogeneous_records", "People in homogeneous cells", "share of people whom the table without noise gives away"),
)
SHARES = ("homogeneous_cells", "homogeneous_records")


class Grid(NamedTuple):
    """A table of values: header, rows, and which columns are numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]


def risk_page(curves: RiskCurves, draft: bool = False) -> str:
    """Return the page as HTML; ``draft`` says that the schema was not yet confirmed as public."""
    return render(
        TEMPLATE,
        risk_chart=risk_chart(curves),
        guess_chart=guess_chart(curves),
        alone_chart=alone_chart(curves),
        utility_chart=utility_chart(curves),
        version=__version__,
        curves=curves,
        banners=banners(curves, draft),
        answers=(forward(curves), inverse(curves), alone(curves)),
        steering=steering(curves),
        attacker=attacker(curves),
        values=values_grid(curves),
        alone=alone_grid(curves),
        worst=worst_grid(curves),
        companions=companions_grid(curves),
        utility_note=utility_note(curves),
        guess_note=guess_note(curves),
        shading=shading(curves),
        say=say,
        percent=percent,
    )


def banners(curves: RiskCurves | SeveralCurves, draft: bool = False) -> list[Banner]:
    """Return the warnings across the top."""
    if curves.pilot is None:
        text = "Every number on this page is computed from the true counts, without noise."
        found = [Banner("danger", "Custodian's copy: about confidential data. Do not publish.", text)]
    else:
        text = f"Computed from {curves.pilot!r}; the confidential table was not read. As public as the pilot itself."
        found = [Banner("warning", "From a pilot table", text)]
    if draft:
        text = "Its values were learned from rows, so the domain below is not public knowledge. No release may use it."
        found.append(Banner("warning", "The schema is a draft", text))
    return found


def values_grid(curves: RiskCurves) -> Grid:
    """Return risk and distance at a dozen epsilons, in per cent."""
    guesses = {point.epsilon: point for point in curves.guesses}
    distances = {
        (p.epsilon, p.order): p.mean for p in (curves.utility.points if curves.utility else ()) if p.way == "cross"
    }
    orders = sorted({order for _, order in distances})
    header = (
        "epsilon",
        "conservative",
        "record",
        "record by person",
        "PPV",
        "plurality by person",
        "soft by person",
        *(f"TVD {order}-way" for order in orders),
    )

    def row(point: RiskPoint) -> tuple[str, ...]:
        guessed = guesses.get(point.epsilon)
        named = (guessed.plurality.record, guessed.soft.record) if guessed else (None, None)
        shares = (
            point.conservative.cell,
            point.record.cell,
            point.record.record,
            point.ppv.cell,
            *named,
            *(distances.get((point.epsilon, order)) for order in orders),
        )
        return (f"{point.epsilon:.3g}", *("" if share is None else f"{100 * share:.1f}" for share in shares))

    return Grid(header, tuple(row(point) for point in curves.few()), tuple(range(len(header))))


def alone_grid(curves: RiskCurves) -> Grid:
    """Return the re-identification risk at a dozen epsilons, in per cent."""
    header = ("epsilon", "seen", "seen with the value", "right", "right, known to be in")
    chosen = [curves.alone[i] for i in few_of(len(curves.alone))]
    rows = tuple(
        (f"{p.epsilon:.3g}", *(f"{100 * share:.1f}" for share in (p.seen, p.named, p.right, p.known))) for p in chosen
    )
    return Grid(header, rows, tuple(range(len(header))))


def worst_grid(curves: RiskCurves) -> Grid:
    """Return the cells whose members are most at risk."""
    header = (*curves.identifiers, "people", f"most common {curves.sensitive}", "share", "risk")
    rows = tuple(
        (*cell.identifiers.values(), say(cell.people), cell.value, f"{cell.share:.0%}", f"{cell.risk:.1%}")
        for cell in curves.worst
    )
    width = len(curves.identifiers)
    return Grid(header, rows, (width, width + 2, width + 3))


def companions_grid(curves: RiskCurves) -> Grid:
    """Return the classical measures, each with what it means."""

    def shown(key: str) -> str:
        value = curves.companions[key]
        return f"{value:.1%}" if key in SHARES else say(value)

    rows = tuple((name, shown(key), meaning) for key, name, meaning in COMPANIONS)
    return Grid(("measure", "value", "what it says"), rows, (1,))


def utility_note(curves: RiskCurves) -> str:
    """Say how the distances were made."""
    found = curves.utility
    if found is None:
        return ""
    looked = ", ".join(
        f"{order}-way: {found.sets[order]} of {count}" if found.sets[order] < count else f"{order}-way: all {count}"
        for order, count in found.all_sets.items()
    )
    return (
        f"Mean over the marginals of identifiers and {curves.sensitive} ({looked}) and over {found.draws} simulated "
        "releases at every fifth epsilon of the grid, from a fixed seed. Solid: the marginals summed from this cross "
        f"table, all {curves.domain:,} cells with noise, counts below 0 set to 0. Dashed: all marginals of that order "
        "published directly instead of the cross table, epsilon shared equally among them; the risk above is not "
        "theirs."
    )


def guess_note(curves: RiskCurves) -> str:
    """Say how the curves of the guessing attackers were made."""
    if not curves.guesses:
        return "The guessing attackers were not computed: the counts are too large for the sums."
    if curves.guessed_cells == curves.distinct_cells:
        how = "exact"
    else:
        how = f"estimated from seeded samples of {curves.guessed_cells:,} or more of {curves.distinct_cells:,} cells"
    return f"The guessing attackers are {how}, at every fifth epsilon of the grid."


def shading(curves: RiskCurves | SeveralCurves) -> str:
    """Say what the shaded epsilons mean."""
    choice = curves.choice
    if choice is None or not choice.intervals:
        return ""
    faint = (
        " Faint: epsilons that also keep the target, but only above riskier ones." if len(choice.intervals) > 1 else ""
    )
    if choice.safe is None:
        return "Faintly shaded: epsilons that keep the target although smaller ones do not. No epsilon is safe."
    end = "every epsilon" if math.isinf(choice.safe[1]) else f"up to epsilon {at_least(choice.safe[1], 4)}"
    return f"Shaded: the safe interval, {end}.{faint}"
