"""A release of some of a table's columns works with every measure, however it is handed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.evaluate.calibrate.trial import Trial
from sfumato.evaluate.column_copies import compare_copies
from sfumato.metrics.catalogue import metric
from sfumato.metrics.evaluation_input import open_evaluation_input
from sfumato.papers.two_stage.train_synthetic_test_real import train_and_test
from sfumato.risk.interval_disclosure import location_risk

FACTS = """
[table]
name = "people"
[columns.age]
kind = "integer"
bounds = [18, 90]
[columns.income]
kind = "number"
bounds = [0, 200]
[columns.region]
kind = "category"
values = ["north", "south", "west"]
"""


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    age = rng.integers(18, 91, 300)
    frame = {"age": age, "income": (2.0 * age + rng.normal(0, 9, 300)).clip(0, 200)}
    frame = pd.DataFrame(frame).assign(region=rng.choice(["north", "south", "west"], 300))
    return sfumato.read(frame, sfumato.Schema.parse(FACTS))


@pytest.fixture(scope="module")
def release(table):
    return sfumato.release(table, sfumato.Grid(columns=["age", "income"], epsilon=8), ledger=False, seed=1)


@pytest.fixture(scope="module")
def handed(release, tmp_path_factory) -> dict[str, Any]:
    """The release, its bundle, and its rows as a file and as a frame."""
    folder = tmp_path_factory.mktemp("some")
    release.save(folder / "bundle")
    frame = release.tables["synthetic",].to_pandas()
    frame.to_csv(folder / "rows.csv", index=False)
    return {"release": release, "bundle": folder / "bundle", "file": str(folder / "rows.csv"), "frame": frame}


FORMS = ("release", "bundle", "file", "frame")


@pytest.mark.parametrize("form", FORMS)
def test_every_measure_takes_it(table, handed, form: str):
    released = handed[form]
    assert {column.name for column in sfumato.compare(released, table).columns} == {"age", "income"}
    trained = train_and_test(table, released, table.schema, "income", models=("forest",), seed=1)
    assert trained.inputs == ("age",) and trained.models[0].released.error < trained.guess.error
    assert list(compare_copies(table, released, table.schema)) == ["age", "income"]
    rows = open_evaluation_input(released).require_rows().rows_for(table.schema)
    assert location_risk(table, rows, table.schema, ["age", "income"], 0.1).released.any_value <= 1


@pytest.mark.parametrize("form", ("release", "bundle"))
def test_what_is_paid_for_takes_it(table, handed, form: str):
    found = sfumato.quality(handed[form], table, 1, ledger=False, seed=1)
    assert [each.name for each in found.measures][:2] == ["tvd_1_q16", "tvd_2_q16"]


def test_a_target_of_calibrate_takes_it(table, release):
    trial = Trial(table, release.method, 0, released=release.tables)
    assert all(0 < metric(name).measure(trial) < 1 for name in ("tvd_2_q16", "tvd_2_bins", "ecdf_max_bins"))


@pytest.mark.parametrize("form", FORMS)
def test_what_was_not_released_is_named(table, handed, form: str, tmp_path: Path):
    with pytest.raises(sfumato.errors.RiskError, match="cannot be predicted") as refused:
        train_and_test(table, handed[form], table.schema, "region")
    assert refused.value.problems == ("region is not in the release",)
