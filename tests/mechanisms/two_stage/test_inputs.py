"""First stages: the density of a column, the Latin hypercube and its three ways to tie columns together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import PlanError, TableError
from sfumato.papers.two_stage.published.first_stage import (
    FIRST_STAGES,
    PUBLISHED_BANDWIDTHS,
    STEPS,
    fit_kernel_density,
    midpoints,
    normal_scores,
    synthesise_inputs,
)

ROWS = 1000
SEEDS = 3


def simulated(seed: int, rows: int = ROWS, noise: float = 0.1) -> tuple[np.ndarray, np.random.Generator]:
    """The paper's inputs; the checked maths measured the steps with noise .1 on the third."""
    generator = np.random.default_rng(seed)
    two = generator.random((rows, 2))
    return np.column_stack([two, (two**2).sum(axis=1) + noise * generator.normal(size=rows)]), generator


def ks(a: np.ndarray, b: np.ndarray) -> float:
    both = np.concatenate([a, b])
    shares = [np.searchsorted(np.sort(values), both, "right") / len(values) for values in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def measured(step: str, unit: float) -> tuple[np.ndarray, float, float]:
    """Mean over seeds 0 to 2: standard deviation ratios, the largest KS distance, the largest change of correlation."""
    found = []
    for seed in range(SEEDS):
        x, generator = simulated(seed)
        s = synthesise_inputs("lhs", x * unit, ROWS, generator, step=step)
        worst = max(ks(a, b) for a, b in zip((x * unit).T, s.T, strict=True))
        change = np.abs(np.corrcoef(x, rowvar=False) - np.corrcoef(s, rowvar=False)).max()
        found.append([*(s.std(axis=0) / (x * unit).std(axis=0)), worst, change])
    mean = np.mean(found, axis=0)
    return mean[:3], float(mean[3]), float(mean[4])


@pytest.mark.parametrize("unit", [1.0, 50.0])
def test_the_rank_step_keeps_marginals_in_any_unit(unit):
    """Checked maths: rank step KS .012, correlation off by .036; correlation step 1.00/1.00/1.02, KS .024, .019."""
    ratios, worst, change = measured("rank", unit)
    assert ratios == pytest.approx([1.0, 1.0, 1.01], abs=0.015) and worst < 0.018 and change < 0.06
    ratios, worst, change = measured("correlation", unit)
    assert ratios == pytest.approx([1.0, 1.0, 1.02], abs=0.02) and worst < 0.035 and change < 0.04


@pytest.mark.parametrize(("unit", "ratios", "worst"), [(1.0, [0.39, 0.37, 0.47], 0.27), (50.0, [1.8, 1.9, 3.2], 0.46)])
def test_the_published_covariance_step_distorts_every_marginal(unit, ratios, worst):
    found, distance, _ = measured("covariance", unit)
    assert found == pytest.approx(ratios, rel=0.12) and distance == pytest.approx(worst, abs=0.03)


def test_the_rank_step_keeps_every_stratum():
    x, generator = simulated(4)
    s = synthesise_inputs("lhs", x, 500, generator)
    middles = (np.arange(500) + 0.5) / 500
    for column, made in zip(x.T, s.T, strict=True):
        assert np.sort(made) == pytest.approx(fit_kernel_density(column).quantile(middles), rel=1e-12)
    scores = [np.corrcoef(normal_scores(rows), rowvar=False) for rows in (x, s)]
    assert np.abs(scores[0] - scores[1]).max() < 0.02
    apart = synthesise_inputs("lhs", x, 500, generator, step="independent")
    assert abs(np.corrcoef(apart, rowvar=False)[0, 2]) < 0.2 < np.corrcoef(s, rowvar=False)[0, 2]


def test_latin_hypercube_midpoints_hold_one_point_in_each_stratum():
    shares = midpoints(40, 3, np.random.default_rng(1))
    assert (np.sort(np.floor(40 * shares), axis=0) == np.arange(40)[:, None]).all()
    assert (shares[:, 0] != shares[:, 1]).any()


def test_the_transform_gives_the_leave_one_out_likelihood_and_the_closed_distribution_function():
    """Gamma(2) values, n = 300: bandwidths of c of at least .3, where no value is alone, against all pairs."""
    values = np.random.default_rng(5).gamma(2.0, size=300)
    made = fit_kernel_density(values)
    chosen = made.tried >= 0.45 * 1.06 * values.std() * 300**-0.2
    for h, score in zip(made.tried[chosen], made.scores[chosen], strict=True):
        kernel = stats.norm.pdf(values[:, None], values, h)
        np.fill_diagonal(kernel, 0)
        assert score == pytest.approx(np.log(kernel.sum(axis=1) / 299).mean(), abs=0.02)
    at = np.linspace(-1, 10, 50)
    closed = stats.norm.cdf((at[:, None] - values) / made.bandwidth).mean(axis=1)
    assert made.cdf(at) == pytest.approx(closed, abs=1e-3)
    shares = np.linspace(0.01, 0.99, 50)
    assert made.cdf(made.quantile(shares)) == pytest.approx(shares, abs=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 0.1, 1.0, 3e7])
def test_the_bandwidth_follows_the_unit(unit):
    values = np.random.default_rng(6).normal(size=500)
    made = fit_kernel_density(values * unit)
    assert made.bandwidth / unit == pytest.approx(fit_kernel_density(values).bandwidth, rel=1e-9)
    assert 0.6 < made.bandwidth / (1.06 * values.std() * unit * 500**-0.2) < 1.6


def spread_ratio(values: np.ndarray, bandwidths: np.ndarray | None = None) -> float:
    shares = (np.arange(len(values)) + 0.5) / len(values)
    return float(fit_kernel_density(values, bandwidths).quantile(shares).std() / values.std())


def test_the_published_bandwidths_are_not_scale_free():
    """Checked maths: a standard deviation of .1 grows by 12 %; incomes have their best bandwidth near 2400, not 2."""
    small = [0.1 * np.random.default_rng(seed).normal(size=1000) for seed in range(SEEDS)]
    assert np.mean([spread_ratio(column, PUBLISHED_BANDWIDTHS) for column in small]) == pytest.approx(1.12, abs=0.01)
    assert np.mean([spread_ratio(column) for column in small]) < 1.05
    incomes = np.exp(np.random.default_rng(7).normal(10.5, 0.4, 1000))
    best = fit_kernel_density(incomes).bandwidth
    assert 1000 < best < 8000 and fit_kernel_density(incomes, [2.0, best]).bandwidth == best


def test_the_density_adds_at_most_five_percent_to_the_spread():
    """n = 1000, seeds 0 to 2: normal, uniform, exponential and lognormal columns."""
    for seed in range(SEEDS):
        g = np.random.default_rng(seed)
        for values in (g.normal(size=1000), g.random(1000), g.exponential(size=1000), np.exp(g.normal(size=1000))):
            assert 1.0 - 0.005 <= spread_ratio(values) <= 1.05


def test_a_lone_outlier_does_not_choose_the_bandwidth():
    values = np.random.default_rng(8).normal(size=1000)
    with_outlier = fit_kernel_density(np.append(values, 60.0))
    assert with_outlier.bandwidth < 1.3 * fit_kernel_density(values).bandwidth


def test_blind_baselines_are_those_of_the_paper():
    """Kolmogorov-Smirnov, n = 4000, alpha 1e-6, seed 9; a column in another unit is the mutant."""
    x, generator = simulated(9, 4000)
    laws = {"random": stats.uniform(), "weibull": stats.weibull_min(8), "cauchy": stats.cauchy()}
    for name, law in laws.items():
        made = synthesise_inputs(name, x, 4000, generator, unit="published")
        assert made.shape == (4000, 3) and stats.kstest(made[:, 0], law.cdf).pvalue > 1e-6
        assert stats.kstest(1.5 * made[:, 0], law.cdf).pvalue < 1e-6
    ranged = synthesise_inputs("random", 100 + 7 * x, 4000, generator)
    assert ranged.min() >= (100 + 7 * x).min() and np.ptp(ranged[:, 0]) == pytest.approx(7, rel=0.01)


@pytest.mark.parametrize("name", [name for name in FIRST_STAGES if name not in ("gan", "diffusion")])
def test_every_first_stage_gives_the_rows_asked_for_and_repeats(name):
    x, _ = simulated(10, 60)
    one, two = (synthesise_inputs(name, x, 33, np.random.default_rng(3)) for _ in range(2))
    assert one.shape == (33, 3) and np.isfinite(one).all() and (one == two).all()


@pytest.mark.parametrize("step", STEPS)
def test_every_step_takes_one_column_ties_and_near_twins(step):
    generator = np.random.default_rng(11)
    counts = generator.integers(0, 4, 200) * 1.0
    twin = counts + 1e-4 * generator.normal(size=200)
    for x in (counts, np.column_stack([counts, twin, generator.random(200)])):
        made = synthesise_inputs("lhs", x, 100, generator, step=step)
        assert len(made) == 100 and np.isfinite(made).all()


def test_bad_inputs_are_named_all_at_once():
    x, generator = simulated(12, 60)
    bad = np.column_stack([x[:, 0], np.full(60, 3.0), np.where(np.arange(60) == 5, np.nan, x[:, 1])])
    with pytest.raises(TableError) as refused:
        synthesise_inputs("lhs", bad[:10], 10, generator, names=("age", "flat", "gap"))
    assert [problem.split(":")[0] for problem in refused.value.problems] == [
        "10 rows are too few, at least 20 are needed",
        "flat",
        "gap",
    ]
    with pytest.raises(TableError, match="age and again are the same up to unit and sign"):
        synthesise_inputs("lhs", np.column_stack([x[:, 0], 5 - 2 * x[:, 0]]), 10, generator, names=("age", "again"))


@pytest.mark.parametrize(
    ("name", "rows", "options"),
    [
        ("lsh", 50, {}),
        ("lhs", 1, {}),
        ("lhs", 3, {}),
        ("lhs", 50, {"step": "ranks"}),
        ("random", 50, {"unit": "cm"}),
        ("random", 50, {"step": "rank"}),
        ("lhs", 50, {"bandwidths": [0.0]}),
        ("lhs", 50, {"bandwidths": [1e-9]}),
    ],
)
def test_bad_choices_are_refused_by_name(name, rows, options):
    x, generator = simulated(13, 60)
    with pytest.raises(PlanError):
        synthesise_inputs(name, x, rows, generator, **options)


@pytest.mark.parametrize("values", [np.ones(50), np.arange(19.0), np.full(30, np.nan), np.ones((30, 2))])
def test_a_column_without_a_density_is_refused(values):
    with pytest.raises(TableError, match="no density"):
        fit_kernel_density(values)
