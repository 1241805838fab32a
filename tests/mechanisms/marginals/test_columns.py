"""Columns of numbers in the baseline: layers cost what the plan says, and the curve makes their values good."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Marginals, Schema
from sfumato.errors import AccountingError
from sfumato.mechanisms import noisy_marginals
from sfumato.mechanisms.hierarchical_histogram import MOST_EQUAL, SHARES, finest_cells, layer_cells, measure_layers
from sfumato.mechanisms.marginals import method as single
from sfumato.mechanisms.marginals.method import MOST_BINS, WithinBinDensity, has_curve, in_layers
from sfumato.mechanisms.noisy_marginals import PlannedNoise
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.values import codes_of, draw_values
from sfumato.schema.column import Column

INCOME = Column("income", "number", bounds=(0, 1_000_000), bins=32, missing=True)
DAYS = Column("days", "integer", bounds=(-400, 1000), bins=32)
SEX = Column("sex", "category", values=("f", "m"))
SCHEMA = Schema("t", (INCOME, DAYS, SEX))
ROWS = 5000


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Incomes in a fifth of their public range, some missing; days of which six in ten are -1."""
    generator = np.random.default_rng(5)
    income = generator.lognormal(11, 0.5, ROWS).clip(0, 999_999)
    income[generator.random(ROWS) < 0.1] = np.nan
    days = np.where(generator.random(ROWS) < 0.6, -1, generator.integers(-30, 60, ROWS))
    return pd.DataFrame({"income": income, "days": days, "sex": generator.choice(["f", "m"], ROWS)})


def released(frame: pd.DataFrame, seed: int = 1, **facts) -> pd.DataFrame:
    made = sfumato.release(sfumato.read(frame, SCHEMA), Marginals(**{"epsilon": 1.0, **facts}), seed=seed, rows=ROWS)
    return made.data.to_pandas() if hasattr(made.data, "to_pandas") else made.data


@pytest.mark.parametrize("delta", [None, 1e-9])
def test_the_plan_shows_every_layer_and_its_shares_are_the_whole_budget(delta):
    plan = sfumato.plan(SCHEMA, Marginals(1.0, delta=delta))
    names = [stage.name for stage in plan.stages]
    assert names[:4] == ["income: blocks", "income: cells", "income: cells cut again", "days: blocks"]
    assert names[6:] == ["sex", "income x days", "income x sex", "days x sex"]
    shares = [to_fraction(stage.share) for stage in plan.stages]
    assert sum(shares) == 1
    assert shares[:3] == [Fraction(1, 10) * share for share in SHARES]
    parts = [part for event in plan.events for part in event.parts]
    assert [(part.stage, part.cells, part.scale) for part in parts] == [(s.name, s.cells, s.scale) for s in plan.stages]
    if delta is None:
        assert sum(to_fraction(stage.epsilon) for stage in plan.stages) == 1


def watched(monkeypatch, frame: pd.DataFrame, noise=None, **facts) -> list[tuple[np.ndarray, float]]:
    """Return the true counts and the scale of every table that a release put noise on."""
    seen: list[tuple[np.ndarray, float]] = []

    def watch(add):
        def watching(counts, scale, randomness):
            seen.append((counts.copy(), scale))
            return add(counts, scale, randomness) if noise is None else noise(counts)

        return watching

    for law in ("add_laplace_scale", "add_gaussian"):
        monkeypatch.setattr(noisy_marginals, law, watch(getattr(noisy_marginals, law)))
    released(frame, **facts)
    monkeypatch.undo()
    return seen


@pytest.mark.parametrize("delta", [None, 1e-9])
def test_what_is_drawn_is_what_the_event_holds(monkeypatch, frame, delta):
    parts = sfumato.plan(SCHEMA, Marginals(1.0, delta=delta), rows=ROWS).events[0].parts
    seen = watched(monkeypatch, frame, delta=delta)
    assert [scale for _, scale in seen] == [part.scale for part in parts]
    assert all(counts.size <= part.cells for (counts, _), part in zip(seen, parts, strict=True))
    assert all(counts.sum() == ROWS for counts, _ in seen), "each table counts every row once"


def test_one_row_moves_one_cell_of_every_table(monkeypatch, frame):
    """Noise that hides the counts keeps the second cut where it is, so tables of neighbours can be compared."""

    def same(counts):
        return np.full(counts.shape, 40, dtype=np.int64)

    one, two = (watched(monkeypatch, rows, same) for rows in (frame, frame[1:]))
    assert [int(np.abs(a - b).sum()) for (a, _), (b, _) in zip(one, two, strict=True)] == [1] * len(one)


def test_nothing_is_drawn_beyond_the_plan():
    plan = sfumato.plan(SCHEMA, Marginals(1.0, columns=["sex"]))
    noise = PlannedNoise(plan, Randomness(1))
    with pytest.raises(AccountingError, match="does not hold"):
        PlannedNoise(plan, Randomness(1)).add(np.zeros(3, dtype=np.int64))
    assert noise.add(np.zeros(2, dtype=np.int64))[1] == pytest.approx(2.0)
    with pytest.raises(AccountingError, match="does not hold"):
        noise.add(np.zeros(2, dtype=np.int64))


@pytest.mark.parametrize("column", [INCOME, DAYS, Column("d", "date", bounds=("2000-01-01", "2020-12-31"), bins=12)])
def test_the_second_cut_keeps_within_the_cells_of_the_plan(column):
    """Whatever the noisy counts are: one cell with all rows, even ones, and 50 random ones."""
    generator, size = np.random.default_rng(2), finest_cells(column).size
    cases = [np.eye(1, size, k=size // 3, dtype=np.int64)[0] * 10**6, np.full(size, 1000, dtype=np.int64)]
    cases += [(generator.pareto(0.3, size) * 10).clip(0, 1e9).astype(np.int64) for _ in range(50)]
    for counts in cases:
        layers = measure_layers(column, counts, lambda true, _: (true.astype(float), 1.0)).layers
        sizes = [layer.counts.size for layer in layers]
        assert sizes[:2] == list(layer_cells(column)[:2])
        assert sizes[2] <= layer_cells(column)[2]


def wasserstein(true: pd.Series, made: pd.Series) -> float:
    places = np.linspace(0.005, 0.995, 199)
    a, b = (np.quantile(values.dropna().astype(float), places) for values in (true, made))
    return float(np.abs(a - b).mean() / true.std())


def test_values_follow_the_curve_and_not_the_bins(monkeypatch, frame):
    """Three seeds at epsilon 1: values within bins drawn evenly, as without shapes, are much further off."""

    def distance() -> float:
        made = (released(frame, seed, columns=["income"])["income"] for seed in range(3))
        return float(np.mean([wasserstein(frame["income"], values) for values in made]))

    ours = distance()
    monkeypatch.setattr(single.ColumnEstimates, "draw", lambda _, column, codes, g: draw_values(column, codes, g))
    bins = distance()
    assert ours < 0.03
    assert bins > 2 * ours, f"even draws must be told apart, found {bins} against {ours}"


def test_a_spike_stays_a_spike_and_missing_stays_missing(frame):
    made = released(frame)
    assert (made["days"] == -1).mean() == pytest.approx(0.6, abs=0.04)
    assert made["days"].between(-5, -2).mean() < 0.1
    assert made["income"].isna().mean() == pytest.approx(0.1, abs=0.03)


def test_a_shape_never_leaves_the_bin():
    generator = np.random.default_rng(3)
    cut = finest_cells(INCOME)
    bins = single.parts_of(cut, INCOME)[: cut.present_size]
    shares = np.zeros((INCOME.present_size, cut.present_size))
    shares[bins, np.arange(cut.present_size)] = generator.random(cut.present_size)
    codes = generator.integers(0, INCOME.size, 20_000)
    values, missing = WithinBinDensity(cut, shares).draw(codes, generator)
    assert np.array_equal(missing, codes == INCOME.present_size)
    assert np.array_equal(codes_of(INCOME, values, missing), codes)


def test_columns_with_many_bins_or_few_values_are_measured_flat():
    wide = [Column("x", "number", bounds=(0, 1), bins=bins) for bins in (MOST_EQUAL, MOST_EQUAL + 1, MOST_BINS + 1)]
    assert [(in_layers(each), has_curve(each)) for each in wide] == [(True, True), (False, True), (False, False)]
    few = Column("x", "integer", bounds=(0, 20))
    assert [(in_layers(each), has_curve(each)) for each in (few, SEX)] == [(False, False)] * 2


@pytest.mark.parametrize("bins", [33, MOST_EQUAL, MOST_EQUAL + 1, 150])
def test_public_bins_are_unions_of_cells(monkeypatch, bins):
    """Whatever the number of bins, the counts of a curve lie where the rows are: here in the last quarter."""
    schema = Schema("t", (Column("x", "number", bounds=(0, 1), bins=bins),))
    values = 0.75 + 0.25 * np.random.default_rng(1).random(3000)
    table = sfumato.read(pd.DataFrame({"x": values}), schema)
    kept: list[single.ColumnEstimates] = []
    true_measure = single.measure_one_way
    monkeypatch.setattr(single, "measure_one_way", lambda *counted: kept.append(true_measure(*counted)) or kept[0])
    made = sfumato.release(table, Marginals(1.0), seed=1, rows=2000).data
    shape = kept[0].shapes["x"]
    cells = single.parts_of(shape.column, schema["x"])
    assert np.array_equal(shape.shares > 0, (cells == np.arange(bins)[:, None]) & (shape.shares > 0))
    assert np.allclose(shape.shares.sum(axis=1), 1)
    found = np.asarray(made["x"], float)
    assert (found > 0.74).mean() > 0.97
    assert found.mean() == pytest.approx(0.875, abs=0.02)


@pytest.mark.parametrize("epsilon", [1e-4, 30, 1e6])
def test_any_budget_gives_rows_within_the_schema(frame, epsilon):
    made = sfumato.release(
        sfumato.read(frame[:300], SCHEMA), Marginals(epsilon), seed=1, rows=100, allow_weak=True
    ).data
    assert len(made) == 100
    assert sfumato.read(made, SCHEMA).marginals([("income",)])[("income",)].sum() == 100
