"""Columns may bear any name, also one that a function of Python or of an engine has for its own argument."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import MST, Histogram, Schema

NAMES = ("self", "cls", "table", "name", "axis", "kwargs", "count", "index")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    generator = np.random.default_rng(1)
    frame = pd.DataFrame({name: generator.choice(["a", "b"], 300) for name in NAMES})
    frame["self"] = generator.integers(0, 50, 300)
    place = tmp_path_factory.mktemp("names") / "names.csv"
    frame.to_csv(place, index=False)
    return place


@pytest.fixture(scope="module")
def schema(path) -> Schema:
    return Schema.draft(path).confirm(accept_unchanged=True, person=False)


def test_they_are_drafted_released_compared_and_copied(path, schema, tmp_path):
    assert schema.names == NAMES
    table = sfumato.read(path, schema)
    release = sfumato.release(table, MST(epsilon=5), ledger=False, seed=1)
    assert tuple(release.data.columns) == NAMES
    assert sfumato.compare(release, table).measures["tvd_1_q16"].value < 0.2
    release.save(tmp_path / "bundle", also=["sav"])
    assert sfumato.bundle.verify_bundle(tmp_path / "bundle").ok
    assert sfumato.release(table, Histogram("self", epsilon=1), ledger=False, seed=1).data is not None


def test_their_facts_are_bought(path):
    bought = sfumato.buy_schema(path, epsilon=20, delta="1e-6", ledger=False, seed=1)
    assert "self" in bought.names and "cls" in bought.names
