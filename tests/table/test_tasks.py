"""What one worker of a cluster hands back, without a cluster: parts of a table, counted apart and summed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.table.engines.spark_worker import VERSIONS_DIFFER, CountJob

SCHEMA = sfumato.Schema.parse(
    '[table]\nname="t"\n[columns.a]\nkind="category"\nvalues=["x","y"]\nmissing=true\n'
    '[columns.n]\nkind="integer"\nbounds=[0,9]\n'
)
SETS = (("a", "n"), ("n",))
JOB = CountJob(tuple(SCHEMA.columns), SETS)


def batch(rows: list[tuple[str | None, int]]) -> pa.RecordBatch:
    return pa.record_batch(
        {"a": pa.array([a for a, _ in rows], pa.string()), "n": pa.array([n for _, n in rows], pa.int64())}
    )


ROWS = st.lists(st.tuples(st.sampled_from(["x", "y", None]), st.integers(0, 9)), max_size=40)


@settings(max_examples=30)
@given(ROWS, st.lists(st.integers(0, 40), max_size=5))
def test_parts_sum_to_the_whole(rows, cuts):
    bounds = [0, *sorted(cuts), len(rows)]
    parts = [JOB.count(iter([batch(rows[i:j])])) for i, j in pairwise(bounds)]
    assert all(part.num_rows <= len(rows) * len(SETS) for part in parts)
    summed = pa.Table.from_batches(parts)
    counted = JOB.sum(summed["cell"].to_numpy(), summed["times"].to_numpy())
    assert not counted.outside.any()
    expected = sfumato.read(pa.Table.from_batches([batch(rows)]), SCHEMA).marginals(SETS)
    found = JOB.layout().tables(counted.counts, SETS)
    assert all(np.array_equal(found[names], expected[names]) for names in SETS)


def test_values_outside_come_back_by_column():
    part = JOB.count(iter([batch([("z", 3), ("x", 11), (None, 12)])]))
    assert JOB.sum(part["cell"].to_numpy(), part["times"].to_numpy()).outside.tolist() == [1, 2]


def test_no_rows_are_no_cells():
    assert JOB.count(iter([])).num_rows == 0


def test_a_worker_of_another_version_counts_nothing():
    with pytest.raises(RuntimeError, match=f"{VERSIONS_DIFFER}.*0.0 on the driver"):
        CountJob(JOB.columns, JOB.sets, version="0.0").count(iter([]))
