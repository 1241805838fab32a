"""AIM and MST are attacked with full knowledge: no audit finds more than the claimed epsilon, and mutants are caught.

Two tables, with and without one row in a corner that is otherwise empty. Of every run the attacker sees all noisy
tables and choices, and computes the exact likelihood ratio of both worlds; thresholds on it are the best attacks there
are. Bounds are Clopper and Pearson's at alpha = 1e-6, split over the thresholds; n is RUNS, of each world.
The second half asks for more than statistics can: with the answers of noise and choices held fixed, nothing in a
release may depend on the table.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato
from mechanisms.graphical.mutants import half_noise, true_one_way, with_true_groups, with_true_total
from mechanisms.graphical.watching import CANARY, Counted, CountedValues, privacy_loss, run_on, watch
from sfumato import AIM, MST, Schema
from sfumato.mechanisms import hierarchical_histogram
from sfumato.mechanisms.graphical import budget, exponential_mechanism
from sfumato.mechanisms.graphical import method as graphical_run
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.metrics.confidence import binomial_interval
from sfumato.sampling.values import bins_of
from statistical.laws import ALPHA

pytestmark = pytest.mark.statistical

EPSILON, DELTA, FEW = 1.0, 0.2, 80
RUNS = {"aim": 480, "mst": 220}
SCHEMA = Schema.parse("""
[table]
name = "corner"
[columns.a]
kind = "category"
values = ["0", "1", "2", "3"]
[columns.b]
kind = "category"
values = ["0", "1", "2", "3"]
[columns.c]
kind = "category"
values = ["0", "1"]
""")
METHODS = [AIM(EPSILON, DELTA, workload="2-way", model="tree"), MST(EPSILON, DELTA)]
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)


def corner() -> Counted:
    """Forty rows that never leave the first two levels."""
    generator = np.random.default_rng(1)
    same = generator.integers(0, 2, (40, 1))
    return Counted(SCHEMA, same ^ (generator.random((40, 3)) < 0.2))


WITHOUT = corner()
WITH = WITHOUT.plus(CANARY)


def test_the_quick_table_counts_like_a_real_one():
    frame = pd.DataFrame(WITH.codes.astype(str), columns=["a", "b", "c"])
    sets = [("a",), ("b", "c"), ("a", "b", "c")]
    real, quick = sfumato.read(frame, SCHEMA).marginals(sets), WITH.marginals(sets)
    assert all(np.array_equal(real[names], quick[names]) for names in sets)


@dataclass(frozen=True)
class Seen:
    """What an attacker makes of one run: the privacy loss, the total, the groups of the first column, canary rows."""

    loss: float
    total: float
    groups: tuple[int, ...]
    rows: int


def attacked(method: Any, member: bool, runs: int) -> list[Seen]:
    return [_one(method, member, seed + 10_000 * member) for seed in range(runs)]


def _one(method: Any, member: bool, seed: int) -> Seen:
    with pytest.MonkeyPatch.context() as patch:
        seen = watch(patch)
        output = run_on(method, WITH if member else WITHOUT, seed, rows=40)
    groupings = output.model.groupings
    canary_groups = [int(g.groups[level]) for g, level in zip(groupings, CANARY, strict=True)]
    again = CANARY if method.name == "aim" else ()  # few rows: single columns are measured again
    loss = privacy_loss(seen, (*CANARY, *again), CANARY, canary_groups, member)
    rows = output.tables[("synthetic",)].to_pylist()
    hits = sum(tuple(int(value) for value in row.values()) == CANARY for row in rows)
    return Seen(loss, output.statistics["noisy_total"], tuple(groupings[0].groups.tolist()), hits)


def audited(inside: Sequence[float], outside: Sequence[float], cuts: Sequence[float]) -> float:
    """Lower confidence bound on epsilon at DELTA, over both tails at thresholds that were fixed beforehand."""
    level, found = 1 - ALPHA / (2 * len(cuts)), 0.0
    above = [(np.array(inside) > cut, np.array(outside) > cut) for cut in cuts]
    for near, far in [*above, *((~far, ~near) for near, far in above)]:
        low = binomial_interval(int(near.sum()), len(near), level).low
        high = binomial_interval(int(far.sum()), len(far), level).high
        found = max(found, math.log((low - DELTA) / high) if low > DELTA else 0.0)
    return found


LOSS_CUTS = (-0.5, 0.5, 1.0, 1.5, 2.0)
STATISTICS: dict[str, tuple[Callable[[Seen], float], tuple[float, ...]]] = {
    "everything that was drawn": (lambda seen: seen.loss, LOSS_CUTS),
    "the number of rows": (lambda seen: seen.total, (len(WITHOUT.codes) + 0.5,)),
    "how levels are grouped": (lambda seen: float(len(set(seen.groups))), (1.5, 2.5, 3.5)),
    "released rows": (lambda seen: float(seen.rows), (0.5, 1.5)),
}


def bounds(inside: Sequence[Seen], outside: Sequence[Seen]) -> dict[str, float]:
    return {
        name: audited([look(seen) for seen in inside], [look(seen) for seen in outside], cuts)
        for name, (look, cuts) in STATISTICS.items()
    }


def delta_bound(inside: Sequence[Seen]) -> float:
    """Lower confidence bound (Hoeffding's) on delta at EPSILON: the mean of what exceeds it, from the exact losses."""
    over = [max(0.0, -math.expm1(EPSILON - seen.loss)) for seen in inside]
    return float(np.mean(over)) - math.sqrt(math.log(1 / ALPHA) / (2 * len(over)))


@each_method
def test_no_attack_finds_more_than_the_claimed_epsilon(method):
    runs = RUNS[method.name]
    inside, outside = attacked(method, True, runs), attacked(method, False, runs)
    found = bounds(inside, outside)
    assert all(bound <= EPSILON for bound in found.values()), found
    assert delta_bound(inside) <= DELTA
    gains, losses = (np.array([seen.loss for seen in world]) for world in (inside, outside))
    ratios = np.exp(losses)
    assert abs(ratios.mean() - 1) < 5 * ratios.std() / math.sqrt(runs), "likelihood ratios have mean 1"
    # The canary is a hard case: its mean loss is most of what the noise's budget allows any row.
    allowed = float(method.planned(SCHEMA).budget().noise.total)
    room = 5 * math.sqrt(2 * allowed / runs)
    assert gains.mean() > 0.8 * allowed - room
    assert losses.mean() < room - 0.8 * allowed


@each_method
def test_mutant_half_the_noise_is_caught(method, monkeypatch):
    monkeypatch.setattr(Budget, "measure", half_noise)
    runs = RUNS[method.name]
    inside, outside = attacked(method, True, runs), attacked(method, False, runs)
    assert delta_bound(inside) > DELTA
    if method.name == "aim":
        # MST keeps a third of its budget for choices, of which this canary makes no use: n is too small for attacks.
        assert bounds(inside, outside)["everything that was drawn"] > EPSILON


LAYERED = Schema.parse("""
[table]
name = "numbers"
[columns.x]
kind = "number"
bounds = [0.0, 1000.0]
bins = 32
[columns.y]
kind = "integer"
bounds = [0, 9]
[columns.z]
kind = "integer"
bounds = [0, 5000]
bins = 20
""")
FAR = (900.0, 8, 4000)
"""A row far from all others: in every table and at every resolution it is alone in its cell."""
IN_LAYERS, LAYER_RUNS = AIM(EPSILON, DELTA), 40


def numbers() -> CountedValues:
    generator = np.random.default_rng(2)
    return CountedValues(
        LAYERED,
        np.column_stack([generator.gamma(2, 30, 300), generator.integers(0, 3, 300), generator.integers(0, 400, 300)]),
    )


def losses_in_layers(member: bool) -> np.ndarray:
    """The exact privacy losses of runs on columns in layers and tables at several resolutions."""
    here, found = (numbers().plus(FAR) if member else numbers()), list[float]()
    for seed in range(LAYER_RUNS):
        with pytest.MonkeyPatch.context() as patch:
            seen = watch(patch)
            output = run_on(IN_LAYERS, here, seed + 10_000 * member, rows=40)
        first, again, codes, canary_groups = list[int](), list[int](), list[int](), list[int]()
        for grouping, value in zip(output.model.groupings, FAR, strict=True):
            cut = int(bins_of(grouping.column, np.array([value]))[0])
            codes.append(cut)
            canary_groups.append(int(grouping.groups[cut]))
            layers = _layers_of(LAYERED[grouping.column.name], value, cut)
            first, again = [*first, *layers], [*again, *(layers if len(layers) == 1 else (layers[0], layers[-1]))]
        found.append(privacy_loss(seen, [*first, *again], codes, canary_groups, member))
    return np.array(found)


def _layers_of(column: Any, value: float, cut: int) -> list[int]:
    """The canary's cell in each table that is measured of a column."""
    if not hierarchical_histogram.uses_layers(column):
        return [cut]
    equal = hierarchical_histogram.equal_cells(column)
    cell = int(bins_of(equal, np.array([value]))[0])
    return [int(hierarchical_histogram.blocks_of(equal)[cell]), cell, cut]


def check_of_layers() -> None:
    """The mean loss of each world is what the noise and the choices cost; n = 40 of each, within 5 standard errors."""
    gains, losses = losses_in_layers(True), losses_in_layers(False)
    allowed = float(IN_LAYERS.planned(LAYERED).budget().rho)
    room = 5 * math.sqrt(2 * allowed / LAYER_RUNS)
    assert 0.5 * allowed - room < gains.mean() < allowed + room
    assert -allowed - room < losses.mean() < room - 0.5 * allowed


def test_layers_and_resolutions_cost_what_the_budget_says():
    check_of_layers()


def test_mutant_half_the_noise_on_layers_is_caught(monkeypatch):
    monkeypatch.setattr(Budget, "measure", half_noise)
    with pytest.raises(AssertionError):
        check_of_layers()


def with_true_cut(table: Any, *rest: Any) -> Any:
    """Mutant: cells are cut again where the true rows are."""
    true_layers = hierarchical_histogram.measure_layers

    def learned(column: Any, counts: Any, noisy: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            known = hierarchical_histogram.HierarchicalHistogram.estimate
            patch.setattr(
                hierarchical_histogram.HierarchicalHistogram,
                "estimate",
                lambda first, *_: _exactly(first, column, counts, known),
            )
            return true_layers(column, counts, noisy)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hierarchical_histogram, "measure_layers", learned)
        return true_one_way(table, *rest)


def _exactly(first: Any, column: Any, counts: Any, known: Any) -> Any:
    """The estimate with the true counts of the equal cells in place of noisy ones."""
    places = hierarchical_histogram.parts_of(hierarchical_histogram.finest_cells(column), first.column)
    return dataclasses.replace(known(first), counts=1e6 * np.bincount(places, counts, first.column.size))


MUTANTS = [(with_true_total, "the number of rows"), (with_true_groups, "how levels are grouped")]


@each_method
@pytest.mark.parametrize(("mutant", "gives_away"), MUTANTS, ids=["true total", "learned groups"])
def test_mutants_that_look_at_the_table_are_caught(method, mutant, gives_away, monkeypatch):
    """n = 80 of each world: what is certain needs few runs."""
    monkeypatch.setattr(graphical_run, "measure_one_way_marginals", mutant)
    found = bounds(attacked(method, True, FEW), attacked(method, False, FEW))
    assert found[gives_away] > EPSILON


MIXED = Schema.parse("""
[table]
name = "visits"
[columns.ward]
kind = "category"
values = ["a", "b", "c", "d", "e", "f"]
missing = true
[columns.stage]
kind = "ordinal"
values = ["low", "middle", "high"]
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.dose]
kind = "number"
bounds = [0.0, 50.0]
missing = true
[columns.day]
kind = "date"
bounds = [2020-01-01, 2020-12-31]
[[rules]]
check = "stage == 'low' implies dose <= 20"
""")


def visits(rows: int, seed: int, wards: str) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    stage = generator.choice(["low", "middle", "high"], rows)
    dose = np.round(generator.uniform(0, np.where(stage == "low", 20, 50)), 1)
    return pd.DataFrame(
        {
            "ward": generator.choice(list(wards), rows),
            "stage": stage,
            "age": generator.integers(20, 20 + 3 * seed, rows),
            "dose": np.where(generator.random(rows) < 0.1, np.nan, dose),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 100 * seed, rows), unit="D"),
        }
    )


def released(method: Any, frame: pd.DataFrame, monkeypatch: Any) -> tuple[Any, list[int]]:
    """A release in which noisy answers and choices are prescribed, whatever the table holds."""
    offered: list[int] = []
    answers = np.random.default_rng(5)

    def prescribed(counts: np.ndarray, sigma: float, randomness: Any) -> np.ndarray:
        return np.rint(answers.exponential(6.0, counts.shape) * sigma).astype(np.int64)

    def place(deficits: Sequence[int], rate: Any, uniform: Any) -> int:
        offered.append(len(deficits))
        return (7 * len(offered)) % len(deficits)

    with monkeypatch.context() as patch:
        patch.setattr(budget, "add_gaussian", prescribed)
        patch.setattr(exponential_mechanism, "sample_index", place)
        made = sfumato.release(sfumato.read(frame, MIXED), method, seed=3)
    return made, offered


def same_releases(method: Any, monkeypatch: Any) -> bool:
    (one, offered), (two, other) = (
        released(method, frame, monkeypatch) for frame in (visits(60, 1, "ab"), visits(300, 3, "cdef"))
    )
    ours, theirs = one.model.model.to_arrays(), two.model.model.to_arrays()
    arrays = ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)
    return one.data.equals(two.data) and one.statistics == two.statistics and offered == other and arrays


FREE = {
    "tree": AIM(1, workload="2-way", model="tree"),
    "3-way": AIM(1, columns=["ward", "age", "dose"], workload="3-way", bins="schema"),
    "auto": AIM(1),
    "target": AIM(1, target="stage"),
    "both": AIM(1, workload="2-way", model="both"),
    "mixture": AIM(1, model="mixture"),
    "mst": MST(1),
    "mst schema": MST(1, bins="schema", rounding=False),
}


@pytest.mark.parametrize("method", FREE.values(), ids=FREE)
def test_with_answers_held_fixed_nothing_depends_on_the_table(method, monkeypatch):
    """Two tables that share neither size, levels nor ranges: the same answers make the same release, bit by bit."""
    assert same_releases(method, monkeypatch)


@pytest.mark.parametrize(
    "mutant", [*(mutant for mutant, _ in MUTANTS), with_true_cut], ids=["true total", "learned groups", "learned cut"]
)
@pytest.mark.parametrize("method", [FREE["tree"], FREE["mst"]], ids=["aim", "mst"])
def test_mutants_that_look_at_the_table_make_other_releases(method, mutant, monkeypatch):
    monkeypatch.setattr(graphical_run, "measure_one_way_marginals", mutant)
    assert not same_releases(method, monkeypatch)
