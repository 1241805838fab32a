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


@pytest.mark.postgres
def test_drafts_of_rows_in_postgresql(postgres_url, frame):
    connection = ibis.connect(postgres_url)
    check_draft(connection.create_table("households_for_drafts", arrow(frame)), frame)
    connection.disconnect()


def test_drafts_of_rows_in_the_polars_backend(frame):
    check_draft(ibis.polars.connect().create_table("t", arrow(frame)), frame)


def arrow(frame) -> pa.Table:
    return pa.Table.from_pandas(frame.assign(patient_id=np.arange(len(frame)) // 2 + 5000), preserve_index=False)


def check_draft(remote, frame) -> None:
    theirs, ours = (sfumato.Schema.draft(source, name="t") for source in (remote, arrow(frame)))
    assert theirs == ours and theirs.notes == ours.notes
    assert theirs.person_candidates == ("patient_id",) and theirs.rules
