"""Rows drawn from what was measured, with every rule kept: all of it post-processing of released numbers.

Rows that break a rule are drawn again as long as that helps: among rows drawn alike, those that keep the rules have the
right law. What is still broken then is mended by construction (:mod:`sfumato.rows.rules.repair`), for an equation
between columns may hold in no drawn row at all. A column that another determines is not drawn again but follows it
(:mod:`sfumato.rows.rules.dependence`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.progress import tell
from sfumato.rows.rules.clauses import keeps_rules
from sfumato.rows.rules.dependence import bound_by_rows, follow, notes_on_maps
from sfumato.rows.rules.repair import MOST_JUDGED, Repaired, notes_on_rules, repair
from sfumato.rows.values import Codes, Places, Values, draw_values, overwrite, rows_at, rows_table
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
class Sampled:
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
        return rule_statistics([self])


def rule_statistics(tables: Sequence[Sampled]) -> dict[str, Any]:
    """Return what was done for the rules in several tables of one release together."""
    repaired: Counter[str] = Counter()
    for table in tables:
        repaired.update(table.repaired)
    found: dict[str, Any] = {
        "rows_redrawn_for_rules": sum(table.redrawn for table in tables),
        "rows_repaired_for_rules": dict(repaired),
    }
    left_out = [table.left_out for table in tables if table.left_out is not None]
    if left_out:
        return found | {"rows_left_out_for_rules": sum(left_out)}
    return found | {"rows_replaced_for_rules": sum(table.replaced for table in tables)}


def rule_notes(tables: Sequence[Sampled]) -> tuple[str, ...]:
    """Return what several tables of one release say about their rules, each sentence once."""
    return tuple(dict.fromkeys(note for table in tables for note in table.notes))


def sample_rows(schema: Schema, draw_codes: DrawCodes, rows: int, generator: np.random.Generator) -> Sampled:
    """Draw rows that keep every rule, from codes."""

    def draw(count: int) -> Values:
        codes = draw_codes(count)
        return {name: draw_values(schema[name], column, generator) for name, column in codes.items()}

    return sample_values(schema, draw, rows, generator)


def sample_table(
    schema: Schema, draw: DrawValues, rows: int, generator: np.random.Generator, batch_rows: int = BATCH_ROWS
) -> tuple[pa.Table, list[Sampled]]:
    """Draw rows that keep every rule batch by batch: the table, and what each batch took, without its values.

    Beside the table itself only one batch is in memory. Where a dependence has no map, that of the first batch holds
    for all of them.
    """
    tables, told = list[pa.Table](), list[Sampled]()
    for start in range(0, max(rows, 1), batch_rows):
        tell("drawing rows", start / max(rows, 1))
        bound = told[0].bound if told else None
        sampled = sample_values(schema, draw, min(batch_rows, rows - start), generator, bound)
        tables.append(rows_table(schema, sampled.values))
        told.append(replace(sampled, values={}))
    return pa.concat_tables(tables), told


def sample_values(
    schema: Schema, draw: DrawValues, rows: int, generator: np.random.Generator, bound: Schema | None = None
) -> Sampled:
    """Draw rows that keep every rule: bad rows are drawn again, and mended where that does not help.

    A row that cannot be mended takes the bound columns of one that keeps the rules: a synthetic one or, where there is
    none, one from public facts; the plan has made sure beforehand that such rows exist. ``bound`` is the schema with a
    map for every dependence, where earlier rows have found it.
    """
    first = draw(rows)
    bound = bound or bound_by_rows(schema, first)
    values, told = follow(bound, first)
    bad = np.flatnonzero(~keeps_rules(bound, values))
    found = notes_on_maps(schema, bound)
    if not len(bad):
        return Sampled(values, 0, no_repairs(schema, values) | told, 0, notes=found, bound=bound)
    drawn = rows_at(values, np.arange(min(rows, MOST_JUDGED)))
    left = _drawn_again(bound, lambda count: follow(bound, draw(count))[0], values, bad)
    made = repair(bound, values, generator) if len(left) else Repaired(values, no_repairs(schema, values), 0)
    notes = notes_on_rules(schema, drawn, made.values, made)
    repaired = with_followed(made.repaired, told)
    return Sampled(made.values, len(bad), repaired, made.replaced, notes=(*found, *notes), bound=bound)


def with_followed(repaired: Mapping[str, int], told: Mapping[str, int]) -> dict[str, int]:
    """Return how many rows were mended for each rule: those that broke it, and those that were told what it says."""
    return {check: count + told.get(check, 0) for check, count in repaired.items()}


def _drawn_again(schema: Schema, draw: DrawValues, values: Values, bad: Places) -> Places:
    """Draw bad rows again, in place; return those that are still bad when that is over or no longer helps."""
    tried = good = 0
    for _ in range(REDRAWS):
        if not len(bad) or good < LEAST_HELP * tried:
            break
        fresh = draw(len(bad))
        overwrite(values, bad, fresh)
        kept = keeps_rules(schema, fresh)
        tried, good = tried + len(kept), good + int(kept.sum())
        bad = bad[~kept]
    return bad


def no_repairs(schema: Schema, values: Values) -> dict[str, int]:
    """Return every rule between the given columns with no row that was mended for it."""
    return {rule.check: 0 for rule in schema.rules if set(rule.columns) <= set(values)}


def public_rows(schema: Schema, names: Sequence[str], generator: np.random.Generator) -> Values:
    """Return rows drawn evenly from the public domain that keep the rules; refuse rules that none keeps."""

    def uniform(count: int) -> Codes:
        return {name: generator.integers(0, schema[name].size, count) for name in sorted(names)}

    return sample_rows(schema, uniform, PUBLIC_ROWS, generator).values
