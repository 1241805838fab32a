"""Comparisons that nobody measured: whatever a page must be able to show, with shapes that are known."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np

from sfumato import Schema
from sfumato.evaluate.compare.result import (
    ColumnComparison,
    Comparison,
    MetricWithYardstick,
    PairComparison,
    SubgroupComparison,
)
from sfumato.metrics.association import CRAMER, RANKS
from sfumato.schema.column import Column

HOSTILE = "<script>alert(1)</script>"
LONG = "a_column_whose_name_is_far_longer_than_anything_that_fits_into_a_card_of_a_page"
WORDS = {
    "tvd_1_q16": "Mean distance of the distributions of single columns: 0 is equal, 1 has nothing in common.",
    "tvd_2_q16": "The same for pairs of columns.",
    "mean_error_sd": "How far means lie from the true means, in standard deviations of the column.",
    "pearson_error": "How far correlations lie from the true ones.",
    "detection_auc": "How well a model tells synthetic rows from real ones: 0.5 is guessing.",
    "skill_kept": "Score on real rows of models that learned from synthetic rows.",
    "rule_violations": "Share of rows that break a rule of the schema.",
}


def measures() -> dict[str, MetricWithYardstick]:
    values = {
        "tvd_1_q16": (0.061, 0.048, 0.079, 0.012, 0.009, 0.016),
        "tvd_2_q16": (0.152, 0.131, 0.177, 0.044, 0.039, 0.05),
        "mean_error_sd": (0.211, 0.02, 0.61, 0.01, 0.004, 0.021),
        "pearson_error": (0.13, 0.11, 0.16, 0.011, 0.008, 0.015),
        "detection_auc": (0.81, 0.79, 0.83, 0.5, 0.48, 0.52),
        "skill_kept": (0.71, 0.66, 0.75, 0.84, 0.82, 0.86),
        "rule_violations": (0.0, 0.0, 0.0004, 0.0, 0.0, 0.0),
    }
    return {
        name: MetricWithYardstick(name, WORDS[name], *found, name == "skill_kept") for name, found in values.items()
    }


def schema(columns: int) -> Schema:
    return Schema("loans", tuple(column(i) for i in range(columns)))


def name_of(index: int) -> str:
    names = ("income", "age", "reason", "job", "opened", HOSTILE, LONG)
    return names[index] if index < len(names) else f"column {index}"


def column(index: int) -> Column:
    name = name_of(index)
    if index % 5 == 0:
        return Column(name, "number", bounds=(0, 900_000), missing=True, unit="EUR", bins=32)
    if index % 5 == 1:
        return Column(name, "integer", bounds=(0, 40))
    if index % 5 == 4:
        return Column(name, "date", bounds=(dt.date(1990, 1, 1), dt.date(2024, 1, 1)), bins=32)
    levels = 30 if index % 5 == 3 else 3
    return Column(
        name, "category", values=tuple(f"level {i} {'of many ' * (i % 4)}" for i in range(levels)), missing=True
    )


def shares(cells: int, centre: float, spread: float) -> np.ndarray:
    heights = np.exp(-(((np.arange(cells) + 0.5) / cells - centre) ** 2) / spread)
    return heights / heights.sum()


def compared(known: Column, index: int) -> ColumnComparison:
    cells = len(known.values) if known.values else 32
    true, synthetic = shares(cells, 0.3, 0.03), shares(cells, 0.3 + 0.002 * index, 0.05)
    edges = None
    if known.kind == "number":
        edges = tuple(np.concatenate([np.linspace(0, 90_000, 32), [900_000]]).tolist())
    elif known.kind == "integer":
        edges = tuple(np.linspace(-0.5, 31.5, 33).tolist())
        true[7], synthetic[7] = 4.0, 0.2
        true, synthetic = true / true.sum(), synthetic / synthetic.sum()
    elif known.kind == "date":
        edges = tuple(np.linspace(7305, 19723, 33).tolist())
    labels = tuple(known.values or [f"cell {i}" for i in range(cells)])
    if known.missing:
        true, synthetic, labels = np.append(0.9 * true, 0.1), np.append(0.95 * synthetic, 0.05), (*labels, "missing")
    numbers = {"missing": (0.1, 0.05)} if known.missing else {}
    if edges:
        numbers |= {"mean": (1234.5, 1300.25), "sd": (51.2, 64.9), "median": (1200.0, 1250.0)}
        numbers |= {"q05": (11.0, 9.0), "q95": (8123.0, 9100.0)}
    tvd = float(abs(true - synthetic).sum() / 2)
    return ColumnComparison(known.name, known.kind, labels, edges, tuple(true), tuple(synthetic), tvd, 0.02, numbers)


def pair(first: int, second: int, strength: float) -> PairComparison:
    down, across = shares(24, 0.4, 0.05), shares(24, 0.5, 0.1)
    synthetic = np.outer(down, across)
    true = np.exp(-((np.subtract.outer(np.arange(24), np.arange(24))) ** 2) / 20) * synthetic
    true[:, 20:] = synthetic[:, 20:] = 0
    tables = [tuple(map(tuple, (table / table.sum()).tolist())) for table in (true, synthetic)]
    names, labels = (name_of(first), name_of(second)), tuple(f"{1000 * i:,}" for i in range(24))
    kind = CRAMER if strength > 0.9 else RANKS
    return PairComparison(names, kind, strength, 0.3 * strength, 0.2, 0.04, *tables, (labels, labels))


def comparison(columns: int = 8, pairs: int = 6) -> Comparison:
    known = schema(columns)
    all_columns = tuple(compared(each, i) for i, each in enumerate(known.columns))
    worst = sorted(all_columns, key=lambda each: -each.tvd)
    relations = tuple(pair(i % columns, (i + 1 + i // columns) % columns, 0.95 - 1.6 * i / pairs) for i in range(pairs))
    group = SubgroupComparison("reason", "level 2 of many of many ", 0.031, "income", 0.41, 0.09)
    return Comparison(
        table="loans",
        schema=known,
        rows=5960,
        synthetic_rows=5943,
        holdout_rows=None,
        measures=measures(),
        equivalent_rows={"single": 2314.7, "pairs": 141.2, "prediction": math.inf},
        columns=all_columns,
        pairs=relations,
        worst_columns=tuple(each.name for each in worst[:5]),
        worst_pairs=tuple(each.names for each in relations[:3]),
        worst_subgroups=(group,),
        predictions={
            "reason": {"synthetic": 0.71, "true": 0.84, "guess": 0.5},
            HOSTILE: {"synthetic": 0.1, "true": 0.6},
        },
        verdict="Good for single columns; relations are weakened and rare subgroups are noise.",
        grade="usable in part",
        notes=("3 columns have fewer than 20 present values on one side.",),
    )
