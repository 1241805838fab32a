"""Noise on every column and pair of a plan, as standard deviations in rows.

Noise is a standard deviation in rows. A column's is that of a single table that took all of the column's budget; layers
of one column are joined by their precision. That of pairs is the noise of one table of two columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.core.method import Method, method_class
from sfumato.core.plan import Plan, Stage
from sfumato.errors import SfumatoError
from sfumato.mechanisms.hierarchical_histogram import LAYER_WORDS
from sfumato.metrics.binning import CELLS
from sfumato.metrics.expected_errors import ColumnNoise, NoiseFacts, Tables
from sfumato.schema import Schema
from sfumato.schema.column import Column

LEAST_ROUNDS, ROUNDS_PER_COLUMN, MOST_ROUNDS = 10.0, 1.25, 100.0
"""Tables among which AIM's rounds share their budget, in effect: ten rounds are always left to be paid, more columns
need more tables to tie them together, and there are at most a hundred."""
CHOSEN_PAIRS = 40.0
"""Tables that AIM's rounds measure; 12 to 56 were seen."""
COARSE_CELLS = 16
"""Cells to which a large table of a pair is summed in the eye of a model that finds relations: four by four."""
Reader = Callable[[Plan, Schema, Any], NoiseFacts]


def noise_facts(plan: Plan, schema: Schema, method: Method) -> NoiseFacts | None:
    """Return the noise of a planned release; None for methods of which no forecast is known."""
    reader = READERS.get(plan.method)
    if reader is None or not isinstance(method, method_class(plan.method)):
        return None  # nobody knows what a method of somebody's own will do
    try:
        return reader(plan, schema, method)
    except (SfumatoError, KeyError):  # a plan that was made for another method or schema
        return None


def _graphical(plan: Plan, schema: Schema, method: Any) -> NoiseFacts:
    """AIM and MST: one-way tables in layers or flat, then tables of pairs and more that share the rest."""
    planned = method.planned(schema)
    later = next(stage.scale for stage in plan.stages if stage.name == planned.later)
    columns = _smooth(schema, planned.names, plan.stages)
    tables: Tables = _rounds if planned.rounds > 1 else _tree if planned.rounds else _all_pairs
    measured = {_rounds: _chosen, _tree: _tree}.get(tables)
    return NoiseFacts(columns, later * math.sqrt(tables(len(columns))), tables, measured)


def _rounds(columns: int) -> float:
    """Return among how many tables the rounds share their budget in effect."""
    return min(_all_pairs(columns), max(LEAST_ROUNDS, min(ROUNDS_PER_COLUMN * columns, MOST_ROUNDS)))


def _chosen(columns: int) -> float:
    return CHOSEN_PAIRS


def _tree(columns: int) -> float:
    return float(max(columns - 1, 1))


def _all_pairs(columns: int) -> float:
    return float(max(math.comb(columns, 2), 1))


def _marginals(plan: Plan, schema: Schema, method: Any) -> NoiseFacts:
    columns = _smooth(schema, method.chosen_columns(schema), plan.stages)
    names = {" x ".join(pair) for pair in method.chosen_pairs(schema)}
    pairs = [_summed(stage, min(stage.cells, COARSE_CELLS)) for stage in plan.stages if stage.name in names]
    noise = sum(pairs) / len(pairs) if pairs else None
    return NoiseFacts(columns, noise, _all_pairs, laplace=_is_laplace(plan.stages[0]))


def _smooth(schema: Schema, names: Sequence[str], stages: Sequence[Stage]) -> tuple[ColumnNoise, ...]:
    """Return columns of which numbers and dates are measured in layers, or flat where they have few values."""
    by_name = {stage.name: stage for stage in stages}
    return tuple(_smooth_column(schema[name], by_name) for name in names)


def _smooth_column(column: Column, stages: Mapping[str, Stage]) -> ColumnNoise:
    flat = stages.get(column.name)
    if flat is not None:
        return ColumnNoise(column.name, flat.cells, _deviation(flat), column.is_ordered)
    layers = [stages[f"{column.name}: {words}"] for words in LAYER_WORDS]
    noise = sum(_deviation(stage) ** -2 for stage in layers) ** -0.5
    return ColumnNoise(column.name, layers[1].cells, noise, column.is_ordered, layered=True)


def _grid(plan: Plan, schema: Schema, method: Any) -> NoiseFacts:
    """One table over one to three columns, cut as evenly as can be."""
    stage, names = plan.stages[0], method.released_columns(schema)
    side, noise = stage.cells ** (1 / len(names)), _deviation(stage)
    columns = (ColumnNoise(name, round(side), noise * math.sqrt(stage.cells / side), ordered=True) for name in names)
    pairs = noise * math.sqrt(stage.cells / side**2) if len(names) > 1 else None
    cells = {"pair_cells": side**2, "compared_cells": min(side, CELLS) ** 2}
    return NoiseFacts(tuple(columns), pairs, _tree, laplace=True, plain=True, **cells)


def _counts(plan: Plan, schema: Schema, method: Any) -> NoiseFacts:
    """Contingency tables and histograms: a column's noise is that of the best table that holds it."""
    sets = getattr(method, "sets", None) or ((method.column,),)
    noise, pairs = dict[str, float](), list[tuple[float, int, int]]()
    for names, stage in zip(sets, plan.stages, strict=True):
        for name in names:
            noise[name] = min(noise.get(name, math.inf), _summed(stage, schema[name].size))
        for two in combinations([schema[name] for name in names], 2):
            size = math.prod(column.size for column in two)
            pairs.append((_summed(stage, size), size, math.prod(_compared(column) for column in two)))
    columns = (ColumnNoise(name, schema[name].size, noise[name], schema[name].is_ordered) for name in noise)
    pair, *cells = np.mean(pairs, axis=0).tolist() if pairs else (None, 1.0, 1.0)
    sizes = dict(zip(("pair_cells", "compared_cells"), cells, strict=True))
    return NoiseFacts(tuple(columns), pair, _tree, laplace=_is_laplace(plan.stages[0]), plain=True, **sizes)


def _compared(column: Column) -> int:
    """Return the number of cells in which a column is compared."""
    return min(column.size, CELLS) if column.is_ordered else column.size


def _summed(stage: Stage, cells: int) -> float:
    """Return the noise of a cell when a table is summed to fewer cells."""
    return _deviation(stage) * math.sqrt(stage.cells / cells)


def _deviation(stage: Stage) -> float:
    return stage.scale * math.sqrt(2) if _is_laplace(stage) else stage.scale


def _is_laplace(stage: Stage) -> bool:
    return "laplace" in stage.noise


READERS: dict[str, Reader] = {
    "aim": _graphical,
    "mst": _graphical,
    "marginals": _marginals,
    "grid": _grid,
    "contingency": _counts,
    "histogram": _counts,
}
"""Methods of which a forecast is known. Others release curves, entropies or rows whose error hangs on the values."""
