"""The curve through noisy counts: tails, spikes, heaps, and how much better it is than the counts themselves."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.mechanisms.hierarchical_histogram import finest_cells, measure_layers
from sfumato.sampling import smooth_density
from sfumato.sampling.fine_cells import cell_widths
from sfumato.sampling.smooth_density import SmoothDensity, fit_density, roughness, shares_within
from sfumato.schema.column import Column

CELLS = np.arange(100)
SIGMA = 30.0
NOISE = SIGMA**2 * np.eye(100)


def noisy(counts: np.ndarray, seed: int) -> np.ndarray:
    return counts + np.random.default_rng(seed).normal(0, SIGMA, len(counts))


def falling() -> np.ndarray:
    return 6000 * np.exp(-CELLS / 8) * (1 - np.exp(-1 / 8))


def test_a_tail_falls_off_instead_of_following_the_noise():
    """Mean over 20 draws: cutting negative counts off leaves a tail of hundreds of rows, the curve next to none."""
    true = falling()
    tails, cut_off = zip(
        *(
            (fit_density(y, NOISE, np.ones(100)).counts[50:].sum(), np.maximum(y, 0)[50:].sum())
            for y in (noisy(true, seed) for seed in range(20))
        ),
        strict=True,
    )
    assert np.mean(tails) < 100 < 400 < np.mean(cut_off)


def test_the_curve_is_nearer_to_the_truth_than_the_counts():
    """Root of the squared error over 20 draws, every one of them."""
    true = falling()
    for seed in range(20):
        y = noisy(true, seed)
        curve = fit_density(y, NOISE, np.ones(100))
        assert curve.explains
        assert np.linalg.norm(curve.counts - true) < 0.6 * np.linalg.norm(y - true)
        assert (curve.counts >= 0).all()


@pytest.mark.parametrize(("floor", "follows"), [(smooth_density.LOWEST, True), (-30.0, False)])
def test_a_body_between_empty_bounds_is_followed(monkeypatch, floor, follows):
    """A body that ends abruptly sends the logarithms of the tails far down, and must be followed all the same.

    With a floor under the logarithms that the tails reach, Newton's steps would end far from the best curve.
    """
    monkeypatch.setattr(smooth_density, "LOWEST", floor)
    cells = np.arange(132)
    inside = (cells >= 9) & (cells < 77)
    rough = np.exp(0.35 * np.sin(1.1 * cells) + 0.3 * np.sin(0.47 * cells) - ((cells - 30) / 26) ** 2)
    for seed in range(4):
        counts = noisy(np.where(inside, 770 * rough, 0.0), seed)
        curve = fit_density(counts, SIGMA**2 * np.eye(132), np.where(inside, 0.06, 0.9))
        errors = (counts - curve.counts) / SIGMA
        assert (float(errors @ errors) < len(cells)) is follows


VISITS = Column("visits", "integer", bounds=(0, 1000))
FINEST = finest_cells(VISITS)


def mean_error(seed: int, at_the_top: bool) -> float:
    """Nine in ten people have no visits, others six on average: the error of the mean after noise of 150 a column."""
    generator = np.random.default_rng(seed)
    visits = np.where(generator.random(2500) < 0.9, 0, generator.geometric(1 / 6, 2500))
    values = 1000 - visits if at_the_top else visits
    counts = np.bincount(np.searchsorted(FINEST.starts, values, side="right") - 1, minlength=FINEST.size)

    def noised(true, share):
        sigma = 150 / float(share) ** 0.5
        return true + generator.normal(0, sigma, len(true)), sigma

    measured = measure_layers(VISITS, counts, noised)
    column, estimate = measured.column, measured.estimate()
    curve = fit_density(estimate.counts, estimate.covariance, cell_widths(column)).counts
    return abs(float(curve @ (column.starts + column.ends) / 2 / curve.sum()) - values.mean())


@pytest.mark.parametrize("at_the_top", [False, True])
def test_beside_an_atom_at_an_end_the_curve_falls_away_from_it(monkeypatch, at_the_top):
    """40 seeds; the spread of visits is 2.5. The mutant draws a line there, which may rise towards the far bound."""
    near = [mean_error(seed, at_the_top) for seed in range(40)]
    monkeypatch.setattr(smooth_density, "_unseen_side", lambda *_: 0)
    lines = [mean_error(seed, at_the_top) for seed in range(40)]
    assert np.median(near) < 2.5 < 5 < np.median(lines)
    assert np.mean(near) < 0.5 * np.mean(lines)


def test_two_atoms_at_the_ends_or_a_body_far_away_leave_the_curve_as_it_was():
    rest, noise, widths = np.ones(100, dtype=bool), NOISE, np.ones(100)
    rest[0] = False
    assert smooth_density._unseen_side(rest, np.zeros(100), noise, widths) == 1
    assert smooth_density._unseen_side(rest[::-1], np.zeros(100), noise, widths) == -1
    assert smooth_density._unseen_side(rest & rest[::-1], np.zeros(100), noise, widths) == 0
    assert smooth_density._unseen_side(rest, np.where(CELLS > 80, 200.0, 0.0), noise, widths) == 0


def test_a_spike_stays_a_spike():
    """58 % of the rows in one cell, as a column of days with -1 for most people has it."""
    true = np.full(100, 42.0)
    true[30] += 5800
    curve = fit_density(noisy(true, 1), NOISE, np.ones(100))
    assert curve.atoms[30]
    assert curve.counts[30] == pytest.approx(5842, abs=5 * SIGMA)
    assert curve.counts[[28, 29, 31, 32]].max() < 200, "the spike is not smeared"


def test_heaps_at_round_numbers_stay():
    true = np.where(CELLS % 5 == 0, 300.0, 30.0)
    curve = fit_density(noisy(true, 2), NOISE, np.ones(100))
    assert curve.atoms[CELLS % 5 == 0].mean() > 0.9
    assert curve.counts[CELLS % 5 == 0].mean() == pytest.approx(300, rel=0.1)
    assert curve.counts[CELLS % 5 != 0].mean() == pytest.approx(30, rel=0.5)


def test_where_noise_is_next_to_nothing_the_counts_are_kept():
    """Cells without any order: the curve follows them, and is then no better than they are."""
    true = np.random.default_rng(0).uniform(500, 1000, 100)
    curve = fit_density(true, np.eye(100), np.ones(100))
    assert np.abs(curve.counts - true).max() < 1
    assert curve.criterion + 2 * curve.atoms.sum() > 190


@pytest.mark.parametrize(("criterion", "atoms", "explains"), [(15.0, 0, True), (21.0, 0, False), (15.0, 3, False)])
def test_a_curve_explains_counts_where_its_cp_is_below_theirs(criterion, atoms, explains):
    """Ten counts as they are have a Cp of 20; every atom is a number of its own, too."""
    assert SmoothDensity(np.ones(10), np.arange(10) < atoms, 1.0, criterion).explains is explains


def test_a_straight_line_of_logarithms_costs_nothing():
    line = 3.0 - 0.25 * CELLS
    assert line @ roughness(100) @ line == pytest.approx(0, abs=1e-9)
    assert np.linalg.matrix_rank(roughness(6)) == 4


@pytest.mark.parametrize("counts", [np.zeros(40), -np.ones(40), np.full(40, 1e7)])
def test_nothing_and_very_much_are_fitted_too(counts):
    curve = fit_density(counts.astype(float), np.eye(40), np.ones(40))
    assert np.isfinite(curve.counts).all() and (curve.counts >= 0).all()


def test_shares_sum_to_one_in_every_group_even_without_mass():
    column = Column("x", "integer", bounds=(0, 3))
    groups = np.array([0, 0, 1, 1], np.int32)
    assert shares_within(np.array([1.0, 3.0, 0.0, 0.0]), column, groups).tolist() == [0.25, 0.75, 0.5, 0.5]
