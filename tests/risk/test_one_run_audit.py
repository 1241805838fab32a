"""Canaries: the theorem's numbers, coins that are kept secret, and a release that copies rows."""

from __future__ import annotations

import stat

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from sfumato import Schema
from sfumato.errors import RiskError
from sfumato.risk import Canaries, make_canaries, one_run_audit
from sfumato.risk.auditing.one_run import epsilon_lower_bound, guess_tail_bound

SCHEMA = Schema.parse("""
[table]
name = "people"
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.job]
kind = "category"
values = ["a", "b", "c", "d", "e", "f"]
[columns.day]
kind = "date"
bounds = [2020-01-01, 2020-12-31]
""")


def test_the_chance_is_that_of_randomised_response():
    assert guess_tail_bound(50, 50, 40, 1.0, 0.0) == pytest.approx(float(binom.sf(39, 50, np.e / (1 + np.e))))
    assert guess_tail_bound(50, 50, 40, 1.0, 1e-3) > guess_tail_bound(50, 50, 40, 1.0, 0.0)
    assert epsilon_lower_bound(50, 50, 50, 1e-9, 0.05) < epsilon_lower_bound(50, 50, 50, 0.0, 0.05)


def test_the_bound_is_wrong_as_seldom_as_it_says():
    """Randomised response of epsilon 1 on 200 coins, all guessed; 300 audits at 95 %, alpha of the test 1e-6."""
    draw = np.random.default_rng(1)
    right = draw.binomial(200, np.e / (1 + np.e), 300)
    bounds = {count: epsilon_lower_bound(200, 200, count, 0.0, 0.05) for count in set(right.tolist())}
    wrong = sum(bounds[count] > 1 for count in right.tolist())
    assert wrong <= binom.ppf(1 - 1e-6, 300, 0.05)


def test_a_release_that_copies_its_rows_is_refuted(tmp_path):
    canaries = make_canaries(SCHEMA, 80, seed=1)
    place = canaries.save(tmp_path / "coins.json")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    again = Canaries.load(place, SCHEMA)
    assert again.coins == canaries.coins
    assert again.included.equals(canaries.included)
    found = one_run_audit(again, canaries.included.to_pandas(), epsilon=1, delta=1e-9)
    assert found.refuted
    assert "REFUTED" in found.statement()


def test_rows_that_know_nothing_refute_nothing():
    canaries, others = make_canaries(SCHEMA, 80, seed=1), make_canaries(SCHEMA, 80, seed=2)
    found = one_run_audit(canaries, others.included.to_pandas(), epsilon=1, delta=1e-9)
    assert not found.refuted
    assert "One release can show little" in found.statement()


def test_canaries_keep_the_rules():
    ruled = Schema.parse(SCHEMA.to_toml() + "[[rules]]\ncheck = \"job == 'a' implies age >= 50\"\n")
    rows = make_canaries(ruled, 10, seed=1).rows
    assert all(row["age"] >= 50 for row in rows if row["job"] == "a")


def test_under_replace_one_of_two_rows_is_there():
    schema = Schema.parse('[table]\nname = "t"\nadjacency = "replace"\nrows = 500\n[columns.a]\nkind = "boolean"\n')
    canaries = make_canaries(schema, 20, seed=1)
    assert canaries.included.num_rows == 20


def test_mistakes_are_named(tmp_path):
    with pytest.raises(RiskError, match="canaries"):
        make_canaries(SCHEMA, 3)
    with pytest.raises(RiskError, match="cannot read"):
        Canaries.load(tmp_path / "none.json", SCHEMA)
    canaries = make_canaries(SCHEMA, 10, seed=1)
    with pytest.raises(RiskError, match="numbers"):
        one_run_audit(canaries, [1.0, 2.0], epsilon=1)
    with pytest.raises(RiskError, match="cannot write"):
        canaries.save(tmp_path / "missing" / "coins.json")
    assert len(pd.DataFrame(canaries.rows)) == 10
