"""One self-contained page about a cross table with several sensitive columns: what each epsilon gives away of them."""

from __future__ import annotations

from sfumato.formatting import format_number
from sfumato.report.homogeneity_page import TableBlock, banners, joint_risk_chart, shading
from sfumato.report.page import render_page
from sfumato.risk.homogeneity.answers import attacker, epsilon_answer, epsilon_choice_caution, percent, risk_answer
from sfumato.risk.homogeneity.results import SeveralCurves
from sfumato.version import __version__

TEMPLATE = "several.html.j2"
KINDS = {
    "complete": "all members agree in every sensitive column: the table without noise gives all of them away",
    "partial": "all members agree in some of the columns, but not in all",
    "heterogeneous": "the members differ in every one of the columns",
}


def several_columns_page(curves: SeveralCurves, draft: bool = False) -> str:
    """Return the page as HTML; ``draft`` says that the schema was not yet confirmed as public."""
    return render_page(
        TEMPLATE,
        chart=joint_risk_chart(curves),
        version=__version__,
        curves=curves,
        banners=banners(curves, draft),
        answers=(risk_answer(curves), epsilon_answer(curves)),
        steering=epsilon_choice_caution(curves),
        attacker=attacker(curves),
        values=values_grid(curves),
        kinds=kinds_grid(curves),
        shading=shading(curves),
        say=format_number,
        percent=percent,
    )


def tables(curves: SeveralCurves) -> tuple[tuple[str, TableBlock], ...]:
    """Return the tables of the terminal with their titles."""
    title = f"{' x '.join(curves.identifiers)} by {' and '.join(curves.sensitive)}: risk against epsilon, in per cent"
    return ((title, values_grid(curves)), ("Cells without noise", kinds_grid(curves)))


def values_grid(curves: SeveralCurves) -> TableBlock:
    """Return the risk at a dozen epsilons, in per cent."""
    header = ("epsilon", *curves.sensitive, "all together", "some, not all", "at least one")
    rows: list[tuple[str, ...]] = []
    for point in (*curves.few(), curves.ceiling):
        each = [point.each[name].by(curves.weights) for name in curves.sensitive]
        complete, some = point.complete.by(curves.weights), point.some.by(curves.weights)
        name = "no noise" if point is curves.ceiling else f"{point.epsilon:.3g}"
        rows.append((name, *(f"{100 * share:.1f}" for share in (*each, complete, some - complete, some))))
    return TableBlock(header, tuple(rows), tuple(range(len(header))))


def kinds_grid(curves: SeveralCurves) -> TableBlock:
    """Return how many cells give away all, some or none of the columns without noise."""
    rows = tuple(
        (name, format_number(kind.cells), format_number(kind.people), KINDS[name])
        for name, kind in curves.kinds.items()
    )
    return TableBlock(("kind", "cells", "people", "what it says"), rows, (1, 2))
