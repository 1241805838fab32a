"""Rows drawn batch by batch: as many as asked for, one map for all of them, the repairs of all batches together."""

import numpy as np

from sfumato import Schema
from sfumato.constraints.draw_rows import repair_statistics, sample_table

SCHEMA = Schema.parse(
    """
[table]
name = "people"
[columns.ward]
kind = "category"
values = ["a", "b", "c", "d"]
[columns.town]
kind = "category"
values = ["x", "y"]
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.married_at]
kind = "integer"
bounds = [0, 99]
[[rules]]
check = "married_at <= age"
[[rules]]
check = "ward determines town"
"""
)


def test_batches_make_one_table_that_keeps_every_rule():
    generator, asked = np.random.default_rng(3), list[int]()

    def draw(rows):
        asked.append(rows)
        names = {name: SCHEMA[name] for name in SCHEMA.names}
        codes = {name: generator.integers(0, column.size, rows) for name, column in names.items()}
        levels = {n: np.array(names[n].levels, object)[codes[n]] for n in ("ward", "town")}
        return {n: (levels.get(n, codes[n]), np.zeros(rows, bool)) for n in names}

    table, told = sample_table(SCHEMA, draw, 1000, generator, batch_rows=300)
    assert table.num_rows == 1000 and len(told) == 4 and max(asked) == 300
    frame = table.to_pandas()
    assert (frame.married_at <= frame.age).all()
    assert frame.groupby("ward").town.nunique().max() == 1, "the first batch's map holds for all"
    assert all(not batch.values for batch in told)
    found = repair_statistics(told)
    assert found["rows_redrawn_for_rules"] == sum(batch.redrawn for batch in told) > 300


def test_no_rows_are_a_table_too():
    table, _ = sample_table(SCHEMA, lambda rows: {"age": (np.zeros(rows, np.int64), np.zeros(rows, bool))}, 0, None)
    assert table.num_rows == 0 and table.column_names == ["age"]
