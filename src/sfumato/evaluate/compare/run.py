"""Compare a release, or any synthetic rows, with the private table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.argument_errors import checked_arguments
from sfumato.core.release import Release
from sfumato.errors import BundleError
from sfumato.evaluate.compare.columns import column_comparisons
from sfumato.evaluate.compare.distances import DistanceSummary, distances
from sfumato.evaluate.compare.equivalent import equivalent_rows
from sfumato.evaluate.compare.pairs import (
    WORST,
    association_kept,
    associations,
    strong_and_worst_pairs,
    worst_first,
    worst_subgroups,
)
from sfumato.evaluate.compare.prediction import PredictiveSkill, skill_kept
from sfumato.evaluate.compare.propensity import detection_auc, pmse_ratio
from sfumato.evaluate.compare.resampling import NORMAL, SecondSample, half_widths, holdout_yardstick, second_sample
from sfumato.evaluate.compare.result import Comparison, MetricWithYardstick
from sfumato.evaluate.compare.sides import (
    MOST_PAIRS,
    MOST_ROWS,
    ComparisonLayout,
    RowsView,
    read_any_rows,
    read_points,
)
from sfumato.evaluate.compare.verdict import verdict_of_comparison
from sfumato.evaluate.compare.words import LARGER_IS_BETTER, WORDS
from sfumato.metrics.evaluation_input import (
    EvaluationInput,
    open_evaluation_input,
    open_rows,
    private_table,
    shared_columns,
)
from sfumato.progress import report_progress
from sfumato.schema import Schema

HOW = "compare(released, table)"


@dataclass(frozen=True, eq=False)
class ComparisonInput:
    """Everything read and coded, and what is to be said about it."""

    layout: ComparisonLayout
    true: RowsView
    made: RowsView
    holdout: RowsView | None
    notes: tuple[str, ...]


def read_comparison_input(
    released: Any, table: Any, holdout: Any, schema: Schema | str | Path | None, seed: int
) -> ComparisonInput:
    """Read and code both sides, or refuse with the reason."""
    was = open_evaluation_input(released)
    rows = _rows(was, released)
    true = private_table(table, schema, was.schema, HOW)
    made = rows if was.schema is not None else open_rows(rows, true.schema)
    names, absent = shared_columns(true.schema, made)
    left_out = [f"not in the release, so not compared: {', '.join(absent)}"] if absent else []
    points = read_points(true, true.schema, names, "the table", seed)
    other, told = read_any_rows(made, true.schema, names, "the release", seed)
    apart = (
        None
        if holdout is None
        else read_points(private_table(holdout, None, true.schema, HOW), true.schema, names, "the holdout", seed)
    )
    layout = ComparisonLayout.of(true.schema, [true.schema[name] for name in names], points)
    notes = [*was.notes, *left_out, *told, *_sampled(layout, points, other)]
    held = None if apart is None else layout.side(apart)
    return ComparisonInput(layout, layout.side(points), layout.side(other), held, tuple(notes))


def _rows(made: EvaluationInput, released: Any) -> Any:
    """Return the released rows; counts and values cannot be compared row by row."""
    if made.makes != "rows":
        what = "the release" if isinstance(released, Release) else repr(str(released))
        raise BundleError(
            f"{what} holds {made.makes}, not rows: there is nothing to compare row by row",
            next_step="give a release of synthetic rows; 'sfumato calibrate' measures the error of counts, and "
            "'sfumato utility' what else a release can be used for",
        )
    return made.rows


def _sampled(layout: ComparisonLayout, *sides: Any) -> list[str]:
    columns, notes = len(layout.cells), list[str]()
    if columns * (columns - 1) // 2 > MOST_PAIRS:
        notes.append(f"of the pairs of columns a fixed sample of {MOST_PAIRS:,} is compared")
    if any(len(side) == MOST_ROWS for side in sides):
        notes.append(f"of a table with more rows, a random sample of {MOST_ROWS:,} is compared")
    if layout.schema.person is not None:
        notes.append("all rows of the table are compared, also those of a person beyond what a release counts")
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
    ``target`` is the column that models predict; some of those that can be a target unless said. ``seed`` repeats the
    random splits.
    """
    report_progress("reading")
    both = read_comparison_input(released, table, holdout, schema, seed)
    layout, true, made = both.layout, both.true, both.made
    measured, splits = distances(layout, true, made), second_sample(both.layout, both.true, len(made), seed)
    held = both.holdout
    second = splits if held is None else holdout_yardstick(splits, layout, true, held, len(made))
    learned = skill_kept(layout, true, made, held, target, seed)
    measures = ordered(_plain(both, measured, second, seed) | _detection(both, seed) | _prediction(learned))
    equivalent = equivalent_rows(layout, true, splits, measured.values, seed)
    report_progress("relations")
    relations = associations(layout, true, made)
    pairs, worst_pairs = strong_and_worst_pairs(layout, true, made, relations, measured.pairs, second)
    kept = association_kept(relations)
    columns = column_comparisons(layout, true, made, measured.columns, second)
    grade, verdict = verdict_of_comparison(measures, kept, columns)
    return Comparison(
        table=layout.schema.name,
        schema=layout.schema,
        rows=len(true),
        made_rows=len(made),
        holdout_rows=None if held is None else len(held),
        measures=measures,
        equivalent_rows=equivalent | ({} if learned is None else {"prediction": learned.equivalent}),
        columns=columns,
        pairs=pairs,
        worst_columns=tuple(layout.names[i] for i in worst_first(measured.columns, second.columns)[:WORST]),
        worst_pairs=worst_pairs,
        worst_subgroups=worst_subgroups(layout, true, made),
        predictions={} if learned is None else learned.targets,
        verdict=verdict,
        grade=grade,
        notes=both.notes,
        relations_kept=kept,
    )


def _plain(
    both: ComparisonInput, measured: DistanceSummary, second: SecondSample, seed: int
) -> dict[str, MetricWithYardstick]:
    """Return the measures that need no model."""
    widths = half_widths(both.layout, both.true, both.made, seed)
    real = both.true if both.holdout is None else both.holdout
    usual = second.mean | {"rule_violations": float(real.broken.mean())}
    return {
        name: metric_with_yardstick(name, value, widths[name], usual[name], NORMAL * second.spread[name])
        for name, value in measured.values.items()
    }


def _detection(both: ComparisonInput, seed: int) -> dict[str, MetricWithYardstick]:
    """Return how well made rows are told from real ones."""
    found: dict[str, MetricWithYardstick] = {}
    for name, tells in (("propensity", pmse_ratio), ("propensity_auc", detection_auc)):
        told = tells(both.layout, both.true, both.made, seed)
        usual = told.chance if both.holdout is None else tells(both.layout, both.true, both.holdout, seed).value
        found[name] = metric_with_yardstick(name, told.value, told.width, usual, told.spread)
    return found


def _prediction(learned: PredictiveSkill | None) -> dict[str, MetricWithYardstick]:
    if learned is None:
        return {}
    return {"prediction": metric_with_yardstick("prediction", learned.value, learned.width, 1.0, learned.spread)}


def metric_with_yardstick(
    name: str, value: float, width: float, yardstick: float, spread: float
) -> MetricWithYardstick:
    """Return a measure with its intervals, none of which goes below 0."""
    low, high, least, most = (
        max(0.0, end) for end in (value - width, value + width, yardstick - spread, yardstick + spread)
    )
    better = name in LARGER_IS_BETTER
    return MetricWithYardstick(name, WORDS[name], value, min(low, value), high, yardstick, least, most, better)


def ordered(measures: Mapping[str, MetricWithYardstick]) -> dict[str, MetricWithYardstick]:
    """Return the measures in the order in which they are shown."""
    return {name: measures[name] for name in WORDS if name in measures}
