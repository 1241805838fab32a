"""One small page of every kind, made in a few seconds: what the browser looks at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import sfumato
from report.comparisons import comparison
from sfumato import AIM, Contingency, Histogram, Schema
from sfumato.evaluate.calibrate import calibrate
from sfumato.example import codebook, households
from sfumato.mechanisms.mean_curve import MeanCurve
from sfumato.papers.two_stage import TwoStageAsPublished
from sfumato.papers.two_stage.blend_curves import blend_curves, blend_page
from sfumato.report.attack_page import attack_page
from sfumato.report.calibration_page import calibration_page
from sfumato.report.comparison_page import comparison_page
from sfumato.report.risk_pages import homogeneity_page, sweep_page
from sfumato.risk import attack_release
from sfumato.risk.homogeneity import Cells, curves, several_curves
from sfumato.risk.simulated.epsilon_sweep import epsilon_sweep
from sfumato.schema.column import Column

HOSTILE = ['a\\"b', "a\\", "a\nb", "a\u2028b", "constructor", "toString", '"}+warn(1)+{"', "__proto__", "</script><b>"]
"""Names and levels that were read as code, or stopped the drawing, where nobody escaped them."""


def hostile_table() -> sfumato.Table:
    """Return a table whose columns and levels have hostile names."""
    columns = [Column(name, "category", values=("u", "v")) for name in HOSTILE]
    schema = Schema("hostile", (*columns, Column("levels", "category", values=(*HOSTILE, "hasOwnProperty"))))
    return sfumato.read(pd.DataFrame({name: ["u", "v"] for name in HOSTILE} | {"levels": HOSTILE[:2]}), schema)


def household_table(rows: int = 300) -> sfumato.Table:
    """Return the example."""
    return sfumato.read(households(rows=rows), codebook())


def bundles(folder: Path) -> dict[str, Path]:
    """Return the pages of bundles: rows, counts with the custodian's copy, a curve, an exposure, hostile names."""
    table, hostile, people = household_table(), hostile_table(), people_table()
    counts = Contingency([["hours"], ["age", "sex"], ["region", "education", "sex"]], 1.0)
    names = [[name] for name in hostile.schema.names]
    made = {
        "rows": (table, AIM(2.0, workload="2-way")),
        "counts": (table, counts),
        "curve": (people, MeanCurve(columns=["a", "b", "y"], epsilon=2, delta=1e-6, rho=0.1, clip=1)),
        "exposure": (people, TwoStageAsPublished("y", inputs=["a", "b"])),
        "hostile": (hostile, Contingency([*names, ["levels", HOSTILE[0]]], 1.0)),
    }
    pages: dict[str, Path] = {}
    for name, (private, method) in made.items():
        own = folder / f"{name}-custodian.html"
        release = sfumato.release(private, method, ledger=False, allow_weak=True, seed=1)
        bundle = release.save(folder / name, *((own, private) if name in ("counts", "curve") else ()))
        pages |= {f"{name} {path.stem}": path for path in sorted(bundle.glob("*.html"))}
        pages |= {own.stem: own} if own.exists() else {}
    return pages


def other_pages(folder: Path) -> dict[str, Path]:
    """Return the pages that stand outside bundles."""
    pages: dict[str, Path] = {}
    for name, draw in OTHERS.items():
        pages[name] = folder / f"{name}.html"
        pages[name].write_text(draw(), encoding="utf-8")
    return pages


def people_table(rows: int = 160) -> sfumato.Table:
    """Return numbers that depend on each other, and a yes or no."""
    generator = np.random.default_rng(1)
    a, b = generator.random((2, rows))
    y = (2 * a + np.sin(5 * b)) / 3
    bounds = {name: Column(name, "number", bounds=(-1.0, 1.0)) for name in ("a", "b", "y")}
    schema = Schema("people", (*bounds.values(), Column("ill", "boolean")))
    return sfumato.read(pd.DataFrame({"a": a, "b": b, "y": y, "ill": y > 0.4}), schema)


def clinic_table() -> sfumato.Table:
    """Return a table with two sensitive columns, and people who are alone in their cell."""
    kinds = {
        "place": (["north", "east", "south", "the western islands"], "quasi-identifier"),
        "illness": (["none", "flu", "cancer"], "sensitive"),
        "insured": (["yes", "no"], "sensitive"),
    }
    columns = [Column(name, "category", values=tuple(values), role=role) for name, (values, role) in kinds.items()]
    rows = [("north", "flu", "yes")] * 3 + [("east", "flu", "yes"), ("east", "flu", "no"), ("south", "flu", "yes")]
    frame = pd.DataFrame([*rows, ("the western islands", "none", "no")] * 2, columns=list(kinds))
    return sfumato.read(frame, Schema("clinic", tuple(columns)))


def _risk() -> str:
    return homogeneity_page(curves(Cells.of(clinic_table(), sensitive="illness"), [0.1, 0.5, 1, 2, 5], target=0.35))


def _several() -> str:
    return homogeneity_page(several_curves(Cells.of(clinic_table()), [0.5, 1.0, 2.0], target=0.4, weights="record"))


def _sweep() -> str:
    table = household_table(120)
    wanted = {"known": ["age"], "sensitive": "insured", "trials": 20, "seed": 1}
    return sweep_page(epsilon_sweep(table, Histogram("sex", epsilon=1), [0.5, 2], **wanted), False)


def _blend() -> str:
    method = TwoStageAsPublished("y", inputs=["a", "b"])
    return blend_page(blend_curves(people_table(), method, (1.0, 0.5, 0.0), ("krr",), seed=1))


def _calibration(target: str) -> Callable[[], str]:
    def draw() -> str:
        grid = [0.05, 0.3, 3]
        return calibration_page(calibrate(Histogram("sex", epsilon=1), target, household_table(), grid=grid, seed=1))

    return draw


def _attacks() -> str:
    people = households(rows=400)
    private = sfumato.read(people[:200], codebook())
    made = sfumato.release(private, sfumato.Marginals(2.0), ledger=False, seed=1)
    return attack_page(attack_release(made, private, people[200:], targets=60, shadows=0, seed=1))


def _attacks_on_a_copy() -> str:
    people = households(rows=300)
    return attack_page(attack_release(people[:150], sfumato.read(people[:150], codebook()), people[150:], targets=60))


def _ceiling() -> str:
    return calibration_page(calibrate(Histogram("sex", epsilon=1), "success <= 0.2 at 0.1", household_table()))


OTHERS: dict[str, Callable[[], str]] = {
    "attacks": _attacks,
    "attacks-copy": _attacks_on_a_copy,
    "comparison": lambda: comparison_page(comparison()),
    "risk": _risk,
    "several": _several,
    "sweep": _sweep,
    "blend": _blend,
    "calibration": _calibration("tvd_1_q16 <= 0.05"),
    "calibration-ceiling": _ceiling,
    "calibration-missed": _calibration("tvd_1_q16 <= 0.0001"),
}
