"""The private geometry: sensitivities by search, sums exact, plans from public facts, rows inside the box."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import PlanError
from sfumato.mechanisms.cluster_geometry import compiled_loops
from sfumato.mechanisms.cluster_geometry.geometry import PrivateGeometry, StandardisedSpace
from sfumato.mechanisms.cluster_geometry.plan import GeometryPlan
from sfumato.mechanisms.cluster_geometry.principal_plane import BINS
from sfumato.mechanisms.cluster_geometry.run import QuantisedRows, _PrincipalPlaneRun, release_geometry
from sfumato.mechanisms.noisy_grid import GridPlan
from sfumato.privacy.accounting.gaussian_calibration import gaussian_mu
from sfumato.privacy.accounting.lattice_gaussian import composed_delta, composed_sigmas, lattice_sigma
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import BoundedAxis

ALPHA = 1e-6
UNIT_BOX = BoundedAxis(-1.0, 1.0)
ADJACENCIES = ("add-remove", "replace")


def plan_of(columns: int, clusters: int = 3, **facts) -> GeometryPlan:
    known = {"epsilon": 1, "delta": 1e-6 if columns > 3 else 0, "n_pub": 1000}
    return GeometryPlan(axes=(UNIT_BOX,) * columns, clusters=clusters, **{**known, **facts})


def blobs(rows: int, columns: int, seed: int, clusters: int = 3) -> np.ndarray:
    generator = np.random.default_rng(seed)
    centres = generator.uniform(-0.7, 0.7, (clusters, columns))
    return np.clip(
        centres[generator.integers(0, clusters, rows)] + 0.05 * generator.normal(size=(rows, columns)), -1, 1
    )


def contributions(record: np.ndarray, released: int, clusters: int = 3) -> dict[str, np.ndarray]:
    """What one record adds at each stage, in lattice units, with random numbers as the released ones."""
    generator, d = np.random.default_rng(released), len(record)
    mean, factor = generator.uniform(-1, 1, d), 1 / (3.5 * generator.uniform(0.02, 1, d))
    centres, plane = generator.uniform(-1, 1, (clusters, d)), np.linalg.qr(generator.normal(size=(d, 2)))[0]
    one = StandardisedSpace((UNIT_BOX,) * d, np.zeros(d), np.ones(d)).quantised(record[None])
    scales, products = np.zeros(1 + 2 * d, np.int64), np.zeros(d * (d + 1) // 2, np.int64)
    cells, radii = np.zeros((7, 7), np.int64), np.zeros((clusters, BINS), np.int64)
    sizes, steps = np.zeros(clusters, np.int64), np.zeros((clusters, d), np.int64)
    compiled_loops.sum_scales(one, scales)
    compiled_loops.sum_products(one, mean, factor, 0.45 * math.sqrt(d), products)
    compiled_loops.count_plane(one, mean, factor, plane, np.full(2, -0.5), np.full(2, 7.0), cells)
    compiled_loops.sum_steps(one, mean, factor, centres, 0.45 * math.sqrt(d), sizes, steps)
    compiled_loops.count_radii(one, mean, factor, centres, 5.0, radii)
    counted = {"plane": cells, "sizes": sizes, "radii": radii}
    return {
        "scales": scales,
        "products": products,
        "steps": steps,
        **{stage: counts * compiled_loops.LENGTH for stage, counts in counted.items()},
    }


def within(part, moved: np.ndarray) -> bool:
    """Compare squares as whole numbers: no rounding decides."""
    return sum(int(v) ** 2 for v in moved.ravel()) <= part.sensitivity**2


values = st.one_of(
    st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324]),
    st.floats(-1.5, 1.5),
)
records = st.integers(4, 7).flatmap(lambda d: st.tuples(*(st.tuples(*[values] * d),) * 2))


@settings(max_examples=400)
@given(pair=records, released=st.integers(0, 10_000), adjacency=st.sampled_from(ADJACENCIES))
def test_no_record_moves_a_sum_by_more_than_its_sensitivity(pair, released, adjacency):
    first, second = (np.array(record) for record in pair)
    plan = plan_of(len(first), adjacency=adjacency, n_pub=100_000)
    one, two = contributions(first, released), contributions(second, released)
    for part in plan.parts:
        kind = part.stage.split()[0]
        assert within(part, one[kind] - (two[kind] if adjacency == "replace" else 0)), part.stage
    assert {part.stage.split()[0] for part in plan.parts} == set(one)


@pytest.mark.parametrize("columns", [4, 6])
def test_the_sensitivities_are_reached_so_that_smaller_ones_would_be_wrong(columns):
    """The mutant of the audit above: 2 % less, and some record moves the sums by more."""
    parts = {part.stage.split()[0]: part for part in plan_of(columns, n_pub=1_000_000).parts}
    corners = np.vstack([np.ones(columns), *np.eye(columns)])
    for stage, part in parts.items():
        found = (contributions(corner, released)[stage] for corner in corners for released in range(60))
        reached = max(np.linalg.norm(moved.astype(float)) for moved in found)
        # The triangle of yy' is as long as y^2 only where y lies on an axis: a corner of the clipped box is not there.
        assert reached >= (0.7 if stage == "products" else 0.98) * part.sensitivity, stage


def test_replacing_reaches_what_is_stated():
    scales = plan_of(5, adjacency="replace").parts[0]
    moved = contributions(np.ones(5), 1)["scales"] - contributions(-np.ones(5), 1)["scales"]
    assert np.linalg.norm(moved.astype(float)) == pytest.approx(scales.sensitivity, rel=1e-9)


def test_sums_do_not_depend_on_batches_order_workers_or_memory():
    rows = blobs(20_000, 5, seed=1)
    box = StandardisedSpace((UNIT_BOX,) * 5, np.zeros(5), np.ones(5))
    facts = (np.full(5, 0.1), np.full(5, 0.8), np.linspace(-0.5, 0.5, 15).reshape(3, 5), 1.0)
    mixed = rows[np.random.default_rng(2).permutation(len(rows))]
    found = []
    for table, size, kept in ((rows, len(rows), 1 << 29), (mixed, 97, 1 << 29), (mixed, 1001, 1000)):
        source = QuantisedRows(lambda t=table, s=size: (t[i : i + s] for i in range(0, len(t), s)), box, kept)
        found.append([source.sums(compiled_loops.sum_steps, facts, (3,), (3, 5)) for _ in range(2)])
    for each in found:
        for again in each:
            assert all((a == b).all() for a, b in zip(again, found[0][0], strict=True))


def test_a_failing_pass_raises_and_is_not_kept():
    def broken():
        yield np.zeros((3, 4))
        raise OSError("gone")

    source = QuantisedRows(broken, StandardisedSpace((UNIT_BOX,) * 4, np.zeros(4), np.ones(4)))
    for _ in range(2):
        with pytest.raises(OSError, match="gone"):
            source.sums(compiled_loops.sum_scales, (), (9,))


@settings(max_examples=60)
@given(
    columns=st.integers(1, 12),
    clusters=st.integers(1, 20),
    epsilon=st.sampled_from([0.01, 0.5, 1, "1/3", 10, 50]),
    rows=st.integers(20, 10**9),
    adjacency=st.sampled_from(ADJACENCIES),
)
def test_a_plan_is_a_function_of_public_facts(columns, clusters, epsilon, rows, adjacency):
    facts = {"clusters": clusters, "epsilon": epsilon, "n_pub": rows, "adjacency": adjacency}
    plan = plan_of(columns, **facts)
    assert plan == plan_of(columns, **facts)
    assert plan.parts == plan_of(columns, **facts).parts
    assert sum(plan.shares.values()) == pytest.approx(1)
    if not plan.by_grid:
        units, sigmas = [part.sensitivity for part in plan.parts], [part.scale for part in plan.parts]
        cells = sum(part.cells for part in plan.parts)
        assert composed_delta(float(to_fraction(epsilon)), sigmas, units, cells, 15) <= 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize(
    "facts",
    [
        {"clusters": 0},
        {"n_pub": 2},
        {"delta": 1.0},
        {"delta": 0},
        {"adjacency": "swap"},
        {"epsilon": 0},
        {"axes": ()},
        {"axes": (BoundedAxis(1, 1),) * 4},
        {"axes": (BoundedAxis(0, math.inf),) * 4},
        {"axes": (BoundedAxis(0, 1.5, True),) * 4},
    ],
)
def test_bad_plans_are_refused(facts):
    with pytest.raises(PlanError):
        GeometryPlan(**{"axes": (UNIT_BOX,) * 4, "clusters": 3, "epsilon": 1, "delta": 1e-6, "n_pub": 100, **facts})


def test_every_problem_is_named_at_once():
    with pytest.raises(PlanError) as caught:
        GeometryPlan(axes=(BoundedAxis(2, 1), BoundedAxis(0, math.nan)) * 2, clusters=0, epsilon=1, n_pub=0)
    assert len(caught.value.problems) == 7


def test_composed_sigmas_agree_with_one_vector_and_with_gaussian_dp():
    (one,) = composed_sigmas([2**24], [1.0], 80, 1, 1e-6)
    assert one == pytest.approx(lattice_sigma(2**24, 80, 1, 1e-6), rel=1e-9)
    shares = [0.3, 0.25, 0.25, 0.2]
    sigmas = composed_sigmas([2**30, 2**24, 2**24, 2**25], shares, 500, 1, 1e-6)
    mus = [unit / sigma for unit, sigma in zip([2**30, 2**24, 2**24, 2**25], sigmas, strict=True)]
    assert math.sqrt(sum(mu**2 for mu in mus)) == pytest.approx(gaussian_mu(1, 1e-6), rel=1e-5)
    assert [mu**2 for mu in mus] == pytest.approx([s * gaussian_mu(1, 1e-6) ** 2 for s in shares], rel=1e-5)
    tighter = [sigma * 0.999 for sigma in sigmas]
    assert composed_delta(1.0, tighter, [2**30, 2**24, 2**24, 2**25], 500) > 1e-6, "a smaller sigma is not certified"
    with pytest.raises(PlanError, match="coarse"):
        composed_sigmas([2**24, 2**4], [0.5, 0.5], 80, 1, 1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", [1.0, 0.9])
def test_the_noise_of_every_stage_has_the_planned_scale(mutant):
    """n = 5000 draws: sum of squares over sigma^2 against chi-square at alpha 1e-6; a scale 10 % smaller is caught."""
    plan = plan_of(5, n_pub=100_000)
    run = _PrincipalPlaneRun(
        plan, QuantisedRows(lambda: iter([]), StandardisedSpace(plan.axes, np.zeros(5), np.ones(5))), Randomness.of(3)
    )
    low, high = stats.chi2.ppf([ALPHA / 2, 1 - ALPHA / 2], 5000)
    for part in plan.parts:
        noise = run._noisy(part.stage, np.zeros(5000, np.int64), 1) * mutant
        assert (low < ((noise / part.scale) ** 2).sum() < high) == (mutant == 1.0), part.stage


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("rows", [0, 1, 50])
def test_tables_with_next_to_nothing_still_give_rows(columns, rows):
    plan = plan_of(columns, clusters=4, epsilon=0.5)
    table = np.full((rows, columns), 0.25)
    for seed in range(3):
        geometry = release_geometry(plan, lambda: iter([table]), Randomness.of(seed))
        drawn, labels = geometry.draw(200, np.random.default_rng(seed))
        assert np.isfinite(drawn).all()
        assert (np.abs(drawn) <= 1).all()
        assert set(labels) <= set(range(4))
        assert geometry.total >= 1
        assert geometry.shares.sum() == pytest.approx(1)


def test_much_data_gives_the_clusters_back():
    rows = blobs(60_000, 5, seed=7)
    plan = plan_of(5, n_pub=60_000)
    assert plan.rounds == 1
    geometry = release_geometry(plan, lambda: iter([rows[:20_000], rows[20_000:]]), Randomness.of(1))
    gaps = np.linalg.norm(geometry.centres[:, None] - np.random.default_rng(7).uniform(-0.7, 0.7, (3, 5)), axis=2)
    assert gaps.min(axis=0).max() < 0.03
    drawn, labels = geometry.draw(20_000, np.random.default_rng(2))
    assert (geometry.assign(drawn) == labels).mean() > 0.99
    assert np.bincount(labels) / 20_000 == pytest.approx(geometry.shares, abs=0.02)
    assert geometry.total == pytest.approx(60_000, rel=0.01)
    assert drawn.mean(axis=0) == pytest.approx(rows.mean(axis=0), abs=0.03)


def test_values_that_are_not_numbers_count_nowhere():
    rows = np.array([[0.1, np.nan, 0, 0], [np.inf, -np.inf, 0, 0]])
    space = StandardisedSpace((UNIT_BOX,) * 4, np.zeros(4), np.ones(4))
    sums = np.zeros(9, np.int64)
    compiled_loops.sum_scales(space.quantised(rows), sums)
    assert sums[0] == compiled_loops.UNIT
    assert sums[1:3].tolist() == [compiled_loops.UNIT, -compiled_loops.UNIT]
    geometry = release_geometry(plan_of(4), lambda: iter([rows]), Randomness.of(1))
    assert geometry.assign(rows)[0] == -1
    assert GridPlan(axes=(UNIT_BOX,) * 2, epsilon=1, n_pub=100).count([rows[:, :2]]).sum() == 1


sides = st.tuples(st.integers(-50, 50), st.integers(1, 60), st.booleans()).map(
    lambda s: BoundedAxis(s[0], s[0] + s[1], s[2])
)


@settings(max_examples=60)
@given(axes=st.lists(sides, min_size=1, max_size=6), seed=st.integers(0, 1000), reach=st.floats(0, 50))
def test_bounds_and_whole_numbers_hold_in_every_row(axes, seed, reach):
    """Centres anywhere and radii of any size, far beyond the box too."""
    generator, d = np.random.default_rng(seed), len(axes)
    space = StandardisedSpace(tuple(axes), generator.uniform(-1, 1, d), 1 / generator.uniform(0.05, 3, d))
    edges = np.tile(np.linspace(0, reach, 4), (2, 1))
    geometry = PrivateGeometry(
        space,
        reach * generator.normal(size=(2, d)),
        edges,
        generator.random((2, 3)) + 0.1,
        generator.normal(size=(d, d)),
        (),
    )
    drawn, _ = geometry.draw(300, generator)
    for column, axis in zip(drawn.T, axes, strict=True):
        assert column.min() >= axis.low
        assert column.max() <= axis.high
        assert not axis.whole or (column == np.rint(column)).all()


@given(value=st.floats(-1e6, 1e6), low=st.floats(-100, 100), width=st.floats(0.01, 100))
def test_folding_is_a_reflection(value, low, width):
    folded, again = (compiled_loops.reflect_value(v, low, low + width) for v in (value, 2 * low - value))
    assert low <= folded <= low + width
    assert folded == pytest.approx(again, abs=1e-6), "a value and its mirror image end at one place"


@pytest.mark.statistical
@pytest.mark.parametrize("value", [0.1, 0.5, 2.75, -1.3])
def test_rounding_is_right_on_average(value):
    """n = 40,000 coins, exact binomial test at alpha 1e-6; even odds (as published) are caught away from one half."""
    coins = np.random.default_rng(1).random(40_000)
    up = sum(compiled_loops.round_value(value, coin) > value for coin in coins)
    fraction = value - math.floor(value)
    assert stats.binomtest(up, len(coins), fraction).pvalue > ALPHA
    if fraction != 0.5:
        assert stats.binomtest(int((coins < 0.5).sum()), len(coins), fraction).pvalue < ALPHA


@settings(max_examples=60)
@given(axes=st.lists(sides, min_size=1, max_size=3), rows=st.integers(1, 10**5), seed=st.integers(0, 100))
def test_grid_counts_are_those_of_the_edges(axes, rows, seed):
    plan = GridPlan(axes=tuple(axes), epsilon=1, n_pub=rows, most_cells=4000)
    generator = np.random.default_rng(seed)
    low, high = np.array([a.low for a in axes]), np.array([a.high for a in axes])
    table = generator.uniform(low, high, (500, len(axes)))
    table = np.vstack([np.where([a.whole for a in axes], np.rint(table), table), low, high, high + 1, low - 1])
    expected, _ = np.histogramdd(np.clip(table, low, high), bins=[np.asarray(e) for e in plan.edges])
    assert (plan.count([table[:100], table[100:]]) == expected).all()
    assert plan.cells == plan.part.cells <= 4000 * 2
    drawn = plan.release([table], Randomness.of(seed)).draw(200, generator)
    assert ((drawn >= low) & (drawn <= high)).all()
    assert all((column == np.rint(column)).all() for column, a in zip(drawn.T, axes, strict=True) if a.whole)


def test_the_grid_spends_epsilon_once_and_twice_under_replace():
    facts = {"axes": (UNIT_BOX,) * 2, "epsilon": 0.5, "n_pub": 4000}
    part, swapped = GridPlan(**facts).part, GridPlan(**facts, adjacency="replace").part
    assert (part.sensitivity, part.scale) == (1, 2.0)
    assert (swapped.sensitivity, swapped.scale) == (2, 4.0)
    assert swapped.cells < part.cells, "more noise, fewer cells"
    with pytest.raises(PlanError):
        GridPlan(axes=(UNIT_BOX,) * 4, epsilon=1, n_pub=10)


@pytest.mark.statistical
def test_grid_rows_follow_the_noisy_table():
    """n = 50,000 rows in 16 cells, chi-square at alpha 1e-6; the unprojected mutant (uniform shares) is caught."""
    plan = GridPlan(axes=(UNIT_BOX, BoundedAxis(0, 3, whole=True)), epsilon=1, n_pub=160)
    grid = plan.release([np.column_stack([blobs(400, 1, 3)[:, 0], np.arange(400) % 4])], Randomness.of(5))
    drawn = plan.count([grid.draw(50_000, np.random.default_rng(6))]).ravel()
    expected = grid.table.ravel() / grid.table.sum() * 50_000
    assert not drawn[expected == 0].any()
    seen = expected > 0
    assert stats.chisquare(drawn[seen], expected[seen]).pvalue > ALPHA
    assert stats.chisquare(drawn[seen], np.full(seen.sum(), 50_000 / seen.sum())).pvalue < ALPHA
