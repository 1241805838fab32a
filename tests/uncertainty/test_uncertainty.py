"""Reruns on released rows: free, repeatable, the same for a release and its bundle, refused where they tell nothing."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

import sfumato
from sfumato import Column, Schema
from sfumato.errors import ArgumentError, BundleError, PlanError
from sfumato.evaluate.uncertainty import reruns as made_again
from sfumato.evaluate.uncertainty.reruns import SIZE_CHOSEN, PublicRelease
from sfumato.progress import progress_listener

SCHEMA = Schema(
    "people",
    (
        Column("sex", "ordinal", values=("f", "m")),
        Column("age", "integer", bounds=(18, 97)),
        Column("city", "category", role="identifier"),
    ),
)


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    generator = np.random.default_rng(2)
    ages = np.clip(generator.normal(45, 15, 500).round(), 18, 97).astype(int)
    return pa.table(
        {"sex": generator.choice(["f", "m"], 500), "age": ages, "city": [f"c{i % 100}" for i in range(500)]}
    )


@pytest.fixture(scope="module")
def table(rows) -> sfumato.Table:
    return sfumato.read(rows.to_pandas(), SCHEMA)


@pytest.fixture(scope="module")
def grid(table) -> sfumato.Release:
    return sfumato.release(table, sfumato.Grid(("sex", "age"), epsilon=1), ledger=False, seed=1)


def test_a_bundle_gives_the_numbers_of_its_release_without_a_ledger_or_a_warning(grid, tmp_path):
    grid.save(tmp_path / "bundle")
    asked = ["mean age by sex", "shares of sex"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here, there = grid.uncertainty(asked, reruns=5), sfumato.uncertainty(tmp_path / "bundle", asked, reruns=5)
    assert here.estimates == there.estimates
    opened = PublicRelease.of(tmp_path / "bundle").mechanism()
    assert PublicRelease.of(grid).mechanism().key == opened.key != replace(opened, rows_asked=7).key
    assert opened.key != replace(opened, schema=replace(SCHEMA, name="others")).key
    assert [each.kind for each in here.estimates] == ["group mean"] * 2 + ["share"] * 2
    assert all(each.low < each.value < each.high and each.error > 0 for each in here.estimates)
    assert json.loads(json.dumps(here.to_dict()))["reruns"] == 5
    assert "mean age" in here._repr_html_()


def test_a_second_question_runs_nothing_again(grid, monkeypatch):
    told = []
    with progress_listener(lambda stage, done: told.append(done)):
        first = grid.uncertainty("mean age", reruns=6)
    assert told[-1] == 1.0
    monkeypatch.setattr(made_again.RerunMechanism, "rerun", None)
    assert grid.uncertainty("mean age", reruns=6) == first
    assert grid.uncertainty("sd age", reruns=6).estimates[0].kind == "sd"


def test_another_process_makes_the_same_reruns(grid, monkeypatch):
    mechanism = PublicRelease.of(grid).mechanism()
    here = made_again.rerun(mechanism, 5)
    monkeypatch.setattr(made_again, "WORTH_A_PROCESS", 0.0)
    monkeypatch.setattr(made_again, "_cores", lambda: 2)
    monkeypatch.setattr(made_again, "_kept", type(made_again._kept)())
    assert made_again.rerun(mechanism, 5) == here
    assert len({str(each.to_pydict()) for each in here}) == 5


def test_functions_of_a_frame_and_what_they_must_return(grid):
    found = grid.uncertainty(lambda frame: frame["age"].mean(), reruns=4)
    assert found.estimates[0].value == grid.uncertainty("mean age", reruns=4).estimates[0].value
    assert found.notes
    by_sex = grid.uncertainty(lambda frame: frame.groupby("sex")["age"].mean(), reruns=4)
    assert [each.name for each in by_sex.estimates] == ["statistic, f", "statistic, m"]
    with pytest.raises(ArgumentError, match="holds no numbers"):
        grid.uncertainty(lambda frame: "many", reruns=4)


def test_the_population_is_less_sure_than_the_table(grid):
    table, population = grid.uncertainty("mean age", 5), grid.uncertainty("mean age", 5, population=True)
    added = population.estimates[0].error ** 2 - table.estimates[0].error ** 2
    ages = grid.data["age"].astype(float)
    assert added == pytest.approx(ages.var() / len(ages), rel=0.6)  # 60 samples: within a few of their errors
    assert population.population


def test_a_group_without_rows_is_said_to_be_unknown(table):
    release = sfumato.release(table, sfumato.Grid(("sex", "age"), epsilon=1), rows=5, ledger=False, seed=1)
    found = release.uncertainty("mean age by age", reruns=4)
    empty = [each for each in found.estimates if np.isnan(each.value)]
    assert empty and empty[0].words()[2] == "not known"
    assert any("nothing is known of" in note for note in found.notes)
    assert found.to_dict()["estimates"][found.estimates.index(empty[0])]["value"] is None


def test_wrong_calls_are_named(grid, tmp_path):
    with pytest.raises(ArgumentError, match="reruns"):
        grid.uncertainty("mean age", reruns=1)
    with pytest.raises(ArgumentError, match="level"):
        grid.uncertainty("mean age", level=95)
    with pytest.raises(ArgumentError, match="no statistic"):
        grid.uncertainty([])
    with pytest.raises(ArgumentError, match="no statistic"):
        grid.uncertainty([7])
    with pytest.raises(BundleError):
        sfumato.uncertainty(tmp_path, "mean age")
    with pytest.raises(BundleError):
        sfumato.uncertainty(7, "mean age")


def test_an_exposure_is_refused(table):
    method = sfumato.ClusterGeometry.as_published(clusters=2, epsilon=1, columns=("sex", "age"))
    with pytest.raises(PlanError, match="no formal promise"):
        sfumato.release(table, method, ledger=False, seed=1).uncertainty("mean age")


def test_the_noise_is_that_of_the_tables_own_size(table):
    """A release of 50 or of 5,000 rows from 500: reruns see 500 rows, as the mechanism did."""
    few = sfumato.release(table, sfumato.Grid(("sex", "age"), epsilon=1), rows=50, ledger=False, seed=1)
    many = sfumato.release(table, sfumato.Grid(("sex", "age"), epsilon=1), rows=5000, ledger=False, seed=1)
    for release in (few, many):
        public = PublicRelease.of(release)
        assert public.mechanism().base.num_rows == pytest.approx(500, abs=60)
        assert public.mechanism().rerun(0).num_rows == release.tables[("synthetic",)].num_rows
        assert not public.notes
    unknown = replace(PublicRelease.of(few), public_rows=None)
    assert unknown.notes == (SIZE_CHOSEN,)


def test_people_with_several_rows_keep_their_wider_noise(rows):
    schema = replace(SCHEMA, person="city", rows_per_person=5)
    release = sfumato.release(sfumato.read(rows, schema), sfumato.MST(epsilon=3), ledger=False, seed=1)
    mechanism = PublicRelease.of(release).mechanism()
    assert mechanism.table.schema.rows_per_person == 5
    assert mechanism.plan.stages == release.plan.stages
    assert mechanism.table.marginals([("sex",)])[("sex",)].sum() == mechanism.base.num_rows


def test_released_counts_need_no_reruns(table):
    release = sfumato.release(table, sfumato.Histogram("sex", epsilon=1, delta=1e-9), ledger=False, seed=1)
    counts, shares = release.uncertainty("counts of sex"), release.uncertainty("share of sex = f")
    sigma = release.plan.stages[0].scale
    first = counts.estimates[0]
    assert counts.reruns == 0
    assert first.error == pytest.approx(sigma)
    assert first.high - first.value == pytest.approx(norm.ppf(0.975) * sigma)
    f, m = (each.value for each in counts.estimates)
    share = f / (f + m)
    error = sigma * np.sqrt((1 - share) ** 2 + share**2) / (f + m)  # of f / (f + m), to first order
    assert shares.estimates[0].error == pytest.approx(error)
    with pytest.raises(ArgumentError, match="counts of COLUMN"):
        release.uncertainty("mean age")
    with pytest.raises(ArgumentError, match="no released table"):
        release.uncertainty("counts of age")


def test_released_values_are_answered_with_where_their_noise_stands(table):
    method = sfumato.EntropyRelease("sex", epsilon=1, rows_at_least=100)
    with pytest.raises(PlanError, match="values and no rows"):
        sfumato.release(table, method, ledger=False, seed=1).uncertainty("mean age")
