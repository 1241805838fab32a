"""The bracket is public, the place in it is not: sensitivities by search, one adjacency for each set of brackets."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

import sfumato
from mechanisms.pseudo_posterior.people import PUBLIC, SCHEMA, people
from sfumato import Ledger, PseudoPosterior
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import LedgerError, PlanError
from sfumato.mechanisms.pseudo_posterior.sufficient_statistics import UNIT, NoisyStatistics
from sfumato.privacy.randomness import Randomness

BRACKETS = {
    "one": (-1.0, 1.0),
    "two": (-1.0, 0.0, 1.0),
    "around 0": (-1.0, -0.5, 0.7, 1.0),
    "uneven": (-3.0, -0.9, 0.05, 0.1, 0.6, 2.0),
    "eight": tuple(np.linspace(-1, 1, 9).tolist()),
}


def statistics(edges: tuple[float, ...] | None, predictors: int = 1, **facts) -> NoisyStatistics:
    return NoisyStatistics(
        **{
            "target": (-1, 1),
            "predictors": ((-1, 1),) * predictors,
            "scale": "normal",
            "epsilon": 1,
            "adjacency": "replace",
            "rows": 10,
            "known_predictors": True,
            "brackets": edges,
            **facts,
        }
    )


def worst_move(method: NoisyStatistics, edges: tuple[float, ...], norm: int) -> float:
    """How far the noisy sums move, in lattice units, over pairs of targets in one bracket and corners of predictors."""
    found = 0.0
    for low, high in pairwise(edges):
        values = np.linspace(max(low, -1), min(high, 1), 41)
        for corner in product((-1.0, 0.3, 1.0), repeat=method.columns - 1):
            sums = method.quantise(values, np.tile(corner, (41, 1)))
            moves = (sums[:, None, :] - sums[None, :, :]).astype(float)
            assert not moves[:, :, ~method.noisy_entries].any(), "what has no noise does not know the target"
            found = max(found, float(np.linalg.norm(moves[:, :, method.noisy_entries], norm, axis=2).max()))
    return found


@pytest.mark.parametrize("edges", BRACKETS.values(), ids=BRACKETS)
@pytest.mark.parametrize("predictors", [0, 1, 2])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_no_target_moves_the_sums_further_within_its_bracket_than_the_sensitivity(edges, predictors, delta):
    method = statistics(edges, predictors, delta=delta)
    reached, stated = worst_move(method, edges, 2 if delta else 1), method.part.sensitivity
    assert reached <= stated
    if edges != BRACKETS["around 0"]:
        assert reached >= 0.98 * stated, "and the bound is reached"
    if not delta:
        assert stated / Fraction(method.part.scale) <= 1, "so that epsilon is what is spent"


def test_crossing_a_bracket_is_caught():
    """Two mutants: neighbours that may leave their bracket, and the noise of brackets half as wide."""
    method = statistics(BRACKETS["eight"])
    assert worst_move(method, BRACKETS["two"], 1) > 3 * method.part.sensitivity
    finer = statistics(tuple(np.linspace(-1, 1, 17).tolist()))
    assert worst_move(method, BRACKETS["eight"], 1) > 1.5 * finer.part.sensitivity


def test_narrow_brackets_need_less_noise():
    """Known values, one predictor: 4 for the whole range, d (4 - d) with d = 1/4 for eight brackets."""
    whole, eight = statistics(None).part, statistics(BRACKETS["eight"]).part
    assert (whole.sensitivity / UNIT, eight.sensitivity / UNIT) == (4, pytest.approx(15 / 16, rel=1e-3))
    assert whole.cells == eight.cells == 3, "sums of public predictors have no noise at all"
    row = statistics(None, known_predictors=False).part
    assert row.sensitivity / UNIT == 6.5


def test_a_bracket_below_the_lattice_still_gets_noise():
    method = statistics((-1.0, *np.linspace(-1e-7, 1e-7, 5).tolist(), 1.0), 0)
    assert method.part.sensitivity > UNIT
    assert statistics((-1.0, *np.linspace(-0.99999, 0.99999, 2**18).tolist(), 1.0), 0).part.sensitivity >= 1


def test_public_predictors_keep_their_exact_sums():
    rng = np.random.default_rng(1)
    z, y = rng.uniform(-1, 1, 400), rng.uniform(-1, 1, 400)
    method = statistics(BRACKETS["eight"], rows=400)
    moments = method.release([(y, z)], Randomness.of(2))
    exact = method.total([(y, z)]) / UNIT
    assert (moments.sums[~method.noisy_entries] == exact[~method.noisy_entries]).all()
    assert (moments.sums[method.noisy_entries] != exact[method.noisy_entries]).all()
    odd = method.quantise([math.nan, 0.5], [[0.25], [0.25]])
    assert (odd[0, ~method.noisy_entries] == odd[1, ~method.noisy_entries]).all()


def bracketed(**changes) -> PseudoPosterior:
    facts = {"target": "x", "predictors": ["z"], "family": "lognormal", "epsilon": 1, "public_predictors": True}
    return PseudoPosterior(**(facts | {"brackets": "schema"} | changes))


UNIT_OF_X = "the value of x within its public bracket (edges 0.1, 1, 5, 20, 100, 400) in one row"


def test_the_label_says_what_is_and_what_is_not_protected(tmp_path):
    made = sfumato.release(sfumato.read(people(), PUBLIC), bracketed())
    assert made.plan.unit == made.guarantee.unit == made.events[0].unit == UNIT_OF_X
    said = made.guarantee.statement()
    assert f"for changing {UNIT_OF_X} of table 'people'" in said
    assert "the bracket itself is NOT protected" in said
    assert "NOT protected" in made.events[0].note
    assert said.count("edges") == 1, "the headline names the edges, the rest is plain"
    folder = made.save(tmp_path / "bundle")
    assert verify_bundle(folder).ok
    assert json.loads((folder / "release.json").read_text())["unit"] == UNIT_OF_X
    assert "the bracket itself is NOT protected" in (folder / "report.html").read_text()
    assert made.statistics["way"] == "statistics"


def test_an_account_holds_one_adjacency(tmp_path):
    """Rows, targets, and targets within these or other brackets: four adjacencies, none of which adds to another."""
    table = sfumato.read(people(), PUBLIC)
    kinds = {
        "row": sfumato.Histogram("z", epsilon=1),
        "value": bracketed(brackets=None, way="statistics"),
        "schema": bracketed(),
        "other": bracketed(brackets=[0.1, 20, 400]),
    }
    for first in kinds:
        book = Ledger(tmp_path / f"{first}.db")
        book.open_table("people", epsilon=10, adjacency="replace")
        for name in [first, *(each for each in kinds if each != first)]:
            if name == first:
                sfumato.release(table, kinds[name], ledger=book)
                continue
            with pytest.raises(LedgerError, match="do not add up"):
                sfumato.release(table, kinds[name], ledger=book)
        assert (book.account("people").spent_epsilon, len(book.history())) == ("1", 1)


def test_edges_may_be_an_array():
    method = bracketed(brackets=np.array([0.1, 20.0, 400.0]))
    assert method == bracketed(brackets=[0.1, 20.0, 400.0])
    assert "edges 0.1, 20, 400" in sfumato.plan(PUBLIC, method).unit


def test_brackets_without_predictors_and_with_delta():
    made = sfumato.release(
        sfumato.read(people(), PUBLIC), bracketed(predictors="none", public_predictors=False, delta="1e-6", epsilon=4)
    )
    assert (made.events[0].kind, len(made.data), list(made.data)) == ("lattice-gaussian", 500, ["x"])
    assert np.log(made.data["x"]).mean() == pytest.approx(np.log(people()["x"]).mean(), abs=0.2)


@pytest.mark.parametrize(
    ("schema", "changes", "message"),
    [
        (SCHEMA, {}, "adjacency 'replace'"),
        (PUBLIC, {"public_predictors": False}, "say public_predictors"),
        (PUBLIC, {"brackets": [1, 5]}, "miss values from 0.1 to 400"),
        (PUBLIC, {"way": "clipped"}, "costs no less within brackets"),
        (PUBLIC, {"brackets": [5, 1]}, "rising edges"),
        (PUBLIC, {"brackets": "bins"}, "'schema' or a list"),
        (PUBLIC, {"target": "group", "family": "auto"}, "holds levels"),
        (PUBLIC, {"target": "group", "family": "auto", "brackets": [0, 3]}, "holds levels"),
    ],
)
def test_what_brackets_cannot_be_is_said(schema, changes, message):
    with pytest.raises(PlanError, match=message):
        sfumato.plan(schema, bracketed(**changes))
