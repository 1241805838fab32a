"""Forecast a planned release: noise from public facts, expected metrics, rows needed and changes that would help.

Noise is a standard deviation in rows. A column's is that of a single table that took all of the column's budget; layers
of one column are joined by their precision. That of pairs is the noise of one table of two columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.core.forecast import ColumnForecast, Forecast, ForecastAdvice
from sfumato.core.method import Method, method_class
from sfumato.core.plan import Plan, Stage
from sfumato.errors import SfumatoError
from sfumato.evaluate.verdict import (
    DROWNED,
    is_drowned_in_noise,
    rows_needed,
    verdict_of_forecast,
    verdict_without_rows,
)
from sfumato.formatting import counted
from sfumato.mechanisms.hierarchical_histogram import LAYER_WORDS
from sfumato.metrics.binning import CELLS
from sfumato.metrics.expected_errors import (
    ColumnNoise,
    ExpectedMetrics,
    NoiseFacts,
    Tables,
    expected_metrics,
    over_ordered,
)
from sfumato.privacy.exact import format_fraction, to_fraction
from sfumato.schema import Schema
from sfumato.schema.column import Column

MOST_EPSILON = 10.0
"""No larger epsilon is advised: it would promise too little."""
WORTH = 0.9
"""An error must fall to this share of it at least, or the advice is not given."""
KEPT_PART, MORE_ROWS, MORE_EPSILON = 3, 4, 2
"""Advice asks what a third of the columns, four times the rows, twice the epsilon would bring."""
ADVISED_BY = ("tvd_2_q16", "tvd_1_q16", "smallest_relation", "mean_error_sd")
"""What an advice is measured by: the first that falls by enough."""
LEAST_ROUNDS, ROUNDS_PER_COLUMN, MOST_ROUNDS = 10.0, 1.25, 100.0
"""Tables among which AIM's rounds share their budget, in effect: ten rounds are always left to be paid, more columns
need more tables to tie them together, and there are at most a hundred."""
CHOSEN_PAIRS = 40.0
"""Tables that AIM's rounds measure; 12 to 56 were seen."""
COARSE_CELLS = 16
"""Cells to which a large table of a pair is summed in the eye of a model that finds relations: four by four."""
Reader = Callable[[Plan, Schema, Any], NoiseFacts]


def forecast(plan: Plan, schema: Schema, method: Method, rows: int | None) -> Forecast | None:
    """Return what a planned release will be good for; None for methods that no forecast is known of.

    ``rows`` is a public or guessed number of rows of the private table, None where nobody said one.
    """
    facts = noise_facts(plan, schema, method)
    if facts is None:
        return None
    if rows is None:
        needed = rows_needed(facts)
        return Forecast(method=plan.method, rows_needed=needed, verdict=verdict_without_rows(needed))
    errors = expected_metrics(facts, max(rows, 1))
    return Forecast(
        method=plan.method,
        rows=rows,
        tvd_1_q16=errors.tvd_1_q16,
        tvd_2_q16=errors.tvd_2_q16,
        share_error=float(errors.share.mean()),
        mean_error_sd=errors.mean_error_sd,
        mean_error_range=over_ordered(errors.mean_range),
        median_error_range=over_ordered(errors.median_range),
        smallest_relation=errors.smallest_relation,
        columns=_columns(facts, errors),
        rows_needed=rows_needed(facts),
        advice=improvements(facts, max(rows, 1), plan),
        verdict=verdict_of_forecast(facts, max(rows, 1), errors),
        overwhelmed=is_drowned_in_noise(facts, max(rows, 1), errors),
    )


def _columns(facts: NoiseFacts, errors: ExpectedMetrics) -> tuple[ColumnForecast, ...]:
    return tuple(
        ColumnForecast(
            column.name,
            float(errors.share[place]),
            float(errors.tvd[place]),
            *(float(error[place]) for error in (errors.mean, errors.mean_range, errors.median_range) if column.ordered),
            drowned=bool(errors.tvd[place] >= DROWNED),
        )
        for place, column in enumerate(facts.columns)
    )


def improvements(facts: NoiseFacts, rows: float, plan: Plan) -> tuple[ForecastAdvice, ...]:
    """Return what would lower the errors, the largest gain first."""
    now = expected_metrics(facts, rows)
    changes = (*_fewer_columns(facts, now), *_larger_epsilon(facts, plan), *_narrower_bounds(facts))
    tried = [(words, expected_metrics(changed, rows)) for words, changed in changes]
    tried.append((f"{MORE_ROWS} times as many rows", expected_metrics(facts, MORE_ROWS * rows)))
    gains = (_gain(words, now, then) for words, then in tried)
    return tuple(sorted((each for each in gains if each is not None), key=lambda each: each.then / each.now))


def _gain(words: str, now: ExpectedMetrics, then: ExpectedMetrics) -> ForecastAdvice | None:
    """Return the advice with the first measure that it lowers by enough; None where it lowers none."""
    for name in ADVISED_BY:
        before, after = getattr(now, name), getattr(then, name)
        if before is not None and after is not None and after <= WORTH * before:
            return ForecastAdvice(words, name, before, after)
    return None


def _fewer_columns(facts: NoiseFacts, now: ExpectedMetrics) -> Iterator[tuple[str, NoiseFacts]]:
    columns, drowned = len(facts.columns), int((now.tvd >= DROWNED).sum())
    if facts.plain or columns <= KEPT_PART:
        return
    kept = math.ceil(columns / KEPT_PART)
    yield f"the {kept} columns that matter most, instead of {columns}", facts.keeping(kept)
    if 0 < drowned < columns - kept:
        left = columns - drowned
        yield f"leave out the {counted(drowned, 'column')} that will drown", facts.keeping(left)


def _larger_epsilon(facts: NoiseFacts, plan: Plan) -> Iterator[tuple[str, NoiseFacts]]:
    epsilon, delta = to_fraction(plan.epsilon or 0), float(to_fraction(plan.delta))
    if 0 < MORE_EPSILON * epsilon <= MOST_EPSILON:
        larger = MORE_EPSILON * epsilon
        ratio = noise_strength(float(epsilon), delta) / noise_strength(float(larger), delta)
        yield f"epsilon {format_fraction(larger)} instead of {format_fraction(epsilon)}", facts.quieter(ratio)


def noise_strength(epsilon: float, delta: float) -> float:
    """Return what noise is inversely proportional to: epsilon where delta is 0, else the root of rho.

    rho + 2 sqrt(rho ln(1 / delta)) = epsilon (Bun and Steinke 2016) is not what the accountants use, which is tighter;
    ratios of two epsilons are within a few percent of theirs, and take no time.

    >>> (
    ...     noise_strength(2.0, 0.0) / noise_strength(1.0, 0.0),
    ...     round(noise_strength(2.0, 1e-9) / noise_strength(1.0, 1e-9), 2),
    ... )
    (2.0, 1.98)
    """
    if not delta:
        return epsilon
    logarithm = -math.log(delta)
    return math.sqrt(logarithm + epsilon) - math.sqrt(logarithm)


def _narrower_bounds(facts: NoiseFacts) -> Iterator[tuple[str, NoiseFacts]]:
    if not facts.plain and any(column.ordered for column in facts.columns):
        yield "public bounds half as wide, where they are generous", replace(facts, width=facts.width / 2)


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
    return NoiseFacts(columns, noise, _all_pairs, laplace=plan.stages[0].law.is_laplace)


def _smooth(schema: Schema, names: Sequence[str], stages: Sequence[Stage]) -> tuple[ColumnNoise, ...]:
    """Return columns of which numbers and dates are measured in layers, or flat where they have few values."""
    by_name = {stage.name: stage for stage in stages}
    return tuple(_smooth_column(schema[name], by_name) for name in names)


def _smooth_column(column: Column, stages: Mapping[str, Stage]) -> ColumnNoise:
    flat = stages.get(column.name)
    if flat is not None:
        return ColumnNoise(column.name, flat.cells, flat.law.deviation, column.is_ordered)
    layers = [stages[f"{column.name}: {words}"] for words in LAYER_WORDS]
    noise = sum(stage.law.deviation**-2 for stage in layers) ** -0.5
    return ColumnNoise(column.name, layers[1].cells, noise, column.is_ordered, layered=True)


def _grid(plan: Plan, schema: Schema, method: Any) -> NoiseFacts:
    """One table over one to three columns, cut as evenly as can be."""
    stage, names = plan.stages[0], method.released_columns(schema)
    side, noise = stage.cells ** (1 / len(names)), stage.law.deviation
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
    return NoiseFacts(tuple(columns), pair, _tree, laplace=plan.stages[0].law.is_laplace, plain=True, **sizes)


def _compared(column: Column) -> int:
    """Return the number of cells in which a column is compared."""
    return min(column.size, CELLS) if column.is_ordered else column.size


def _summed(stage: Stage, cells: int) -> float:
    """Return the noise of a cell when a table is summed to fewer cells."""
    return stage.law.deviation * math.sqrt(stage.cells / cells)


READERS: dict[str, Reader] = {
    "aim": _graphical,
    "mst": _graphical,
    "marginals": _marginals,
    "grid": _grid,
    "contingency": _counts,
    "histogram": _counts,
}
"""Methods of which a forecast is known. Others release curves, entropies or rows whose error hangs on the values."""
