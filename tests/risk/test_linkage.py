"""Linkage: fresh references, never the release itself; and rows linked to their synthetic twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sfumato
from sfumato.errors import RiskError
from sfumato.example import codebook, households
from sfumato.privacy.laws import Geometric
from sfumato.risk.games import CountPair
from sfumato.risk.linkage import FreshReference, NearestRow, nearest_row
from sfumato.risk.membership import published_pair
from sfumato.risk.yardsticks import CountsAsTheyAre, CountsOfNoise, RowsAsTheyAre, RowsOfNoise

COLUMNS = ["region", "sex", "education", "insured"]
KNOWN = ["region", "age", "sex", "education", "persons", "moved_in"]
LEVEL = 1 - 1e-6


@pytest.fixture(scope="module")
def table() -> sfumato.Table:
    return sfumato.read(households(rows=300, seed=3), codebook())


def test_fresh_references_do_not_give_the_answer_away():
    """n = 10,000: with the release itself as reference this would be 1.0 at every epsilon."""
    counts = np.random.default_rng(6).multinomial(1460, np.random.default_rng(7).dirichlet(np.ones(30)))
    rates = {}
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        pair = published_pair(counts, epsilon, int(counts.argmax()), 0)
        result = FreshReference().run(pair, trials=10_000, seed=1, level=LEVEL)
        assert not result.refutes_claim and 0.5 in result.control_interval
        assert result.interval.high < result.optimal
        rates[epsilon] = result.rate
    assert rates[0.5] < 0.54 and 0.7 < rates[4.0] < 0.8


def test_more_references_attack_better():
    pair = CountPair.of(np.full(30, 5), np.full(30, 5) + (np.arange(30) == 3), Geometric(3.0), 3.0)
    one, many = (FreshReference(r).run(pair, trials=5000, seed=1, level=LEVEL) for r in (1, 20))
    assert one.interval.high < many.interval.low and not many.refutes_claim


@pytest.mark.parametrize("method", [CountsAsTheyAre(COLUMNS), RowsAsTheyAre(COLUMNS)])
def test_the_table_as_it_is_is_recognised(table, method):
    result = FreshReference().run(table, method, trials=60, seed=1, level=LEVEL)
    assert result.rate == 1.0 and result.succeeds


@pytest.mark.parametrize("method", [CountsOfNoise(COLUMNS), RowsOfNoise(COLUMNS, 100)])
def test_noise_is_not_recognised(table, method):
    result = FreshReference().run(table, method, trials=60, seed=1, level=LEVEL)
    assert 0.5 in result.interval and 0.5 in result.control_interval


def test_rows_that_were_copied_are_linked(table):
    frame = households(rows=300, seed=3)
    result = nearest_row(table, frame, KNOWN, seed=1, level=LEVEL)
    assert result.rate > 0.98 and result.more["top 10"] == 1.0
    assert result.baseline == pytest.approx(1 / 300) and result.control < 0.05 and result.succeeds
    assert "one from one" in str(result.threat)


def test_rows_of_noise_are_not_linked(table):
    made = RowsOfNoise(KNOWN, 300)
    from sfumato.privacy.randomness import Randomness

    output = made.run(table, made.plan(table.schema), Randomness.of(4))
    result = NearestRow(KNOWN).run(table, next(iter(output.tables.values())), level=LEVEL, seed=1)
    assert not result.succeeds and result.baseline in result.interval


def test_ties_count_as_a_draw(table):
    """By sex alone every row is as near as all others of its kind: the rate is the number of kinds over n."""
    frame = households(rows=300, seed=3)
    kinds = len(set(frame.column("sex").to_pylist()))
    result = nearest_row(table, frame, ["sex"], top=1)
    assert result.rate == pytest.approx(kinds / 300) and result.more["top 1"] == pytest.approx(kinds / 300)


@pytest.mark.parametrize("call", [
    lambda t: FreshReference(0), lambda t: NearestRow([]), lambda t: NearestRow(["age"], top=0),
    lambda t: nearest_row(t, households(rows=10), KNOWN),
    lambda t: nearest_row(households(rows=10), households(rows=10), KNOWN),
])  # fmt: skip
def test_nonsense_is_refused_by_name(table, call):
    with pytest.raises(RiskError, match="Next step"):
        call(table)


def test_an_unknown_column_is_named(table):
    with pytest.raises(sfumato.errors.SchemaError, match="shoe"):
        nearest_row(table, households(rows=300), ["shoe"])
    open_column = sfumato.columns.Column("name", "category", role="identifier")
    schema = replace(codebook(), columns=(*codebook().columns, open_column))
    with pytest.raises(RiskError, match="no public domain"):
        nearest_row(households(rows=9), households(rows=9), ["name"], schema)
