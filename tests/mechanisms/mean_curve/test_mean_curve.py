"""Private mean curves: goldens, integer contributions, both adjacencies, refusals."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Ledger, Schema
from sfumato.errors import PlanError, SchemaError, TableError
from sfumato.mechanisms.mean_curve import best_rho, error_split
from sfumato.mechanisms.mean_curve.curve_kernels import KERNELS, KernelBasis, basis, even_positions, wiener_values
from sfumato.mechanisms.mean_curve.integer_sums import UNITS, CurveLattice, count_weight, largest_norm
from sfumato.mechanisms.mean_curve.method import KEY, MeanCurve
from sfumato.papers.reaedp.ridge_mean import ridge_mean, ridge_mean_sensitivity
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.gaussian_calibration import gaussian_sigma
from sfumato.privacy.randomness import Randomness
from sfumato.schema.column import Column
from sfumato.table.rows import stream_matrices

N, PATHS = 80, 50
GRID = np.arange(1, N + 1) / N
RHOS = (1e-6, 1e-3, 1e-1)


def demo_paths() -> np.ndarray:
    """(i / 50) (t^2 + sin(2 pi i t) / 10): the paths behind the mean values of the maths note."""
    i = np.arange(1, PATHS + 1)[:, None]
    return i / PATHS * (GRID**2 + 0.1 * np.sin(2 * np.pi * i * GRID))


def squared_brownian(points: int = N, paths: int = PATHS, seed: int = 42) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, math.sqrt(1 / points), (paths, points)).cumsum(axis=1) ** 2


def schema_of(points: int, adjacency: str = "add-remove", rows: int | None = None, **facts) -> Schema:
    columns = tuple(Column(f"t{i}", "number", bounds=(-50.0, 50.0), **facts) for i in range(1, points + 1))
    return Schema(name="paths", columns=columns, adjacency=adjacency, rows=rows)


def frame_of(paths: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(paths, columns=[f"t{i}" for i in range(1, paths.shape[1] + 1)])


def method(**changes) -> MeanCurve:
    return MeanCurve(**({"epsilon": 1, "delta": 1e-5, "rho": 0.1, "clip": 1} | changes))


@pytest.mark.parametrize(
    ("rho", "grid", "continuum", "sigma", "noise"),
    [
        (1e-6, 6.23912093, 19.9999964, 23.2758619, 16.5610661),
        (1e-3, 0.632189848, 0.631892065, 2.35846744, 1.67807901),
        (1e-1, 0.0586675034, 0.0585269793, 0.218866844, 0.15572649),
    ],
)
def test_goldens_of_sensitivity_and_noise(rho, grid, continuum, sigma, noise):
    assert ridge_mean_sensitivity(PATHS, rho) == pytest.approx(grid, rel=1e-8)
    assert ridge_mean_sensitivity(PATHS, rho, continuum=True) == pytest.approx(continuum, rel=1e-8)
    assert ridge_mean_sensitivity(PATHS, rho, adjacency="add-remove") == pytest.approx(grid * 50 / 51, rel=1e-8)
    assert max(grid, continuum) <= 1 / (PATHS * math.sqrt(rho))
    found = ridge_mean_sensitivity(PATHS, rho) * gaussian_sigma(1, 1e-5)
    assert found == pytest.approx(sigma, rel=1e-8)
    assert found * math.sqrt(81 / 160) == pytest.approx(noise, rel=1e-8)
    statistics = released(method(rho=rho), squared_brownian(), "replace").statistics
    assert statistics["sensitivity"] == pytest.approx(grid, rel=1e-6)
    assert statistics["sigma"] == pytest.approx(sigma, rel=1e-6)
    assert statistics["noise_rmse"] == pytest.approx(noise, rel=1e-6)


@pytest.mark.parametrize(
    ("rho", "bias", "half", "end"),
    [
        (1e-6, 5.09e-5, 0.12750102, 0.509839563),
        (1e-3, 0.00453607, 0.128519995, 0.481588807),
        (1e-1, 0.0730318, 0.145010482, 0.285997261),
    ],
)
def test_goldens_of_the_ridge_mean(rho, bias, half, end):
    mean = ridge_mean(demo_paths(), rho)
    assert (mean[39], mean[79]) == (pytest.approx(half, abs=1e-9), pytest.approx(end, abs=1e-9))
    assert error_split(demo_paths(), PATHS, rho, 1, 1, 1e-5).bias == pytest.approx(bias, rel=1e-3)


def test_the_error_is_u_shaped_in_rho():
    rhos = (1e-6, 1e-3, 0.01, 0.03, 0.1, 0.3, 1)
    totals = [error_split(squared_brownian(), PATHS, rho, 1, 1, 1e-5).total for rho in rhos]
    assert totals == pytest.approx([16.56, 1.69, 0.581, 0.398, 0.357, 0.435, 0.557], abs=6e-3)
    assert totals[2:] == pytest.approx([0.581, 0.398, 0.357, 0.435, 0.557], abs=6e-4)
    choice = best_rho(PATHS, 1, 1, 1e-5, pilot=squared_brownian())
    assert 0.03 < choice.rho < 0.3
    assert choice.best.total < min(totals)
    assert choice.best.total == min(split.total for split in choice.curve)
    assert choice.curve[0].noise > choice.best.noise > choice.curve[-1].noise
    assert choice.curve[0].bias < choice.best.bias < choice.curve[-1].bias


def test_rho_from_public_parameters_alone():
    few, many = best_rho(50, 1, 1, 1e-5), best_rho(50_000, 1, 1, 1e-5)
    assert many.rho < few.rho
    assert many.best.total < few.best.total
    assert best_rho(50, 1, 1, 1e-5, smoothness=10).rho < few.rho
    assert best_rho(50, 2, 1, 1e-5).rho == pytest.approx(few.rho)
    assert "kernel norm" in few.statement()
    split = error_split(demo_paths(), 50, few.rho, 1, 1, 1e-5, adjacency="add-remove")
    other = best_rho(50, 1, 1, 1e-5, adjacency="add-remove", pilot=demo_paths())
    assert split.noise == pytest.approx(next(s.noise for s in other.curve if s.rho >= few.rho), rel=0.1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_smoother_is_the_ridge_solution(kernel: str):
    length = None if kernel == "wiener" else 0.3
    points, rho = 12, 0.02
    t = np.arange(1, points + 1) / points
    gram = KERNELS[kernel](t, t, 0.3)
    paths = np.random.default_rng(3).normal(size=(5, points)) / 3
    expected = gram @ np.linalg.solve(gram + points * rho * np.eye(points), paths.mean(axis=0))
    assert ridge_mean(paths, rho, clip=9, kernel=kernel, length_scale=length) == pytest.approx(expected, abs=1e-9)
    on = basis(t, kernel, length)
    assert on.variances == pytest.approx(np.diag(gram))
    assert on.spread == pytest.approx(np.trace(gram) / points)
    assert ridge_mean_sensitivity(7, rho, 1.5, points, kernel=kernel, length_scale=length) == pytest.approx(
        3 / 7 * on.reach(rho)
    )


def test_closed_form_eigenvalues_are_those_of_the_matrix():
    for steps in (1, 2, 7, 80):
        assert wiener_values(steps) == pytest.approx(basis(even_positions(steps)).values)


def test_no_pair_of_paths_beats_the_sensitivity_and_one_reaches_it():
    rho, clip = 0.02, 1.5
    gram = np.minimum.outer(GRID, GRID)
    bound = ridge_mean_sensitivity(PATHS, rho, clip)

    def moved(x: np.ndarray, y: np.ndarray) -> float:
        change = (ridge_mean([x], rho, clip) - ridge_mean([y], rho, clip)) / PATHS
        return math.sqrt(change @ np.linalg.solve(gram, change))

    rng = np.random.default_rng(5)
    tried = [moved(*rng.normal(size=(2, N)) * 3) for _ in range(50)]
    assert max(tried) < bound
    worst = basis(even_positions(N)).vectors[:, np.argmax(basis(even_positions(N)).gains(rho))] * clip * math.sqrt(N)
    assert moved(worst, -worst) == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rho", [1e-6, 0.1, 50.0])
def test_integer_contributions_never_exceed_their_bound(kernel: str, rho: float):
    on = basis(even_positions(N), kernel)
    lattice = CurveLattice(on, rho, 1.0)
    rng = np.random.default_rng(1)
    paths = np.vstack([on.vectors.T * 1e3, rng.normal(size=(200, N)), np.full((1, N), 1e200), np.zeros((1, N))])
    units = lattice.quantise(paths)
    lengths = np.sqrt((units.astype(float) ** 2).sum(axis=1))
    assert lengths.max() <= largest_norm(N)
    assert lengths[:N].max() > UNITS - largest_norm(N) + UNITS, "the worst path comes close to the bound"
    assert not units[-1].any()


def test_a_contribution_depends_on_its_own_record_alone():
    """The other records of a batch, their number and their order change not a single unit."""
    lattice = CurveLattice(basis(even_positions(N)), 1e-4, 1.0)
    paths = np.random.default_rng(2).normal(size=(1003, N))
    units = lattice.quantise(paths)
    assert (lattice.quantise(paths[::-1])[::-1] == units).all()
    assert all((lattice.quantise(paths[i : i + 1])[0] == units[i]).all() for i in range(0, 1003, 50))
    assert (lattice.quantise(np.asfortranarray(paths)) == units).all()
    total, rows = lattice.total([paths[:400], paths[400:]])
    assert rows == 1003
    assert (total == units.sum(axis=0)).all()


def test_what_breaks_the_bound_contributes_nothing():
    sound = basis(even_positions(6))
    stretched = CurveLattice(KernelBasis(sound.positions, sound.values, 3 * sound.vectors), 0.1, 1.0)
    assert not stretched.quantise(10 * sound.vectors.T).any(axis=1)[np.argmax(sound.gains(0.1))]
    lattice = CurveLattice(sound, 0.1, 1.0)
    assert not lattice.quantise(np.full((1, 6), np.nan)).any()


def released(how: MeanCurve, paths: np.ndarray, adjacency: str, seed: int | None = 1, **facts):
    rows = len(paths) if adjacency == "replace" else None
    schema = schema_of(paths.shape[1], adjacency, rows, **facts)
    table = sfumato.read(frame_of(paths), schema)
    return sfumato.release(table, how, seed=seed, allow_weak=True)


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_with_a_large_budget_the_release_is_the_ridge_mean(adjacency, kernel):
    paths = np.random.default_rng(8).normal(size=(400, 10)).cumsum(axis=1) / 3
    how = method(epsilon=20_000, rho=0.05, kernel=kernel, positions=np.linspace(0.05, 0.9, 10).tolist())
    made = released(how, paths, adjacency)
    expected = ridge_mean(paths, 0.05, kernel=kernel, positions=how.positions)
    assert made.data["mean"].to_numpy() == pytest.approx(expected, abs=1e-3)
    assert made.data["position"].to_numpy() == pytest.approx(np.linspace(0.05, 0.9, 10))
    assert list(made.data.columns) == ["position", "mean", "noise_sd"]


def test_true_values_have_the_shape_of_the_release():
    paths = squared_brownian(20)
    table = sfumato.read(frame_of(paths), schema_of(20))
    true = method().true_values(table)[KEY].to_pandas()
    made = sfumato.release(table, method(), seed=1)
    assert list(true.columns) == list(made.data.columns)
    assert len(true) == len(made.data)
    assert true["mean"].to_numpy() == pytest.approx(ridge_mean(paths, 0.1), abs=1e-6)


def test_add_remove_hides_the_number_of_rows_and_pays_less_than_replace():
    paths = squared_brownian(20, paths=400)
    ours, theirs = released(method(), paths, "add-remove"), released(method(), paths, "replace")
    assert "rows" not in ours.statistics
    assert abs(ours.statistics["noisy_rows"] - 400) < 6 * ours.statistics["noisy_rows_sd"]
    assert ours.statistics["noise_rmse"] < theirs.statistics["noise_rmse"]
    weight = count_weight(basis(even_positions(20)), 0.1)
    part = ours.plan.events[0].parts[0]
    assert part.cells == 21
    assert part.sensitivity == math.isqrt(largest_norm(20) ** 2 + weight**2) + 1
    assert theirs.plan.events[0].parts[0].sensitivity == 2 * largest_norm(20)
    assert ours.notes == theirs.notes == ()


def test_the_weight_of_the_count_is_the_best_one():
    on = basis(even_positions(N))
    for rho in (1e-4, 0.1, 3.0):
        reach, top, spread = on.reach(rho), on.largest_mean(rho), on.spread

        def error(weight: float, reach=reach, top=top, spread=spread) -> float:
            return (reach**2 + weight**2) * (spread + (top / weight) ** 2)

        chosen = count_weight(on, rho) / UNITS * reach
        assert all(error(chosen) <= error(chosen * factor) for factor in (0.5, 0.9, 1.1, 2))
        assert error(chosen) == pytest.approx((reach * math.sqrt(spread) + top) ** 2, rel=1e-6)


def test_too_few_rows_are_said_to_be_too_few():
    made = released(method(epsilon=0.1), squared_brownian(5, paths=3), "add-remove")
    assert "quotient of noise" in made.notes[0]
    assert np.isfinite(made.data["mean"]).all()


def test_a_person_with_several_rows_costs_several_contributions():
    one = schema_of(4)
    who = Column("who", "category", role="identifier")
    several = dataclasses.replace(one, columns=(*one.columns, who), person="who", rows_per_person=3)
    how = method()
    single, triple = (how.plan(schema).events[0].parts[0] for schema in (one, several))
    assert triple.sensitivity == 3 * single.sensitivity
    frame = frame_of(squared_brownian(4, paths=20)).assign(who=["a"] * 10 + ["b"] * 2 + list("cdefghij"))
    assert how.total(sfumato.read(frame, several))[1] == 3 + 2 + 8


def test_numbers_are_read_as_for_counting(tmp_path):
    text = tmp_path / "paths.csv"
    text.write_text("t1,t2\n1.5,70\n-2,nan\n3,4\n")
    clamped = schema_of(2, outside="clamp")
    with pytest.raises(TableError, match="t2: 1 values missing"):
        list(stream_matrices(sfumato.read(text, clamped), ["t1", "t2"]))
    text.write_text("t1,t2\n1.5,70\n-2,-99\n3,4\n")
    (found,) = stream_matrices(sfumato.read(text, clamped), ["t2", "t1"])
    assert found.tolist() == [[50, 1.5], [-50, -2], [4, 3]]
    with pytest.raises(TableError, match="t2: 2 values"):
        list(stream_matrices(sfumato.read(text, schema_of(2)), ["t1", "t2"]))
    whole = dataclasses.replace(clamped, columns=(Column("t1", "integer", bounds=(0, 9)),))
    frame = pd.DataFrame({"t1": [1, 2, 3]})
    assert next(stream_matrices(sfumato.read(frame, whole), ["t1"])).tolist() == [[1], [2], [3]]


def test_plans_are_functions_of_public_facts():
    schema, how = schema_of(6), method(kernel="gaussian", length_scale="0.3")
    made, again = sfumato.plan(schema, how), sfumato.plan(schema, how)
    assert made == again
    event = made.events[0]
    assert (event.kind, event.epsilon, event.delta) == ("lattice-gaussian", "1", "1e-05")
    assert Event.from_json(event.to_json()) == event
    assert event.is_formal
    text = MeanCurve(epsilon="1", delta="1e-5", rho="0.1", clip="1", kernel="gaussian", length_scale="0.3")
    assert sfumato.plan(schema, text).events == made.events
    assert (
        method(rho=5).plan(schema_of(6, "replace", 9)).events
        == method(rho=0.01).plan(schema_of(6, "replace", 9)).events
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rho": 0}, "rho"),
        ({"rho": -1}, "rho"),
        ({"rho": math.nan}, "rho"),
        ({"rho": 1e-330}, "rho"),
        ({"clip": 0}, "clip"),
        ({"clip": math.inf}, "clip"),
        ({"clip": "much"}, "clip"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"kernel": "cubic"}, "cubic"),
        ({"kernel": "wiener", "length_scale": 1}, "length_scale"),
        ({"kernel": "gaussian", "length_scale": 0}, "length_scale"),
        ({"positions": [0.0, 0.5, 1]}, "at 0"),
        ({"positions": [0.2, 0.2, 1]}, "increase"),
        ({"positions": [0.2, 0.5, 1.5]}, "at most at 1"),
        ({"positions": [0.2, math.nan, 1]}, "finite"),
        ({"positions": "0.1,0.2"}, "finite"),
        ({"columns": ["t1", "t2"], "positions": [0.5]}, "2 positions"),
    ],
)
def test_wrong_parameters_are_refused_by_name(changes, words):
    with pytest.raises(PlanError, match=words):
        method(**changes)


def test_every_problem_is_named_at_once():
    with pytest.raises(PlanError) as caught:
        method(rho=0, clip=-1, delta=2, kernel="cubic")
    assert len(caught.value.problems) == 4
    columns = (
        Column("a", "number", bounds=(0.0, 1.0), missing=True),
        Column("b", "category", values=("x", "y")),
        Column("d", "integer", bounds=(0, 9), role="identifier"),
        Column("e", "number", bounds=(0.0, 1.0)),
    )
    schema = Schema(name="mixed", columns=columns)
    with pytest.raises(PlanError) as caught:
        sfumato.plan(schema, method(columns=["a", "b", "d", "e", "e", "f"], positions=None))
    text = str(caught.value)
    for words in ("'a' may be missing", "'b' is of kind", "'d' identifies", "repeat: e", "'f'"):
        assert words in text
    with pytest.raises(PlanError, match="3 grid points need 3 positions"):
        sfumato.plan(schema_of(3), method(positions=[0.5, 1.0]))
    with pytest.raises(PlanError, match="found none"):
        sfumato.plan(Schema(name="x", columns=(columns[1],)), method())
    with pytest.raises(SchemaError, match="public row count"):
        schema_of(3, "replace")


def test_paths_that_cannot_be_averaged_are_refused():
    for paths, words in (
        ([[1.0, math.nan]], "missing"),
        ([[1.0, 2.0], [1.0]], "1, 2 points"),
        ([1.0, 2.0], "shape"),
        ([], "shape"),
        ([["a", "b"]], "not numbers"),
        ([[math.inf, 1.0], [1.0, 1.0]], "1 path"),
    ):
        for call in (lambda p: ridge_mean(p, 0.1), lambda p: error_split(p, 5, 0.1, 1, 1, 1e-5)):
            with pytest.raises(PlanError, match=words):
                call(paths)
    with pytest.raises(PlanError, match="positions"):
        ridge_mean([[1.0, 2.0]], 0.1, positions=[0.1, 0.2, 0.3])
    for wrong in ({"rho": 0}, {"n": 0}, {"adjacency": "both"}, {"kernel": "wiener", "length_scale": 2}, {"clip": -1}):
        with pytest.raises(PlanError):
            ridge_mean_sensitivity(**({"n": 50, "rho": 0.1} | wrong))
    with pytest.raises(PlanError, match="continuum"):
        ridge_mean_sensitivity(50, 0.1, kernel="gaussian", continuum=True)
    with pytest.raises(PlanError) as caught:
        best_rho(0, -1, 1, 2, smoothness=-3)
    assert len(caught.value.problems) == 4


def test_a_refusal_spends_nothing(tmp_path):
    schema = schema_of(3)
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table("paths", epsilon=10, delta="1e-4", adjacency="add-remove")
    broken = frame_of(squared_brownian(3, paths=5))
    broken.loc[2, "t2"] = np.nan
    for data, how, error in (
        (broken, method(), TableError),
        (broken.fillna(0), method(positions=[0.1, 0.9]), PlanError),
        (broken.fillna(99), method(), TableError),
    ):
        with pytest.raises(error):
            sfumato.release(sfumato.read(data, schema), how, ledger=ledger)
    assert ledger.history() == ()
    made = sfumato.release(sfumato.read(broken.fillna(0), schema), method(), ledger=ledger)
    assert tuple(entry.event for entry in ledger.history("paths")) == made.events
    assert made.guarantee.kind == "approximate"


def test_the_example_fits_the_households(schema):
    how = MeanCurve.example(schema)
    assert how.plan(schema).cells == len(how.grid(schema)) + 1
    assert all(schema[name].kind in ("integer", "number") for name in how.grid(schema))


def test_noise_comes_from_where_it_is_told():
    how, schema = method(), schema_of(4)
    made = how.plan(schema)
    runs = [how.measure(np.zeros(4, np.int64), 9, None, made, Randomness.of(seed)) for seed in (3, 3, 4, None, None)]
    curves = [run.tables[KEY].column("mean").to_numpy() for run in runs]
    assert (curves[0] == curves[1]).all()
    assert all((curves[0] != other).all() for other in curves[2:])
    assert (curves[3] != curves[4]).all()
