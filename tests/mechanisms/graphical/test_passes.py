"""How often a graphical release reads the private file: to check it, for one-way tables, and for candidate tables."""

from __future__ import annotations

import pytest

import sfumato
from sfumato import AIM, MST, Ledger
from sfumato.errors import TableError
from sfumato.example import codebook, households
from sfumato.table.engines.duckdb import DuckDBEngine

METHODS = [AIM(1, columns=["region", "sex", "age"]), MST(1, columns=["region", "sex", "age"])]


@pytest.fixture
def scans(monkeypatch) -> list[str]:
    """Every query that reads rows: not those that are rehearsed on none."""
    import ibis

    seen: list[str] = []
    run = DuckDBEngine._run

    def spy(self, expression):
        text = str(ibis.to_sql(expression, dialect="duckdb"))
        if not text.rstrip().endswith("LIMIT 0"):
            seen.append(text)
        return run(self, expression)

    monkeypatch.setattr(DuckDBEngine, "_run", spy)
    return seen


def opened(folder) -> Ledger:
    ledger = Ledger(folder / "ledger.db")
    ledger.open_table("households", epsilon=5, delta="1e-6")
    return ledger


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("rows", [1, 200])
def test_a_private_file_is_read_three_times_whatever_it_holds(method, rows, scans, tmp_path):
    """The check counts rows too, so no pass of its own asks how many there are."""
    households(rows=rows).to_pandas().to_csv(tmp_path / "households.csv", index=False)
    table = sfumato.read(tmp_path / "households.csv", codebook())
    assert not scans
    sfumato.release(table, method, rows=10, ledger=opened(tmp_path), seed=1)
    assert len(scans) == 3


def test_a_table_that_breaks_a_rule_costs_one_pass_and_leaves_the_ledger_as_it_was(scans, tmp_path):
    frame = households(rows=50).to_pandas()
    frame.loc[3, ["status", "hours"]] = ["retired", 70]
    frame.to_csv(tmp_path / "households.csv", index=False)
    ledger = opened(tmp_path)
    with pytest.raises(TableError, match="does not fit its schema"):
        sfumato.release(sfumato.read(tmp_path / "households.csv", codebook()), METHODS[0], ledger=ledger)
    assert len(scans) == 1
    assert ledger.account("households").left_epsilon == "5"
