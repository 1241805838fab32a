"""Numeric columns of a release against the table: every copy, every column that both have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PlanError, TableError
from sfumato.evaluate.column_copies import compare_column_copies, compare_copies
from sfumato.schema import Column, Schema

SCHEMA = Schema(
    name="t",
    columns=(
        Column("a", "number", bounds=(0.0, 10.0), missing=True),
        Column("b", "integer", bounds=(0, 9)),
        Column("g", "category", values=("x", "y")),
    ),
)
FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0, None], "b": [1, 2, 3, 4], "g": ["x", "y", "x", "y"]})


def copies() -> list[pa.Table]:
    return [pa.Table.from_pandas(FRAME.assign(b=FRAME["b"] + i)[["b", "a"]]) for i in (0, 1)]


def test_each_column_is_compared_as_by_hand_and_missing_values_are_left_out():
    found = compare_copies(sfumato.read(FRAME, SCHEMA), copies(), SCHEMA)
    assert list(found) == ["a", "b"]
    assert found["b"] == compare_column_copies([1, 2, 3, 4], [[1, 2, 3, 4], [2, 3, 4, 5]])
    assert (found["a"].records, found["a"].copies, found["a"].ecdf_max.mean) == (3, 2, 0)
    assert found["b"].ecdf_max.mean > 0, "the second copy differs"


def test_only_what_the_release_has_is_compared():
    found = compare_copies(sfumato.read(FRAME, SCHEMA), [copies()[0].select(["a"])], SCHEMA)
    assert list(found) == ["a"]


def test_what_cannot_be_compared_is_named():
    table = sfumato.read(FRAME, SCHEMA)
    with pytest.raises(PlanError, match="'g' is no released column of numbers"):
        compare_copies(table, copies(), SCHEMA, ["b", "g"])
    with pytest.raises(PlanError, match="no column of numbers or dates"):
        compare_copies(table, [pa.Table.from_pandas(FRAME[["g"]])], SCHEMA)
    with pytest.raises(TableError, match="copy 1 has no value of a"):
        compare_copies(table, [pa.Table.from_pandas(FRAME.assign(a=np.nan))], SCHEMA)
