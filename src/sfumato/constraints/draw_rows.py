"""Draw rows that keep every rule: redraw first, then repair what is left.

Rows that break a rule are drawn again as long as that helps: among rows drawn alike, those that keep the rules have the
right law. What is still broken then is mended by construction (:mod:`sfumato.constraints.repair`), for an equation
between columns may hold in no drawn row at all. A column that another determines is not drawn again but follows it
(:mod:`sfumato.constraints.functional_dependence`).

A row cannot be drawn again where it belongs to predictors that are released as they are; its target can, as long as the
predictors stay in their place, and a target that stays wrong is mended around them. Rows that keep no rule even then
are left out. What a paper printed is not mended: its rows are left out where they break a rule. The rows are shuffled
as a whole: the order of the table may tell what no column says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.functional_dependence import apply_maps, notes_on_maps, with_maps_from_rows
from sfumato.constraints.repair import MOST_JUDGED, RepairedRows, count_repairs, repair, repair_notes
from sfumato.progress import report_progress
from sfumato.sampling.values import (
    Codes,
    RowIndices,
    Values,
    draw_values,
    overwrite_rows,
    rows_at,
    rows_table,
    values_of_column,
)
from sfumato.schema import Schema

DrawCodes = Callable[[int], Codes]

DrawValues = Callable[[int], Values]

REDRAWS = 50
"""Rounds at most in which rows that break a rule are drawn again. How many there are follows from released numbers and
fresh coins, never from the private rows, so the time that they take tells nothing that the release does not."""
LEAST_HELP = 0.05
"""Share of the rows drawn again that must turn out good: below it more rounds would cost more than they bring."""

PUBLIC_ROWS = 2000

BATCH_ROWS = 1 << 18
"""Rows that are drawn together: 100 MB for ten columns."""


@dataclass(frozen=True)
class DrawnRows:
    """Synthetic rows that keep the rules, and what it took."""

    values: Values
    redrawn: int
    """Rows that broke a rule as first drawn."""
    repaired: Mapping[str, int]
    """Rows that broke each rule when they had been drawn again, and were mended."""
    replaced: int
    """Rows that could not be mended, and took values of others."""
    left_out: int | None = None
    """Rows without a place in the table, where fixed columns forbid to mend or replace them."""
    notes: tuple[str, ...] = ()
    bound: Schema | None = None
    """The schema with a map for every dependence between the columns: other tables of the release follow it, too."""

    @property
    def statistics(self) -> dict[str, Any]:
        """What was done for the rules, as a release states it."""
        return repair_statistics([self])


def repair_statistics(tables: Sequence[DrawnRows]) -> dict[str, Any]:
    """Return what was done for the rules in several tables of one release together."""
    repaired: Counter[str] = Counter()
    for table in tables:
        repaired.update(table.repaired)
    statistics: dict[str, Any] = {
        "rows_redrawn_for_rules": sum(table.redrawn for table in tables),
        "rows_repaired_for_rules": dict(repaired),
    }
    left_out = [table.left_out for table in tables if table.left_out is not None]
    if left_out:
        return statistics | {"rows_left_out_for_rules": sum(left_out)}
    return statistics | {"rows_replaced_for_rules": sum(table.replaced for table in tables)}


def rule_notes(tables: Sequence[DrawnRows]) -> tuple[str, ...]:
    """Return what several tables of one release say about their rules, each sentence once."""
    return tuple(dict.fromkeys(note for table in tables for note in table.notes))


def sample_rows(schema: Schema, draw_codes: DrawCodes, rows: int, generator: np.random.Generator) -> DrawnRows:
    """Draw rows that keep every rule, from codes."""

    def draw(count: int) -> Values:
        codes = draw_codes(count)
        return {name: draw_values(schema[name], column, generator) for name, column in codes.items()}

    return sample_values(schema, draw, rows, generator)


def sample_table(
    schema: Schema, draw: DrawValues, rows: int, generator: np.random.Generator, batch_rows: int = BATCH_ROWS
) -> tuple[pa.Table, list[DrawnRows]]:
    """Draw rows that keep every rule batch by batch: the table, and what each batch took, without its values.

    Beside the table itself only one batch is in memory. Where a dependence has no map, that of the first batch holds
    for all of them.
    """
    tables, batches = list[pa.Table](), list[DrawnRows]()
    for start in range(0, max(rows, 1), batch_rows):
        report_progress("drawing rows", start / max(rows, 1))
        bound = batches[0].bound if batches else None
        sampled = sample_values(schema, draw, min(batch_rows, rows - start), generator, bound)
        tables.append(rows_table(schema, sampled.values))
        batches.append(replace(sampled, values={}))
    return pa.concat_tables(tables), batches


def sample_values(
    schema: Schema, draw: DrawValues, rows: int, generator: np.random.Generator, bound: Schema | None = None
) -> DrawnRows:
    """Draw rows that keep every rule: bad rows are drawn again, and mended where that does not help.

    A row that cannot be mended takes the bound columns of one that keeps the rules: a synthetic one or, where there is
    none, one from public facts; the plan has made sure beforehand that such rows exist. ``bound`` is the schema with a
    map for every dependence, where earlier rows have found it.
    """
    first = draw(rows)
    bound = bound or with_maps_from_rows(schema, first)
    values, mapped = apply_maps(bound, first)
    bad = np.flatnonzero(~keeps_rules(bound, values))
    map_notes = notes_on_maps(schema, bound)
    if not len(bad):
        return DrawnRows(values, 0, no_repairs(schema, values) | mapped, 0, notes=map_notes, bound=bound)
    drawn = rows_at(values, np.arange(min(rows, MOST_JUDGED)))
    left = _redraw(bound, lambda count: apply_maps(bound, draw(count))[0], values, bad)
    mended = repair(bound, values, generator) if len(left) else RepairedRows(values, no_repairs(schema, values), 0)
    notes = repair_notes(schema, drawn, mended.values, mended)
    repaired = count_repairs(mended.repaired, mapped)
    return DrawnRows(mended.values, len(bad), repaired, mended.replaced, notes=(*map_notes, *notes), bound=bound)


def _redraw(schema: Schema, draw: DrawValues, values: Values, bad: RowIndices) -> RowIndices:
    """Draw bad rows again, in place; return those that are still bad when that is over or no longer helps."""
    tried = good = 0
    for _ in range(REDRAWS):
        if not len(bad) or good < LEAST_HELP * tried:
            break
        fresh = draw(len(bad))
        overwrite_rows(values, bad, fresh)
        kept = keeps_rules(schema, fresh)
        tried, good = tried + len(kept), good + int(kept.sum())
        bad = bad[~kept]
    return bad


def no_repairs(schema: Schema, values: Values) -> dict[str, int]:
    """Return every rule between the given columns with no row that was mended for it."""
    return {rule.check: 0 for rule in schema.rules if set(rule.columns) <= set(values)}


def rows_from_public_domain(schema: Schema, names: Sequence[str], generator: np.random.Generator) -> Values:
    """Return rows drawn evenly from the public domain that keep the rules; refuse rules that none keeps."""

    def uniform(count: int) -> Codes:
        return {name: generator.integers(0, schema[name].size, count) for name in sorted(names)}

    return sample_rows(schema, uniform, PUBLIC_ROWS, generator).values


def unchanged_columns_note(names: Sequence[str]) -> tuple[str, ...]:
    """Name the columns whose true values leave, in the words that plan, event and report share; none, no words.

    >>> unchanged_columns_note(["x", "g"])
    ('x, g: released as they are',)
    """
    return (f"{', '.join(names)}: released as they are",) if names else ()


def shuffled_copies(
    schema: Schema, copies: Sequence[Mapping[str, NDArray[Any]]], generator: np.random.Generator
) -> list[tuple[pa.Table, int]]:
    """Return several tables of one release as :func:`shuffle_rows` does; what depends does so alike in all."""
    first = {name: values_of_column(schema[name], column_values) for name, column_values in copies[0].items()}
    bound = with_maps_from_rows(schema, first)
    return [shuffle_rows(bound, copy, generator) for copy in copies]


def shuffle_rows(
    schema: Schema,
    values: Mapping[str, NDArray[Any]],
    generator: np.random.Generator,
) -> tuple[pa.Table, int]:
    """Return whole columns as a table in random order, without the rows that break a rule, and how many those were.

    A dependence without a public map is broken by the rows that differ from what most say.
    """
    released = {name: values_of_column(schema[name], column_values) for name, column_values in values.items()}
    kept = keeps_rules(with_maps_from_rows(schema, released), released)
    table = rows_table(schema, rows_at(released, np.flatnonzero(kept)))
    return table.take(generator.permutation(table.num_rows)), int((~kept).sum())


def redraw_targets_in_place(
    schema: Schema,
    make: Callable[[RowIndices], Values],
    rows: int,
    generator: np.random.Generator,
    fixed: Sequence[str],
) -> DrawnRows:
    """Return shuffled rows that keep the rules, with what it took; the fixed columns of each row are as they were.

    ``make`` returns the rows at given places of predictors that stay as they are, with fresh targets.
    """
    first = make(np.arange(rows))
    bound = with_maps_from_rows(schema, first)
    values, mapped = apply_maps(bound, first, fixed)
    drawn = rows_at(values, np.arange(min(rows, MOST_JUDGED)))
    bad = np.flatnonzero(~keeps_rules(bound, values))
    left = _drawn_again_in_place(bound, lambda places: apply_maps(bound, make(places), fixed)[0], values, bad)
    mended = (
        repair(bound, values, generator, fixed) if len(left) else RepairedRows(values, no_repairs(schema, values), 0)
    )
    kept = np.setdiff1d(np.arange(rows), sorted(mended.broken))
    notes = repair_notes(schema, drawn, rows_at(mended.values, kept), mended) if len(bad) else ()
    notes = (*notes_on_maps(schema, bound), *notes)
    order = generator.permutation(kept)
    repaired = count_repairs(mended.repaired, mapped)
    return DrawnRows(rows_at(mended.values, order), len(bad), repaired, 0, len(mended.broken), notes, bound)


def _drawn_again_in_place(
    schema: Schema, make: Callable[[RowIndices], Values], values: Values, bad: RowIndices
) -> RowIndices:
    """Draw bad rows again at their places: each row has a law of its own, so all of them get every round."""
    for _ in range(REDRAWS):
        if not len(bad):
            break
        fresh = make(bad)
        overwrite_rows(values, bad, fresh)
        bad = bad[~keeps_rules(schema, fresh)]
    return bad
