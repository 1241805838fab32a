"""Several sensitive attributes: every set of survivors enumerated, definitions 5 and 6 by hand, curves and refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.errors import ResourceError, RiskError
from sfumato.report.risk_pages import homogeneity_page
from sfumato.report.texts.homogeneity_answers import epsilon_answer, risk_answer
from sfumato.risk.homogeneity import (
    Cells,
    DiscreteGaussian,
    Geometric,
    Laplace,
    SeveralCurves,
    local,
    several,
    several_curves,
)
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    '[table]\nname = "t"\n'
    + "".join(
        f'[columns.{name}]\nkind = "category"\nvalues = {values}\nrole = "{role}"\n'
        for name, values, role in (
            ("place", ["a", "b", "c", "d"], "quasi-identifier"),
            ("illness", ["none", "flu", "cancer"], "sensitive"),
            ("insured", ["yes", "no"], "sensitive"),
        )
    )
)
ROWS = [
    *(("a", "flu", "yes"),) * 3,
    ("b", "flu", "yes"),
    ("b", "flu", "no"),
    ("c", "flu", "yes"),
    ("c", "none", "no"),
]


@pytest.fixture(scope="module")
def cells() -> Cells:
    frame = pd.DataFrame(ROWS, columns=["place", "illness", "insured"])
    return Cells.of(sfumato.read(frame, SCHEMA))


def enumerated(counts: np.ndarray, noise, record: bool) -> tuple[list[float], float, float]:
    """Each attribute, all and at least one, by every set of counts that may survive."""
    places = list(np.ndindex(counts.shape))
    keep, people = noise.survival(counts).ravel(), counts.ravel() / counts.sum()
    each, complete, some = [0.0] * counts.ndim, 0.0, 0.0
    for bits in itertools.product([False, True], repeat=len(places)):
        chance = float(np.prod(np.where(bits, keep, 1 - keep)))
        left = [place for place, kept in zip(places, bits, strict=True) if kept]
        if not left:
            continue
        agree = [len({place[j] for place in left}) == 1 for j in range(counts.ndim)]
        for place, share in zip(places, people, strict=True):
            right = [a and (not record or left[0][j] == place[j]) for j, a in enumerate(agree)]
            complete, some = complete + chance * share * all(right), some + chance * share * any(right)
            each = [value + chance * share * r for value, r in zip(each, right, strict=True)]
    return each, complete, some


@pytest.mark.parametrize("noise", [Geometric(0.7), DiscreteGaussian(1.3), Laplace(1.1)], ids=str)
@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 2)])
def test_the_closed_form_agrees_with_enumeration(noise, shape):
    counts = np.random.default_rng(3).integers(0, 3, (2, *shape))
    for view in ("record", "any"):
        found = several(counts, noise, view)
        for i, cell in enumerate(counts):
            each, complete, some = enumerated(cell, noise, view == "record")
            assert [values[i] for values in found.each] == pytest.approx(each, abs=1e-12)
            assert (found.complete[i], found.some[i]) == pytest.approx((complete, some), abs=1e-12)
            assert found.partial[i] == pytest.approx(some - complete, abs=1e-12)


def test_all_together_is_the_attack_on_the_combinations():
    counts = np.random.default_rng(4).integers(0, 4, (30, 3, 2))
    found = several(counts, Geometric(0.8))
    assert found.complete == pytest.approx(local(counts.reshape(30, 6), Geometric(0.8), "record"), rel=1e-12)


def test_definitions_5_and_6_by_hand(cells):
    assert cells.sensitive == ("illness", "insured") and cells.sizes.tolist() == [3, 2, 2]
    assert cells.complete.tolist() == [True, False, False]
    assert cells.partial.tolist() == [False, True, False]
    assert cells.heterogeneous.tolist() == [False, False, True]
    one = cells.one("insured")
    assert isinstance(one, Cells) and one.counts.tolist() == [[3, 0], [1, 1], [1, 1]]


def test_the_curves_average_the_cells_and_their_end_keeps_the_target(cells):
    found = several_curves(cells, [0.5, 1.0, 2.0], target=0.4, weights="record")
    risk = several(cells, Geometric(1.0))
    assert found.points[1].some.cell == pytest.approx(float(risk.some.mean()))
    assert found.points[1].each["illness"].record == pytest.approx(float(risk.each[0] @ cells.sizes / 7))
    assert found.example == found.points[1] and found.combinations == 6
    assert {name: (kind.cells, kind.people) for name, kind in found.kinds.items()} == {
        "complete": (1, 3),
        "partial": (1, 2),
        "heterogeneous": (1, 2),
    }
    assert found.ceiling.some.record == pytest.approx(5 / 7)
    assert found.baselines == pytest.approx({"illness": 6 / 7, "insured": 5 / 7, "all together": 5 / 7})
    end = several(cells, Geometric(found.choice.safe[1])).some @ cells.sizes / 7
    assert float(end) == pytest.approx(0.4, abs=1e-6)
    assert SeveralCurves.model_validate_json(found.model_dump_json()) == found
    page = homogeneity_page(found)
    assert (
        "At least one of them rightly for" in risk_answer(found).sentences[0] and page.count(">at least one</li>") == 1
    )
    assert "Every epsilon up to" in epsilon_answer(found).sentences[0]


def test_gaussian_noise_and_an_unreachable_target(cells):
    found = several_curves(cells, [0.5, 2.0], mechanism="discrete-gaussian", delta=1e-6, target=0.01)
    assert (found.rule, found.sensitivity) == ("analytic", 1.0) and found.choice.safe is None
    assert "even pure noise" in epsilon_answer(found).sentences[0]
    replaced = replace(SCHEMA, adjacency="replace", rows=7)
    other = Cells(replaced, cells.identifiers, cells.sensitive, cells.keys, cells.counts)
    assert several_curves(other, [1.0, 2.0], mechanism="gaussian", delta=1e-6).sensitivity == pytest.approx(
        math.sqrt(2)
    )
    assert several_curves(other, [1.0, 2.0]).points[1].some == several_curves(cells, [0.5, 1.0]).points[1].some


def test_what_makes_no_sense_is_named(cells, monkeypatch):
    for wrong in (
        [[1, 0]],
        np.zeros((1, 2, 1), int),
        np.ones((1, 2, 2)),
        -np.ones((1, 2, 2), int),
        np.ones([1] + [2] * 7, int),
    ):
        with pytest.raises(RiskError, match="not counts of several"):
            several(wrong, Geometric(1.0))
    with pytest.raises(RiskError, match="record and any"):
        several(cells, Geometric(1.0), "conservative")
    with pytest.raises(RiskError, match="one sensitive column"):
        several_curves(cells, [1.0, 2.0], view="any")
    table = sfumato.read(pd.DataFrame(ROWS, columns=["place", "illness", "insured"]), SCHEMA)
    with pytest.raises(RiskError) as caught:
        Cells.of(table, ["place", "nowhere"], ["illness", "place"])
    assert len(caught.value.problems) == 2
    monkeypatch.setattr("sfumato.risk.homogeneity.cells.MOST_COUNTS", 5)
    with pytest.raises(ResourceError, match="combinations of illness, insured"):
        Cells.of(table)
