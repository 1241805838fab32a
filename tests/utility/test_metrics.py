"""Metrics by name against plain computations, for releases of counts and of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato
from sfumato.entropy.values import shannon
from sfumato.errors import PlanError, RiskError
from sfumato.releases.contingency import Contingency
from sfumato.releases.method import Output
from sfumato.risk.rows import codes_of
from sfumato.risk.yardsticks import RowsAsTheyAre
from sfumato.schema import Schema
from sfumato.utility.clusters import transfer_ari
from sfumato.utility.metrics import METRICS, Trial, metric

TOML = """
[table]
name = "t"
[columns.a]
kind = "category"
values = ["x", "y", "z"]
role = "quasi-identifier"
[columns.b]
kind = "integer"
bounds = [0, 9]
[columns.c]
kind = "boolean"
role = "sensitive"
[columns.v]
kind = "number"
bounds = [0.0, 10.0]
bins = 20
"""


def frame(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 10, rows)
    return pd.DataFrame(
        {"a": rng.choice(list("xyz"), rows), "b": b, "c": rng.random(rows) < 0.3, "v": (b >= 5) * 6 + rng.random(rows)}
    )


@dataclass(frozen=True)
class Rows:
    """A stand-in for a method that releases the rows it was given."""

    rows: pa.Table
    epsilon: float = 1.0
    name: ClassVar[str] = "stand-in"
    makes: ClassVar[str] = "rows"

    def plan(self, schema, rows=None, randomness="secure"):
        return None

    def run(self, table, plan, randomness, rows=None):
        return Output({("synthetic",): self.rows}, single=True)


@pytest.fixture(scope="module")
def table():
    return sfumato.read(frame(400, 1), Schema.parse(TOML))


@pytest.fixture(scope="module")
def trial(table):
    return Trial(table, Rows(pa.Table.from_pandas(frame(300, 2))), seed=1)


def shares(codes: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    flat = np.ravel_multi_index(tuple(codes.T), sizes)
    return np.bincount(flat, minlength=int(np.prod(sizes))) / len(codes)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_distances_are_means_over_marginals(table, trial, order):
    schema, names = table.schema, table.schema.names
    true, made = codes_of(table, schema, names), codes_of(trial.method.rows, schema, names)
    wanted = []
    for places in combinations(range(4), order):
        sizes = schema.shape([names[i] for i in places])
        wanted.append(np.abs(shares(true[:, places], sizes) - shares(made[:, places], sizes)).sum() / 2)
    assert metric(f"tvd_{order}").measure(trial) == pytest.approx(np.mean(wanted), abs=1e-12)


def test_distribution_functions_and_entropies(table, trial):
    schema = table.schema
    gaps, bits = [], []
    for name in schema.names:
        sizes = schema.shape([name])
        true, made = (shares(codes_of(source, schema, [name]), sizes) for source in (table, trial.method.rows))
        bits.append(abs(shannon(true) - shannon(made)))
        gaps += [np.abs(np.cumsum(true - made)).max()] if schema[name].is_ordered else []
    assert metric("ecdf_max").measure(trial) == pytest.approx(max(gaps), abs=1e-12)
    assert metric("entropy_error").measure(trial) == pytest.approx(np.mean(bits), abs=1e-12)
    only = replace(trial, options={"columns": "b"})
    assert metric("ecdf_max").measure(only) == pytest.approx(gaps[0], abs=1e-12)


def test_a_release_of_the_table_itself_is_perfect_and_gives_all_away(table):
    same = Trial(table, Rows(pa.Table.from_pandas(frame(400, 1))), seed=1, options={"clusters": 2, "columns": "b,v"})
    for name in ("tvd_1", "tvd_2", "tvd_3", "ecdf_max", "entropy_error"):
        assert metric(name).measure(replace(same, options={})) == 0
    assert metric("transfer_ari").measure(same) == 1
    assert metric("lid").measure(replace(same, options={})) == 1


def test_clusters_are_those_of_the_utility_module(table, trial):
    asked = replace(trial, options={"clusters": 2, "columns": ["b", "v"]})
    wanted = transfer_ari(frame(400, 1)[["b", "v"]].to_numpy(), frame(300, 2)[["b", "v"]].to_numpy(), 2)
    assert metric("transfer_ari").measure(asked) == pytest.approx(wanted) and wanted > 0.9


def test_lid_counts_rows_with_a_value_nearby(table):
    moved = frame(400, 1).assign(
        b=lambda f: (f.b + 5) % 10, v=lambda f: np.where(f.index < 100, f.v + 0.005, f.v + 0.02)
    )
    trial = Trial(table, Rows(pa.Table.from_pandas(moved)), seed=1)
    assert metric("lid").measure(trial) == pytest.approx(0.25)
    assert metric("lid").measure(replace(trial, options={"eta": 0.003})) == 1
    with pytest.raises(RiskError, match="row by row"):
        metric("lid").measure(replace(trial, method=Rows(pa.Table.from_pandas(moved[:300]))))


def test_noisy_counts_below_zero_count_as_zero(table):
    trial = Trial(table, Contingency(["a", "c"], 1.0), seed=1)
    noisy = trial.tables[("a", "c")]
    kept = np.maximum(noisy.column("count").to_numpy(), 0).reshape(3, 2)
    true = table.marginals([("a", "c")])[("a", "c")]
    wanted = np.abs(kept / kept.sum() - true / true.sum()).sum() / 2
    assert metric("tvd_2").measure(trial) == pytest.approx(wanted, abs=1e-12)
    nothing = {("a", "c"): noisy.set_column(2, "count", pa.array([-1] * 6))}
    uniform = np.abs(1 / 6 - true / true.sum()).sum() / 2
    assert metric("tvd_2").measure(replace(trial, made=nothing)) == pytest.approx(uniform, abs=1e-12)


def test_homogeneity_in_closed_form_is_the_mean_of_the_attack(table):
    """300 releases; the mean lies within six standard errors of the closed form, and half the noise does not."""
    trial = Trial(table, Contingency(["a", "b", "c"], 0.5), seed=1, options={"identifiers": "a,b"})
    risk = metric("homogeneity_record")
    assert risk.is_exact(trial)
    single = Contingency([["a", "b", "c"], ["c"]], 0.5)
    assert risk.measure(replace(trial, method=single)) != risk.measure(trial), "shared budgets mean more noise"
    from sfumato.risk.homogeneity import Cells, attack

    cells = Cells.of(table, ["a", "b"], "c")
    rates = []
    for seed in range(300):
        counts = replace(trial, seed=seed).tables[("a", "b", "c")].column("count").to_numpy().reshape(3, 10, 2)
        rates.append(attack(cells.counts, counts[tuple(cells.keys.T)]).record.rate)
    error = np.std(rates) / np.sqrt(len(rates))
    assert abs(np.mean(rates) - risk.measure(trial)) < 6 * error
    other = risk.measure(replace(trial, method=Contingency(["a", "b", "c"], 1.0)))
    assert abs(np.mean(rates) - other) > 6 * error


def test_attacks_run_by_name(table):
    trial = Trial(table, Contingency(["a", "c"], 20.0), seed=1, options={"trials": 100})
    assert metric("membership_auc").measure(trial) > 0.95
    assert metric("membership_rate").measure(trial) > 0.9
    guessed = replace(trial, options={"identifiers": "a", "sensitive": "c"})
    assert 0.5 < metric("inference_rate").measure(guessed) < 0.9
    assert abs(metric("inference_gain").measure(guessed)) < 0.2
    copied = replace(trial, method=RowsAsTheyAre(), options={"identifiers": "v", "sensitive": "c"})
    assert metric("inference_rate").measure(copied) == 1.0, "the attacker sees values, of which everybody has another"


def test_every_metric_says_what_it_means_and_needs():
    for each in METRICS.values():
        assert each.meaning and each.needs() and each.kind in ("utility", "risk")
    assert metric("transfer_ari").needs() == "rows, clusters=..."
    with pytest.raises(PlanError, match="there is no metric 'ari'"):
        metric("ari")


def test_wrong_options_are_named(trial):
    with pytest.raises(PlanError, match="eta must be a number"):
        metric("lid").measure(
            replace(trial, options={"eta": "small"}, method=Rows(pa.Table.from_pandas(frame(400, 1))))
        )
    with pytest.raises(RiskError, match="identifiers and one sensitive column"):
        metric("homogeneity_record").measure(replace(trial, options={"sensitive": "a"}))
