"""Whether a release serves prediction: a perfect release, a useless one, and what is said of the test rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.errors import RiskError
from sfumato.metrics.auc import roc_auc_one_vs_rest
from sfumato.papers.two_stage.price_metrics import compare_elasticities
from sfumato.papers.two_stage.train_synthetic_test_real import TrainTestResult, train_and_test
from sfumato.schema import Schema
from sfumato.schema.column import Column

SCHEMA = Schema(
    name="people",
    columns=(
        Column("x", "number", bounds=(0.0, 1.0)),
        Column("kind", "category", values=("a", "b", "c")),
        Column("y", "number", bounds=(-10.0, 10.0)),
        Column("risk", "category", values=("low", "high")),
    ),
)


def people(rows: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    x, kind = generator.random(rows), generator.choice(["a", "b", "c"], rows)
    y = 4 * x + 2.0 * (kind == "b") + generator.normal(0, 0.1, rows)
    return pd.DataFrame({"x": x, "kind": kind, "y": y, "risk": np.where(y > 3, "high", "low")})


def served(
    released: pd.DataFrame, target: str, inputs: tuple[str, ...] = ("x", "kind"), **more: object
) -> TrainTestResult:
    models = ("krr", "forest")
    return train_and_test(people(200, 1), released, SCHEMA, target, inputs, models=models, seed=1, **more)


def test_true_rows_of_others_serve_as_well_as_those_of_the_table():
    found = served(people(200, 2), "y", test=people(150, 3), public=people(30, 4))
    assert not found.test_rows_seen and found.test_rows == 150 and found.inputs == ("x", "kind")
    for each in found.models:
        assert each.original.error < 0.3 * found.guess.error and each.released.error < 0.3 * found.guess.error
        assert each.delta == pytest.approx(1 - each.combined.error / each.public.error) and each.delta > 0
    assert "not in the table" in found.statement()


def test_a_release_without_the_dependence_is_no_better_than_no_inputs():
    made = people(200, 2)
    made["y"] = np.random.default_rng(5).permutation(made["y"])
    found = served(made, "y", test=people(150, 3))
    assert all(each.released.error > 0.8 * found.guess.error for each in found.models)
    assert all(each.public is None and each.delta is None for each in found.models)


def test_levels_are_judged_by_accuracy_and_area():
    found = served(people(200, 2), "risk")
    assert found.classes and found.test_rows == 50 and found.test_rows_seen and "has seen" in found.statement()
    assert all(each.released.accuracy > 0.9 and each.released.auc > 0.95 for each in found.models)
    assert found.guess.accuracy < 0.8 and found.guess.auc == 0.5 and found.to_dict()["models"][0]["delta"] is None
    one_level = people(200, 2).assign(risk="low")
    dull = served(one_level, "risk").models[0].released
    assert dull.auc == 0.5 and 0.2 < dull.accuracy < 0.8


def test_the_area_is_that_of_scikit_learn():
    from sklearn.metrics import roc_auc_score

    generator = np.random.default_rng(1)
    truth, scores = generator.integers(0, 3, 60), generator.dirichlet(np.ones(3), 60)
    expected = roc_auc_score(truth, scores, multi_class="ovr")
    assert roc_auc_one_vs_rest(scores, np.arange(3), truth.astype(float)) == pytest.approx(expected)


def test_rows_with_missing_numbers_are_left_out_and_counted():
    schema = Schema(
        name="people",
        columns=(Column("x", "number", bounds=(0.0, 1.0), missing=True), *SCHEMA.columns[1:]),
    )
    holes = people(200, 1)
    holes.loc[:9, "x"] = np.nan
    found = train_and_test(holes, people(200, 2), schema, "y", ("x",), models=("forest",), seed=1)
    assert found.left_out == 10


def test_wrong_columns_and_models_are_named():
    with pytest.raises(RiskError, match="cannot be predicted") as caught:
        served(people(200, 2), "z", ("x", "q"))
    assert len(caught.value.problems) == 2
    with pytest.raises(RiskError, match="models"):
        train_and_test(people(50, 1), people(50, 2), SCHEMA, "y", models=("net",))
    with pytest.raises(RiskError, match="the release: 5 complete rows"):
        served(people(5, 2), "y")


PRICES = Schema(
    name="shop",
    columns=(
        Column("price", "number", bounds=(0.0, 10.0)),
        Column("sales", "number", bounds=(0.0, 1000.0)),
        Column("brand", "category", values=("one", "two")),
    ),
)


def shop(betas: tuple[float, float]) -> pd.DataFrame:
    price = np.tile(np.linspace(1, 3, 20), 2)
    brand = np.repeat(["one", "two"], 20)
    return pd.DataFrame({"price": price, "brand": brand, "sales": 50 * price ** np.repeat(betas, 20)})


def test_prices_are_those_of_the_formulas():
    found = compare_elasticities(shop((-1.5, -0.5)), shop((-1.540335, -0.6)), PRICES, "sales", "price", "brand")
    one, two = found.brands
    assert one.markup == pytest.approx(2.0) and one.profit_ratio == pytest.approx(0.999, abs=1e-4)
    assert two.markup is None and two.profit_ratio is None and two.released == pytest.approx(-0.6)
    assert found.mapd == pytest.approx((0.040335 / 1.5 + 0.2) / 2)
    assert len(compare_elasticities(shop((-2, -2)), shop((-2, -2)), PRICES, "sales", "price").brands) == 1


def test_prices_need_numbers_and_brands_levels():
    with pytest.raises(RiskError, match="elasticities") as caught:
        compare_elasticities(shop((-2, -2)), shop((-2, -2)), PRICES, "brand", "price", "price")
    assert len(caught.value.problems) == 2
