"""Metrics by name against plain computations, for releases of counts and of rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato
from sfumato import Grid, TwoStage
from sfumato.core.method import Output
from sfumato.entropy.values import shannon
from sfumato.errors import PlanError, RiskError
from sfumato.evaluate.calibrate.trial import Trial
from sfumato.mechanisms.counts.contingency import Contingency
from sfumato.metrics.catalogue import CATALOGUE, metric
from sfumato.metrics.clusters import transfer_ari
from sfumato.metrics.rows_view import read_codes
from sfumato.risk.simulated.reference_releases import RawRows
from sfumato.schema import Column, Schema

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
    confidential: dict = field(default_factory=dict)
    name: ClassVar[str] = "stand-in"
    makes: ClassVar[str] = "rows"

    def plan(self, schema, rows=None, randomness="secure"):
        return None

    def run(self, table, plan, randomness, rows=None):
        return Output({("synthetic",): self.rows}, single=True, confidential=self.confidential)


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
    true, made = read_codes(table, schema, names), read_codes(trial.method.rows, schema, names)
    wanted = []
    for places in combinations(range(4), order):
        sizes = schema.shape([names[i] for i in places])
        wanted.append(np.abs(shares(true[:, places], sizes) - shares(made[:, places], sizes)).sum() / 2)
    assert metric(f"tvd_{order}_bins").measure(trial) == pytest.approx(np.mean(wanted), abs=1e-12)


def test_former_names_are_answered_with_those_that_state_a_binning():
    with pytest.raises(PlanError, match="its name states no binning") as refused:
        sfumato.calibrate(Grid(["a"], 1.0), "tvd_2 <= 0.05")
    assert refused.value.next_step == "use one of: tvd_2_q16, tvd_2_bins"


def test_counts_are_compared_in_adjacent_bins_grouped_by_released_counts():
    """A column of 100 bins: every bin with a 16th of the rows is a cell, open cells lie beyond the released counts."""
    column = Column("n", "integer", bounds=(0, 99), bins=100)
    schema = Schema(name="t", columns=(column,))
    released = np.zeros(100, int)
    released[20:60] = 10
    released[40] = 100
    private = pd.DataFrame({"n": np.concatenate([np.repeat(np.arange(20, 60), 10), [40] * 90, [5] * 50, [80] * 50])})
    counts = {("n",): pa.table({"n": pa.array(range(100)), "count": pa.array(released)})}
    trial = Trial(sfumato.read(private, schema), Contingency("n", 1.0), 0, released=counts)
    assert metric("tvd_1_q16").measure(trial) == pytest.approx(100 / 590, abs=0.01)
    assert metric("tvd_1_q16").measure(trial) == pytest.approx(metric("tvd_1_bins").measure(trial), abs=0.01)


def test_distribution_functions_and_entropies(table, trial):
    schema = table.schema
    gaps, bits = [], []
    for name in schema.names:
        sizes = schema.shape([name])
        true, made = (shares(read_codes(source, schema, [name]), sizes) for source in (table, trial.method.rows))
        bits.append(abs(shannon(true) - shannon(made)))
        gaps += [np.abs(np.cumsum(true - made)).max()] if schema[name].is_ordered else []
    assert metric("ecdf_max_bins").measure(trial) == pytest.approx(max(gaps), abs=1e-12)
    assert metric("entropy_error_bins").measure(trial) == pytest.approx(np.mean(bits), abs=1e-12)
    only = replace(trial, options={"columns": "b"})
    assert metric("ecdf_max_bins").measure(only) == pytest.approx(gaps[0], abs=1e-12)


def test_a_release_of_the_table_itself_is_perfect_and_gives_all_away(table):
    same = Trial(table, Rows(pa.Table.from_pandas(frame(400, 1))), seed=1, options={"clusters": 2, "columns": "b,v"})
    for name in (
        "tvd_1_q16",
        "tvd_2_q16",
        "tvd_3_q16",
        "tvd_1_bins",
        "tvd_2_bins",
        "tvd_3_bins",
        "ecdf_max_bins",
        "entropy_error_bins",
    ):
        assert metric(name).measure(replace(same, options={})) == 0
    assert metric("transfer_ari").measure(same) == 1


def test_clusters_are_those_of_the_utility_module(table, trial):
    asked = replace(trial, options={"clusters": 2, "columns": ["b", "v"]})
    wanted = transfer_ari(frame(400, 1)[["b", "v"]].to_numpy(), frame(300, 2)[["b", "v"]].to_numpy(), 2)
    assert metric("transfer_ari").measure(asked) == pytest.approx(wanted) and wanted > 0.9


def test_lid_is_what_the_method_states_and_nothing_else_is_compared(table):
    same = pa.Table.from_pandas(frame(400, 1))
    assert metric("lid").measure(Trial(table, Rows(same, confidential={"lid": 0.25}), seed=1)) == 0.25
    for silent in (Trial(table, Rows(same), seed=1), Trial(table, Rows(same), seed=1, released={("synthetic",): same})):
        with pytest.raises(RiskError, match="does not say which released row was made from which true row"):
            metric("lid").measure(silent)


@pytest.fixture(scope="module")
def cube():
    rng = np.random.default_rng(4)
    rows = pd.DataFrame(rng.random((500, 3)), columns=list("abc")).assign(y=lambda f: f.sum(axis=1))
    columns = tuple(Column(name, "number", bounds=(0.0, 3.0 if name == "y" else 1.0)) for name in "abcy")
    return sfumato.read(rows, Schema(name="cube", columns=columns))


def test_a_blend_that_copies_the_inputs_has_a_lid_of_one(cube):
    method = TwoStage.as_published("y", inputs=list("abc"), second="nadaraya-watson")
    found = sfumato.calibrate(
        method, "lid <= 0.5", cube, grid=[0.5, 0.9, 1], parameter="blend", repeats=4, cost="declared", seed=1
    )
    means = {point.value: point.mean for point in found.points}
    assert means[1.0] == 1.0
    assert means[0.5] < means[0.9] < 0.5
    assert found.chosen == 0.9


def test_methods_that_shuffle_without_telling_pairs_have_no_lid(cube):
    with pytest.raises(RiskError, match="grid does not say which released row"):
        sfumato.calibrate(Grid(["a", "b"], 1.0), "lid <= 0.5", cube, grid=[1.0], repeats=2, cost="declared")
    with pytest.raises(PlanError, match="unknown option 'eta'"):
        sfumato.calibrate(
            Grid(["a", "b"], 1.0), "lid <= 0.5", cube, grid=[1.0], repeats=2, cost="declared", options={"eta": 0.1}
        )


def test_noisy_counts_below_zero_count_as_zero(table):
    trial = Trial(table, Contingency(["a", "c"], 1.0), seed=1)
    noisy = trial.tables[("a", "c")]
    kept = np.maximum(noisy.column("count").to_numpy(), 0).reshape(3, 2)
    true = table.marginals([("a", "c")])[("a", "c")]
    wanted = np.abs(kept / kept.sum() - true / true.sum()).sum() / 2
    assert metric("tvd_2_bins").measure(trial) == pytest.approx(wanted, abs=1e-12)
    nothing = {("a", "c"): noisy.set_column(2, "count", pa.array([-1] * 6))}
    uniform = np.abs(1 / 6 - true / true.sum()).sum() / 2
    assert metric("tvd_2_bins").measure(replace(trial, released=nothing)) == pytest.approx(uniform, abs=1e-12)


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
    copied = replace(trial, method=RawRows(), options={"identifiers": "v", "sensitive": "c"})
    assert metric("inference_rate").measure(copied) == 1.0, "the attacker sees values, of which everybody has another"


def test_every_metric_says_what_it_means_and_needs():
    for each in CATALOGUE.values():
        assert each.meaning and each.needs() and each.kind in ("utility", "risk")
    assert metric("transfer_ari").needs() == "rows, clusters=..."
    with pytest.raises(PlanError, match="there is no metric 'ari'"):
        metric("ari")


def test_wrong_options_are_named(trial):
    for clusters in ("few", "inf", 0, 2.5, [2], None):
        with pytest.raises(PlanError, match="clusters must be a whole number"):
            metric("transfer_ari").measure(replace(trial, options={"clusters": clusters}))
    for options in ({"person": "me"}, {"trials": 0}, {"person": -1}, {"trials": "1e400"}):
        with pytest.raises(PlanError, match="must be a whole number of at least"):
            metric("membership_auc").measure(replace(trial, options=options))
    with pytest.raises(RiskError, match="identifiers and one sensitive column"):
        metric("homogeneity_record").measure(replace(trial, options={"sensitive": "a"}))
