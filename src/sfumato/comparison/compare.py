"""Compare a release, or anybody's synthetic rows, with the confidential table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.calling import named_arguments
from sfumato.comparison.columns import compared_columns
from sfumato.comparison.distances import Distances, distances
from sfumato.comparison.equivalent import equivalent_rows
from sfumato.comparison.inputs import Laid, laid
from sfumato.comparison.prediction import Predicted, predicted
from sfumato.comparison.propensity import discriminator, pmse_ratio
from sfumato.comparison.relations import WORST, compared_pairs, related, strength_kept, worst_first, worst_subgroups
from sfumato.comparison.resampling import NORMAL, Second, half_widths, held_out, second_sample
from sfumato.comparison.result import Comparison, Measure
from sfumato.comparison.verdict import judged
from sfumato.comparison.words import LARGER_IS_BETTER, WORDS
from sfumato.progress import tell
from sfumato.schema import Schema


@named_arguments
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
    tell("reading")
    both = laid(released, table, holdout, schema, seed)
    layout, true, made = both.layout, both.true, both.made
    measured, splits = distances(layout, true, made), second_sample(both.layout, both.true, len(made), seed)
    held = both.holdout
    second = splits if held is None else held_out(splits, layout, true, held, len(made))
    learned = predicted(layout, true, made, held, target, seed)
    measures = ordered(_plain(both, measured, second, seed) | _told(both, seed) | _learned(learned))
    equivalent = equivalent_rows(layout, true, splits, measured.values, seed)
    tell("relations")
    relations = related(layout, true, made)
    pairs, worst_pairs = compared_pairs(layout, true, made, relations, measured.pairs, second)
    kept = strength_kept(relations)
    columns = compared_columns(layout, true, made, measured.columns, second)
    grade, verdict = judged(measures, kept, columns)
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


def _plain(both: Laid, measured: Distances, second: Second, seed: int) -> dict[str, Measure]:
    """Return the measures that need no model."""
    widths = half_widths(both.layout, both.true, both.made, seed)
    real = both.true if both.holdout is None else both.holdout
    usual = second.mean | {"rule_violations": float(real.broken.mean())}
    return {
        name: measure_of(name, value, widths[name], usual[name], NORMAL * second.spread[name])
        for name, value in measured.values.items()
    }


def _told(both: Laid, seed: int) -> dict[str, Measure]:
    """Return how well made rows are told from real ones."""
    found: dict[str, Measure] = {}
    for name, tells in (("propensity", pmse_ratio), ("propensity_auc", discriminator)):
        told = tells(both.layout, both.true, both.made, seed)
        usual = told.chance if both.holdout is None else tells(both.layout, both.true, both.holdout, seed).value
        found[name] = measure_of(name, told.value, told.width, usual, told.spread)
    return found


def _learned(learned: Predicted | None) -> dict[str, Measure]:
    if learned is None:
        return {}
    return {"prediction": measure_of("prediction", learned.value, learned.width, 1.0, learned.spread)}


def measure_of(name: str, value: float, width: float, yardstick: float, spread: float) -> Measure:
    """Return a measure with its intervals, none of which goes below 0."""
    low, high, least, most = (
        max(0.0, end) for end in (value - width, value + width, yardstick - spread, yardstick + spread)
    )
    better = name in LARGER_IS_BETTER
    return Measure(name, WORDS[name], value, min(low, value), high, yardstick, least, most, better)


def ordered(measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """Return the measures in the order in which they are shown."""
    return {name: measures[name] for name in WORDS if name in measures}
