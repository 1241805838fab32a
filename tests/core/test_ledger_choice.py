"""With a ledger, without one, and with none by choice; and stamps that no frame may lose."""

from __future__ import annotations

import warnings

import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato import Histogram, Ledger
from sfumato.errors import NoLedgerWarning, PlanError, StampedFrameError

METHOD = Histogram("sex", 1.0)


@pytest.fixture(scope="module")
def table(frame, schema):
    return sfumato.read(frame, schema)


def test_a_release_without_a_ledger_warns_where_it_was_called(table):
    with pytest.warns(NoLedgerWarning, match="no cap protects this table") as caught:
        sfumato.release(table, METHOD)
    assert caught[0].filename == __file__


def test_no_ledger_by_choice_and_a_ledger_are_quiet(table, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table("households", epsilon=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        without = sfumato.release(table, METHOD, ledger=False)
        recorded = sfumato.release(table, METHOD, ledger=ledger)
        sfumato.plan(table, METHOD, ledger=False)
    assert (without.ledger, without.entries, without.guarantee.recorded) == (None, (), False)
    assert recorded.ledger is ledger and len(recorded.entries) == 1
    with pytest.raises(PlanError, match="names no ledger"):
        sfumato.release(table, METHOD, ledger=True)


def test_a_method_that_fails_after_the_spend_is_marked_as_lost(table, tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table("households", epsilon=3)

    def fail(*_arguments):
        raise ValueError("income of Mrs Smith: 12345")

    monkeypatch.setattr(Histogram, "run", fail)
    with pytest.raises(ValueError, match="Mrs Smith") as caught:
        sfumato.release(table, METHOD, ledger=ledger)
    assert "epsilon 1 is spent (entry 2 of the ledger)" in caught.value.__notes__[0]
    outcome = ledger.outcomes("households")[2]
    assert (outcome.kind, outcome.reason) == ("lost", "failed: ValueError"), "messages may hold private values"


KINDS = {
    "polars": pl.from_arrow,
    "duckdb": lambda rows: duckdb.from_arrow(rows),
    "ibis": lambda rows: ibis.memtable(rows),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_that_would_lose_the_stamp_is_refused(kind, frame, schema):
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    seeded = sfumato.release(sfumato.read(KINDS[kind](rows), schema), METHOD, seed=3, ledger=False)
    with pytest.raises(StampedFrameError, match=f"a {kind} frame cannot carry the stamp 'not for release") as caught:
        _ = seeded.data
    assert "release.tables" in caught.value.next_step
    for data in seeded.tables.values():
        assert data.schema.metadata == {b"sfumato": b"not for release (seed 3)"}
    secure = sfumato.release(sfumato.read(KINDS[kind](rows), schema), METHOD, ledger=False)
    assert secure.data is not None


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_frames_that_can_carry_the_stamp_do(kind, frame, schema):
    source = frame if kind == "pandas" else pa.Table.from_pandas(frame, preserve_index=False)
    data = sfumato.release(sfumato.read(source, schema), METHOD, seed=3, ledger=False).data
    stamp = data.attrs["sfumato"] if kind == "pandas" else data.schema.metadata[b"sfumato"].decode()
    assert stamp == "not for release (seed 3)"
