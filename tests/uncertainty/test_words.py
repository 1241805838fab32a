"""Statistics by name, against pandas, and what is answered to words that mean nothing."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato import Column, Schema
from sfumato.errors import ArgumentError
from sfumato.evaluate.uncertainty.statistic_parser import parse_statistic
from sfumato.evaluate.uncertainty.statistics import ColumnValues

SCHEMA = Schema(
    "people",
    (
        Column("sex", "category", values=("f", "m"), missing=True),
        Column("region by law", "category", values=("north", "south", "east")),
        Column("age", "integer", bounds=(0, 100)),
        Column("income", "number", bounds=(0.0, 1000.0), missing=True),
        Column("born", "date", bounds=(dt.date(1900, 1, 1), dt.date(2020, 1, 1))),
        Column("owner", "boolean"),
    ),
)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    age = generator.integers(18, 80, 200)
    income = np.where(generator.random(200) < 0.1, np.nan, 5 * age + generator.normal(0, 20, 200))
    return pd.DataFrame(
        {
            "sex": generator.choice(["f", "m", None], 200, p=[0.5, 0.4, 0.1]),
            "region by law": generator.choice(["north", "south"], 200),
            "age": age,
            "income": income,
            "born": [dt.date(2020, 1, 1) - dt.timedelta(days=int(365 * each)) for each in age],
            "owner": generator.random(200) < income / 600,
        }
    )


@pytest.fixture(scope="module")
def values(frame: pd.DataFrame) -> ColumnValues:
    return ColumnValues(pa.Table.from_pandas(frame, preserve_index=False), SCHEMA)


def answer(values: ColumnValues, words: str) -> dict[str, float]:
    return dict(parse_statistic(words, SCHEMA, SCHEMA.names).compute(values))


def test_numbers_of_one_column(values, frame):
    income = frame["income"]
    assert answer(values, "mean income") == pytest.approx({"mean income": income.mean()})
    assert answer(values, "median of Income") == pytest.approx({"median income": income.median()})
    assert answer(values, "sd income") == pytest.approx({"sd income": income.std()})
    assert answer(values, "quantile .9 of income") == pytest.approx({"quantile 0.9 of income": income.quantile(0.9)})
    assert answer(values, "mean owner") == pytest.approx({"mean owner": frame["owner"].mean()})
    days = [(each - dt.date(1970, 1, 1)).days for each in frame["born"]]
    assert answer(values, "mean born") == pytest.approx({"mean born": np.mean(days)})


def test_shares_leave_missing_values_out(values, frame):
    shares = frame["sex"].value_counts(normalize=True)
    assert answer(values, "shares of sex") == pytest.approx({f"share of sex = {x}": shares[x] for x in ("f", "m")})
    assert answer(values, "share of sex = F") == pytest.approx({"share of sex = f": shares["f"]})
    assert answer(values, "share of sex missing") == {"share of sex missing": frame["sex"].isna().mean()}
    above = (frame["income"].dropna() > 200).mean()
    assert answer(values, "share of income > 200") == pytest.approx({"share of income > 200": above})
    old = (frame["born"] < dt.date(1960, 5, 1)).mean()
    assert answer(values, "share of born < 1960-05-01") == pytest.approx({"share of born < 1960-05-01": old})


def test_groups_also_by_a_name_that_holds_the_word_by(values, frame):
    means = frame.groupby("region by law")["income"].mean()
    found = answer(values, "mean income by region by law")
    assert found["mean income, region by law = north"] == pytest.approx(means["north"])
    assert np.isnan(found["mean income, region by law = east"])
    assert parse_statistic("sd income by `sex`", SCHEMA, SCHEMA.names).kind == "group sd"


def test_relations(values, frame):
    whole = frame.dropna(subset=["income"])
    assert answer(values, "correlation of age and income") == pytest.approx(
        {"correlation of age and income": whole["age"].corr(whole["income"])}
    )
    ranks = answer(values, "rank correlation of income and age")
    assert ranks["rank correlation of income and age"] == pytest.approx(
        whole["age"].corr(whole["income"], method="spearman")
    )
    found = answer(values, "regression of income on age, sex")
    both = whole.dropna(subset=["sex"])
    design = np.column_stack([np.ones(len(both)), both["age"], both["sex"] == "m"]).astype(float)
    solved = np.linalg.lstsq(design, both["income"].to_numpy(), rcond=None)[0]
    assert found == pytest.approx({"income on age": solved[1], "income on sex = m": solved[2]})


def test_auc_against_scikit_learn(values, frame):
    from sklearn.metrics import roc_auc_score

    found = answer(values, "auc of owner on age")["auc of owner = True"]
    assert found == pytest.approx(roc_auc_score(frame["owner"], frame["age"]))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("foo", "share of COLUMN = LEVEL"),
        ("mean incme", "did you mean 'income'"),
        ("mean sex", "shares of sex"),
        ("shares of income", "mean income"),
        ("share of sex = x", "its levels are: f, m"),
        ("share of sex", "shares of sex"),
        ("quantile 7 of income", "quantile 0.9 of income"),
        ("mean income by country", "country"),
        ("correlation of age", "correlation of COLUMN and COLUMN"),
        ("regression of income", "regression of COLUMN on"),
        ("regression of income on income", "stands twice"),
        ("share of income > high", "number"),
        ("auc of region by law on age", "say which"),
    ],
)
def test_other_words_are_answered_with_what_can_be_asked(words, said):
    with pytest.raises(ArgumentError) as refused:
        parse_statistic(words, SCHEMA, SCHEMA.names)
    assert said in str(refused.value)
