"""Make the pictures of all pages, and the errata table of one: ``.venv/bin/python docs/make_pictures.py``.

The curves are computed on Adult and Bankruptcy from SFUMATO_DATA (or ../shared/data); without these, pictures are made
from the example households, and the errata table is left as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import picture_attacks
import picture_clusters
import picture_comparison
import picture_deniability
import picture_entropy
import picture_graphical
import picture_mean_curve
import picture_meaning
import picture_noise
import picture_pseudo_posterior
import picture_report
import picture_two_stage
import picture_workbench
from drawn import alone

from sfumato.errors import TableError
from sfumato.example import codebook, households
from sfumato.papers.charts import ChartAxes, curves
from sfumato.papers.homogeneity_attack.data import PaperTables, read_paper_tables
from sfumato.papers.homogeneity_attack.published import published
from sfumato.papers.homogeneity_attack.reproduction import errata
from sfumato.papers.result import Erratum
from sfumato.report.charts.marks import LineMark, Lines
from sfumato.risk.homogeneity import Cells, Geometric, Laplace, epsilon_for, local, plurality, weighted_mean
from sfumato.risk.homogeneity.cells import View
from sfumato.table import read

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "choosing-epsilon-by-risk.md"
HEADER = "| | printed | exact | verdict | reason |"
TARGET = 0.35
GRID = np.logspace(-2, 1.5, 71)
COARSE = np.logspace(-2, 1.5, 22)


def main() -> int:
    """Write every picture, and the table where the data are."""
    try:
        tables = read_paper_tables()
    except TableError as error:
        print(f"{error}\nmaking the pictures from the example households", file=sys.stderr)
        tables = None
    for page in (
        picture_attacks,
        picture_clusters,
        picture_comparison,
        picture_deniability,
        picture_entropy,
        picture_graphical,
        picture_mean_curve,
        picture_meaning,
        picture_noise,
        picture_pseudo_posterior,
        picture_report,
        picture_two_stage,
        picture_workbench,
    ):
        page.main()
    people, ratings = _counts(tables)
    pictures = {
        "risk-views.svg": ("Risk against epsilon: three views, the guessing attacker, target, floor", views(people)),
        "risk-printed-exact.svg": ("Equation 12 as printed against the exact risk", printed_and_exact(ratings)),
        "risk-two-intervals.svg": ("Risk that rises over the target and falls again", two_intervals()),
    }
    for name, (words, drawing) in pictures.items():
        alone(name, words, drawing)
    if tables is not None:
        PAGE.write_text(with_errata(PAGE.read_text(encoding="utf-8"), errata(tables)), encoding="utf-8")
    print(f"wrote {', '.join(pictures)}{'' if tables is None else f' and the table of {PAGE.name}'}")
    return 0


def _counts(tables: PaperTables | None) -> tuple[np.ndarray, np.ndarray]:
    """Return a table with two sensitive values and one with three."""
    if tables is not None:
        return tables.cells["adult"].counts, tables.cells["bankruptcy-subset"].counts
    table = read(households(), codebook())
    return Cells.of(table, sensitive="insured").counts, Cells.of(table, sensitive="tenure").counts


def views(counts: np.ndarray) -> Lines:
    """Return the views of one table under geometric noise, with the target."""

    def curve(view: View) -> list[float]:
        return [weighted_mean(local(counts, Geometric(e), view), counts, "cell") for e in GRID]

    guesses = [plurality(counts, Geometric(e)).cell_average for e in COARSE]
    drawn = [
        LineMark("any (looks homogeneous)", GRID.tolist(), curve("any")),
        LineMark("conservative", GRID.tolist(), curve("conservative")),
        LineMark("record", GRID.tolist(), curve("record")),
        LineMark("plurality guess", COARSE.tolist(), guesses),
    ]
    rules = ((f"target {TARGET:g}", TARGET), ("floor of the record view", 2.0 ** -counts.shape[1]))
    return curves(drawn, rules=rules)


def printed_and_exact(counts: np.ndarray) -> Lines:
    """Return equation (12) as printed beside both exact views, Laplace noise."""
    laws = [Laplace(e) for e in GRID]
    printed = [float(published(12, law, counts=counts)) for law in laws]
    chosen: tuple[tuple[str, View], ...] = (("exact, conservative", "conservative"), ("exact, record", "record"))
    exact = [
        LineMark(name, GRID.tolist(), [weighted_mean(local(counts, law, view), counts, "cell") for law in laws])
        for name, view in chosen
    ]
    rules = (("share of homogeneous cells", float(((counts > 0).sum(axis=1) == 1).mean())),)
    return curves([LineMark("(12) as printed", GRID.tolist(), printed), *exact], ChartAxes(top=0.8), rules=rules)


def two_intervals() -> Lines:
    """Return a table whose risk falls, after it has risen: two intervals keep the target."""
    counts = np.array([[30, 1]] * 9 + [[5, 0]])
    grid = np.logspace(-3, 1, 161)
    risk = [weighted_mean(local(counts, Laplace(e), "record"), counts, "cell") for e in grid]
    choice = epsilon_for(TARGET, counts, "laplace")
    assert len(choice.intervals) == 2
    (_, low_end), (high_start, _) = choice.intervals
    inside = [
        LineMark(
            "meets the target",
            [e for e in grid if low <= e <= high],
            [r for e, r in zip(grid, risk, strict=True) if low <= e <= high],
            note=f"(up to {low_end:.4g}, and from {high_start:.4g} on)",
            look=0,
        )
        for low, high in choice.intervals
    ]
    above = LineMark("record view", grid.tolist(), risk)
    return curves([above, *inside], ChartAxes(top=0.6), rules=((f"target {TARGET:g}", TARGET),))


def errata_rows(found: Sequence[Erratum]) -> list[str]:
    """Return the errata as lines of a Markdown table."""
    rows = (f"| {e.name} | {e.paper} | {e.holds} | {e.verdict} | {e.why} |" for e in found)
    return [HEADER, "|---|---|---|---|---|", *rows]


def with_errata(text: str, found: Sequence[Erratum]) -> str:
    """Return the page with its errata table written anew."""
    before, _, rest = text.partition(HEADER)
    after = rest.split("\n\n", 1)[1] if "\n\n" in rest else ""
    return "\n".join([before.rstrip("\n"), "", *errata_rows(found), ""]) + (f"\n{after}" if after else "")


if __name__ == "__main__":
    sys.exit(main())
