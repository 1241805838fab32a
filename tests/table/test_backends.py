"""Any Ibis backend will do: rows in PostgreSQL and in the Polars backend count as rows in DuckDB do."""

from __future__ import annotations

import ibis
import numpy as np
import pyarrow as pa
import pytest

import sfumato

SETS = [("age", "sex"), ("income",), ("status", "hours", "insured"), ("moved_in", "education"), ("sex", "age")]


def check_counts(remote, frame, schema) -> None:
    table = sfumato.read(remote, schema)
    assert table.check() == ()
    assert not table.source.engine.streams
    theirs, ours = table.marginals(SETS), sfumato.read(frame, schema).marginals(SETS)
    for names in SETS:
        assert np.array_equal(theirs[names], ours[names]), names


@pytest.mark.postgres
def test_rows_in_postgresql(postgres_url, frame, schema):
    connection = ibis.connect(postgres_url)
    source = pa.Table.from_pandas(frame, preserve_index=False)
    check_counts(connection.create_table("households_for_counting", source), frame, schema)
    connection.disconnect()


def test_rows_in_the_polars_backend(frame, schema):
    source = pa.Table.from_pandas(frame, preserve_index=False)
    check_counts(ibis.polars.connect().create_table("t", source), frame, schema)
