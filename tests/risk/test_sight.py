"""What attackers see of rows: distances on values against brute force, ties, missing values, and the view by bins."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import RiskError
from sfumato.example import codebook, households
from sfumato.risk.attacks.attacker_view import AttackerView
from sfumato.schema.column import Column

DAYS = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
COLUMNS = (
    Column("x", "number", bounds=(-10.0, 30.0), missing=True),
    Column("n", "integer", bounds=(0, 1000)),
    Column("d", "date", bounds=DAYS),
    Column("o", "ordinal", values=("low", "mid", "high")),
    Column("g", "category", values=("a", "b"), missing=True),
    Column("b", "boolean"),
)
SCHEMA = sfumato.Schema(name="mixed", columns=COLUMNS)
ROWS = pa.table(
    {
        "x": pa.array([0.0, 0.001, None, 20.0, None]),
        "n": [0, 10, 10, 1000, 10],
        "d": [DAYS[0], DAYS[0] + dt.timedelta(1), DAYS[1], DAYS[1], DAYS[1]],
        "o": ["low", "mid", "high", "high", "high"],
        "g": pa.array(["a", "b", None, "a", None]),
        "b": [True, True, False, False, False],
    }
)


def by_hand(one: dict, other: dict) -> float:
    """Gower's distance in words: shares of the public range, levels the same or not, missing as a level."""
    spans, order = {"x": 40, "n": 1000, "d": 365}, ["low", "mid", "high"]
    parts = []
    for name in SCHEMA.names:
        a, b = one[name], other[name]
        if a is None or b is None:
            parts.append(float((a is None) != (b is None)))
        elif name == "o":
            parts.append(abs(order.index(a) - order.index(b)) / 2)
        elif name in spans:
            gap = (a - b).days if name == "d" else a - b
            parts.append(abs(gap) / spans[name])
        else:
            parts.append(float(a != b))
    return sum(parts) / len(parts)


def test_distances_are_those_of_the_values():
    sight = AttackerView(SCHEMA, SCHEMA.names)
    points, rows = sight.read(ROWS).points, ROWS.to_pylist()
    expected = [[by_hand(one, other) for other in rows] for one in rows]
    assert sight.between(points, points) == pytest.approx(np.array(expected), abs=1e-14)
    for source in (sfumato.read(ROWS, SCHEMA), ROWS.to_pandas()):
        np.testing.assert_array_equal(sight.read(source).points, points)


def test_bins_hide_what_values_show():
    values, bins = (AttackerView(SCHEMA, ["x", "n"], sees) for sees in ("values", "bins"))
    near = pa.table({"x": [0.0, 0.001], "n": [1, 2]})
    assert values.between(values.read(near).points, values.read(near).points)[0, 1] > 0
    assert bins.between(bins.read(near).points, bins.read(near).points)[0, 1] == 0
    with pytest.raises(RiskError, match=r"cannot see 'cells'.*\nNext step: use one of: values, bins"):
        AttackerView(SCHEMA, ["x"], "cells")


def test_what_the_schema_takes_for_missing_is_missing_to_the_attacker():
    schema = replace(SCHEMA, columns=(replace(COLUMNS[0], outside="missing"),))
    points = AttackerView(schema, ["x"]).read(pa.table({"x": [5.0, 99.0, None]})).points[:, 0]
    assert points[0] == 5 and np.isnan(points[1:]).all()


def test_ranks_and_votes_are_those_of_all_distances():
    """Half of the rows stand on a coarse lattice, so that there are ties."""
    rng = np.random.default_rng(5)
    schema, names = codebook(), ["region", "age", "hours", "education"]
    sight = AttackerView(schema, names)
    left, right = (sight.read(households(rows=200, seed=s)).points for s in (1, 2))
    left[:100, 1], right[:100, 1] = 20, 20
    apart = sight.between(left, right)
    own = np.diag(apart)[:, None]
    nearer, level = sight.ranks(left, right)
    assert (nearer == (apart < own * (1 - 1e-12)).sum(axis=1)).all()
    assert (level == (np.abs(apart - own) <= 1e-12 * own).sum(axis=1)).all() and level.max() > 1
    labels = rng.integers(0, 3, 200)
    common = np.bincount(labels, minlength=3) / 1000
    nearest = apart <= apart.min(axis=1, keepdims=True) * (1 + 1e-12)
    votes = np.array([(nearest * (labels == label)).sum(axis=1) for label in range(3)]).T + common
    assert (sight.votes(left, right, labels, 3) == votes.argmax(axis=1)).all()
    alone = sight.between(left, left)
    np.fill_diagonal(alone, np.inf)
    assert sight.most_exposed(left, rng) == alone.min(axis=1).argmax()


def test_the_spread_counts_every_row_and_moves_with_values():
    sight = AttackerView(SCHEMA, SCHEMA.names)
    points = sight.read(ROWS).points
    assert sight.profile(points).sum() == pytest.approx(len(points) * len(SCHEMA.names))
    moved = points.copy()
    moved[0, 0] += 1e-3
    assert 0 < np.abs(sight.profile(moved) - sight.profile(points)).max() < 0.01
    bins = AttackerView(SCHEMA, SCHEMA.names, "bins")
    assert set(bins.profile(bins.read(ROWS).points)) <= set(range(6))


def test_ten_thousand_against_ten_thousand_take_seconds():
    """1e8 pairs of seven columns: a dense matrix would need 800 MB; the bound is far above what the loop needs."""
    names = ["region", "age", "sex", "education", "persons", "hours", "moved_in"]
    sight = AttackerView(codebook(), names)
    left, right = (sight.read(households(rows=10_000, seed=s)).points for s in (1, 2))
    labels = np.zeros(len(right), np.int64)
    sight.votes(left[:2], right[:2], labels[:2], 2)
    before = time.process_time()
    sight.votes(left, right, labels, 2)
    assert time.process_time() - before < 20


def test_whole_numbers_beyond_the_reach_of_floats_are_compared():
    schema = sfumato.Schema(name="wide", columns=(Column("n", "integer", bounds=(0, 2**53)),))
    points = AttackerView(schema, ["n"]).read(pa.table({"n": [1, 2**52 + 1, 2**53]})).points
    assert points[:, 0].tolist() == [1, 2**52 + 1, 2**53]
