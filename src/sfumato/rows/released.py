"""Columns of numbers and codes as a released table, in an order that says nothing.

A row cannot be drawn again where it belongs to predictors that are released as they are; its target can, as long as the
predictors stay in their place, and a target that stays wrong is mended around them. Rows that keep no rule even then
are left out. What a paper printed is not mended: its rows are left out where they break a rule. The rows are shuffled
as a whole: the order of the table may tell what no column says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.rows.draw import REDRAWS, Sampled, no_repairs, with_followed
from sfumato.rows.rules.clauses import keeps_rules
from sfumato.rows.rules.dependence import bound_by_rows, follow, notes_on_maps
from sfumato.rows.rules.repair import MOST_JUDGED, Repaired, notes_on_rules, repair
from sfumato.rows.values import Masked, Places, Values, levels_of, overwrite, rows_at, rows_table
from sfumato.schema import Schema
from sfumato.schema.column import Column


def as_they_are(names: Sequence[str]) -> tuple[str, ...]:
    """Name the columns whose true values leave, in the words that plan, event and report share; none, no words.

    >>> as_they_are(["x", "g"])
    ('x, g: released as they are',)
    """
    return (f"{', '.join(names)}: released as they are",) if names else ()


def shuffled_copies(
    schema: Schema, copies: Sequence[Mapping[str, NDArray[Any]]], generator: np.random.Generator
) -> list[tuple[pa.Table, int]]:
    """Return several tables of one release as :func:`shuffled_rows_of` does; what depends does so alike in all."""
    first = {name: released_values(schema[name], found) for name, found in copies[0].items()}
    bound = bound_by_rows(schema, first)
    return [shuffled_rows_of(bound, copy, generator) for copy in copies]


def shuffled_rows_of(
    schema: Schema,
    values: Mapping[str, NDArray[Any]],
    generator: np.random.Generator,
) -> tuple[pa.Table, int]:
    """Return whole columns as a table in random order, without the rows that break a rule, and how many those were.

    A dependence without a public map is broken by the rows that differ from what most say.
    """
    released = {name: released_values(schema[name], found) for name, found in values.items()}
    kept = keeps_rules(bound_by_rows(schema, released), released)
    table = rows_table(schema, rows_at(released, np.flatnonzero(kept)))
    return table.take(generator.permutation(table.num_rows)), int((~kept).sum())


def redrawn_in_place(
    schema: Schema,
    make: Callable[[Places], Values],
    rows: int,
    generator: np.random.Generator,
    fixed: Sequence[str],
) -> Sampled:
    """Return shuffled rows that keep the rules, with what it took; the fixed columns of each row are as they were.

    ``make`` returns the rows at given places of predictors that stay as they are, with fresh targets.
    """
    first = make(np.arange(rows))
    bound = bound_by_rows(schema, first)
    values, told = follow(bound, first, fixed)
    drawn = rows_at(values, np.arange(min(rows, MOST_JUDGED)))
    bad = np.flatnonzero(~keeps_rules(bound, values))
    left = _drawn_again_in_place(bound, lambda places: follow(bound, make(places), fixed)[0], values, bad)
    made = repair(bound, values, generator, fixed) if len(left) else Repaired(values, no_repairs(schema, values), 0)
    kept = np.setdiff1d(np.arange(rows), sorted(made.broken))
    notes = notes_on_rules(schema, drawn, rows_at(made.values, kept), made) if len(bad) else ()
    notes = (*notes_on_maps(schema, bound), *notes)
    order = generator.permutation(kept)
    repaired = with_followed(made.repaired, told)
    return Sampled(rows_at(made.values, order), len(bad), repaired, 0, len(made.broken), notes, bound)


def _drawn_again_in_place(schema: Schema, make: Callable[[Places], Values], values: Values, bad: Places) -> Places:
    """Draw bad rows again at their places: each row has a law of its own, so all of them get every round."""
    for _ in range(REDRAWS):
        if not len(bad):
            break
        fresh = make(bad)
        overwrite(values, bad, fresh)
        bad = bad[~keeps_rules(schema, fresh)]
    return bad


def released_values(column: Column, found: NDArray[Any]) -> Masked:
    """Return one column as it is released, and which values are missing: NaN of numbers, the last code of levels."""
    if column.is_ordered:
        missing = np.isnan(found)
        whole = np.where(missing, 0, found)
        return (whole.astype(np.int64) if column.is_discrete else whole), missing
    missing = found == column.present_size
    return levels_of(column)[np.where(missing, 0, found)], missing
