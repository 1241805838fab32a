"""Compare a release, or any synthetic rows, with the private table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.argument_errors import checked_arguments
from sfumato.arrays import FloatArray
from sfumato.errors import RiskError, TableError
from sfumato.evaluate.compare.columns import (
    WORST,
    column_comparisons,
    measured_associations,
    strong_and_worst_pairs,
    worst_first,
    worst_subgroups,
)
from sfumato.evaluate.compare.result import Comparison, MetricWithYardstick
from sfumato.evaluate.verdict import verdict_of_comparison
from sfumato.metrics.association import association_kept
from sfumato.metrics.binning import MOST_SETS
from sfumato.metrics.catalogue import METRICS
from sfumato.metrics.comparison_layout import BinnedRows, ComparisonLayout
from sfumato.metrics.detection import detection_auc, pmse_ratio
from sfumato.metrics.distances import DistanceSummary, distances
from sfumato.metrics.evaluation_input import (
    open_evaluation_input,
    private_table,
    shared_columns,
    unknown_as_missing,
)
from sfumato.metrics.prediction import PredictiveSkill, skill_kept
from sfumato.metrics.rows_view import read_rows_view
from sfumato.metrics.second_sample import (
    NORMAL,
    SecondSample,
    equivalent_rows,
    half_widths,
    holdout_yardstick,
    second_sample,
)
from sfumato.progress import report_progress
from sfumato.schema import Schema

HOW = "compare(released, table)"
MOST_ROWS = 200_000
"""Rows of a side on which intervals, yardsticks and models rest; a random sample where there are more."""
FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False)
class ComparisonInput:
    """Everything read and coded, and what is to be said about it."""

    layout: ComparisonLayout
    true: BinnedRows
    synthetic: BinnedRows
    holdout: BinnedRows | None
    notes: tuple[str, ...]

    def sampled(self, seed: int) -> ComparisonInput:
        """Return both sides with so many rows at most that intervals, yardsticks and models stay quick."""
        held = None if self.holdout is None else _sample(self.holdout, seed)
        return replace(self, true=_sample(self.true, seed), synthetic=_sample(self.synthetic, seed), holdout=held)


def _sample(side: BinnedRows, seed: int) -> BinnedRows:
    if len(side) <= MOST_ROWS:
        return side
    return side[np.random.default_rng(seed).choice(len(side), MOST_ROWS, replace=False)]


def read_comparison_input(
    released: Any, table: Any, holdout: Any, schema: Schema | str | Path | None
) -> ComparisonInput:
    """Read and code both sides, or refuse with the reason."""
    was = open_evaluation_input(released).require_rows()
    true = private_table(table, schema, was.schema, HOW)
    synthetic = was.rows_for(true.schema)
    names, absent = shared_columns(true.schema, synthetic)
    left_out = [f"not in the release, so not compared: {', '.join(absent)}"] if absent else []
    points = read_points(true, true.schema, names, "the table")
    other, unknown = read_any_rows(synthetic, true.schema, names, "the release")
    layout = ComparisonLayout.of(true.schema, [true.schema[name] for name in names], other, points)
    held = None
    if holdout is not None:
        apart = private_table(holdout, None, true.schema, HOW)
        held = layout.side(read_points(apart, true.schema, names, "the holdout"))
    notes = (*was.notes, *left_out, *unknown, *_sampled_notes(layout, points, other))
    return ComparisonInput(layout, layout.side(points), layout.side(other), held, notes)


def read_points(source: Any, schema: Schema, names: Sequence[str], what: str) -> FloatArray:
    """Return the rows of a table that count: numbers as they are, levels as codes, NaN where missing."""
    try:
        points = read_rows_view(source, schema, names, counting=True).points
    except RiskError as error:
        raise TableError(f"{what} does not fit the schema", error.problems, error.next_step) from error
    if len(points) < FEWEST_ROWS:
        raise TableError(
            f"{what} has {len(points)} rows; at least {FEWEST_ROWS} are needed", next_step="give more rows"
        )
    return np.asfortranarray(points)


def read_any_rows(source: Any, schema: Schema, names: Sequence[str], what: str) -> tuple[FloatArray, list[str]]:
    """Return rows from any source; values that the schema does not know count as missing, with a note."""
    try:
        return read_points(source, schema, names, what), []
    except TableError as error:
        if not error.problems:
            raise
        notes = [f"{what}: {problem}, counted as missing" for problem in error.problems]
    return read_points(*unknown_as_missing(source, schema, names), names, what), notes


def _sampled_notes(layout: ComparisonLayout, *sides: FloatArray) -> list[str]:
    columns, notes = len(layout.columns), list[str]()
    if columns * (columns - 1) // 2 > (MOST_SETS[2] or 0):
        notes.append(f"of the pairs of columns a fixed sample of {MOST_SETS[2]:,} is compared")
    if any(len(side) > MOST_ROWS for side in sides):
        notes.append(f"intervals, yardsticks and models rest on random samples of {MOST_ROWS:,} rows")
    if layout.schema.person is not None:
        notes.append(f"of each person at most {layout.schema.rows_per_person} rows are compared, as in the release")
    return notes


@checked_arguments
def compare(
    released: Any,
    table: Any,
    holdout: Any = None,
    target: str | None = None,
    seed: int = 0,
    schema: Schema | str | Path | None = None,
) -> Comparison:
    """Compare released rows with the table that they were made from. Costs nothing and is for the custodian's eyes.

    ``released`` is a release, the folder of a bundle, or any rows (a frame, a file) with the columns of the table.
    ``table`` is a :class:`~sfumato.table.Table`, or what can be read as one with ``schema``, or with the schema of the
    release. ``holdout`` is real rows that were not in the table; without it halves of the table are the yardstick.
    ``target`` is the column that models predict; some of those that can be a target by default. ``seed`` repeats the
    random splits.
    """
    report_progress("reading")
    whole = read_comparison_input(released, table, holdout, schema)
    both, layout = whole.sampled(seed), whole.layout
    true, synthetic, held = both.true, both.synthetic, both.holdout
    rows, synthetic_rows = len(whole.true), len(whole.synthetic)
    measured = distances(layout, whole.true, whole.synthetic)
    splits = second_sample(layout, true, synthetic_rows, seed, rows)
    second = splits if held is None else holdout_yardstick(splits, layout, true, held, synthetic_rows)
    learned = skill_kept(layout, true, synthetic, held, target, seed)
    metrics = ordered(_plain(both, measured, second, seed) | _detection(both, seed) | _prediction(learned))
    equivalent = equivalent_rows(layout, true, splits, measured.values, seed, rows)
    report_progress("associations")
    associations = measured_associations(layout, whole.true, whole.synthetic)
    pairs, worst_pairs = strong_and_worst_pairs(
        layout, whole.true, whole.synthetic, associations, measured.pairs, second
    )
    kept = association_kept(associations.true, associations.synthetic)
    columns = column_comparisons(layout, whole.true, whole.synthetic, measured.columns, second)
    grade, verdict = verdict_of_comparison(metrics, kept, columns)
    return Comparison(
        table=layout.schema.name,
        schema=layout.schema,
        rows=rows,
        synthetic_rows=synthetic_rows,
        holdout_rows=None if whole.holdout is None else len(whole.holdout),
        measures=metrics,
        equivalent_rows=equivalent | ({} if learned is None else {"prediction": learned.equivalent}),
        columns=columns,
        pairs=pairs,
        worst_columns=tuple(layout.names[i] for i in worst_first(measured.columns, second.columns)[:WORST]),
        worst_pairs=worst_pairs,
        worst_subgroups=worst_subgroups(layout, whole.true, whole.synthetic),
        predictions={} if learned is None else learned.targets,
        verdict=verdict,
        grade=grade,
        notes=whole.notes,
        association_kept=kept,
    )


def _plain(
    both: ComparisonInput, measured: DistanceSummary, second: SecondSample, seed: int
) -> dict[str, MetricWithYardstick]:
    """Return the measures that need no model."""
    widths = half_widths(both.layout, both.true, both.synthetic, seed)
    real = both.true if both.holdout is None else both.holdout
    usual = second.mean | {"rule_violations": float(real.broken.mean())}
    return {
        name: metric_with_yardstick(name, value, widths[name], usual[name], NORMAL * second.spread[name])
        for name, value in measured.values.items()
    }


def _detection(both: ComparisonInput, seed: int) -> dict[str, MetricWithYardstick]:
    """Return how well synthetic rows are told from real ones."""
    scores: dict[str, MetricWithYardstick] = {}
    for name, detect in (("pmse_ratio", pmse_ratio), ("detection_auc", detection_auc)):
        score = detect(both.layout, both.true, both.synthetic, seed)
        usual = score.chance if both.holdout is None else detect(both.layout, both.true, both.holdout, seed).value
        scores[name] = metric_with_yardstick(name, score.value, score.width, usual, score.spread)
    return scores


def _prediction(learned: PredictiveSkill | None) -> dict[str, MetricWithYardstick]:
    if learned is None:
        return {}
    return {"skill_kept": metric_with_yardstick("skill_kept", learned.value, learned.width, 1.0, learned.spread)}


def metric_with_yardstick(
    name: str, value: float, width: float, yardstick: float, spread: float
) -> MetricWithYardstick:
    """Return a measure with its intervals, none of which goes below 0."""
    low, high, least, most = (
        max(0.0, end) for end in (value - width, value + width, yardstick - spread, yardstick + spread)
    )
    about = METRICS[name]
    interval = (min(low, value), high, yardstick, least, most)
    return MetricWithYardstick(name, about.meaning, value, *interval, about.larger_is_better)


def ordered(measures: Mapping[str, MetricWithYardstick]) -> dict[str, MetricWithYardstick]:
    """Return the measures in the order in which they are shown."""
    return {name: measures[name] for name in METRICS if name in measures}
