"""What ``sfumato utility clusters`` prints, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.cli.options import CUSTODIAN_NOTICE
from sfumato.errors import BundleError, PlanError, TableError
from sfumato.schema import Column, Schema

SCHEMA = Schema(
    name="points",
    columns=(
        Column("a", "number", bounds=(0.0, 10.0)),
        Column("b", "integer", bounds=(0, 10)),
        Column("k", "category", values=("x", "y")),
        Column("m", "number", bounds=(0.0, 1.0), missing=True),
    ),
)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("clusters")
    rng = np.random.default_rng(1)
    where = np.repeat([[2.0, 2.0], [8.0, 8.0]], 100, axis=0) + rng.normal(0, 0.5, (200, 2))
    frame = pd.DataFrame({"a": where[:, 0], "b": where[:, 1].round().astype(int), "k": "x", "m": 0.5})
    frame.to_csv(tmp_path / "table.csv", index=False)
    SCHEMA.save(tmp_path / "points.toml")
    method = sfumato.ClusterGeometry(2, epsilon=5, columns=["a", "b"], expected_rows=200)
    release = sfumato.release(sfumato.read(frame, SCHEMA), method, rows=300, ledger=False, seed=1)
    release.save(tmp_path / "bundle")
    counts = sfumato.release(sfumato.read(frame, SCHEMA), sfumato.Histogram("b", 1), ledger=False, seed=1)
    counts.save(tmp_path / "counts")
    return tmp_path


@pytest.fixture
def compare(places, sfumato_cli):
    def call(release: str, *options: str) -> tuple[int, str, str]:
        files = (str(places / release), str(places / "table.csv"), "--schema", str(places / "points.toml"))
        code, out, err = sfumato_cli(
            "utility", "clusters", *files, *(("-k", "2") if "-k" not in options else ()), *options
        )
        return code, " ".join(out.split()), " ".join(err.split())

    return call


def test_a_bundle_and_a_file_are_compared_with_the_table(compare):
    body = json.loads(compare("bundle", "--baselines", "1", "--json")[1])
    assert body["notice"] == CUSTODIAN_NOTICE and body["columns"] == ["a", "b"] and len(body["kept"]) == 5
    assert body["kept"][0]["transfer_ari"] == 1 and np.sum(body["confusion"]) == 200
    code, out, _ = compare("table.csv", "--same-order")
    assert (
        code == 0
        and "Aligned ARI, as defined in the paper: 1.000." in out
        and "the label is copied" in out
        and CUSTODIAN_NOTICE in out
    )
    assert "own 1" in out and "released 2" in out


@pytest.mark.parametrize(
    ("release", "options", "kind", "words"),
    [
        ("bundle", ("--columns", "a,k"), PlanError, "k is not a number or date"),
        ("bundle", ("--columns", "a,m"), PlanError, "m is not in the release"),
        ("table.csv", ("--columns", "m"), PlanError, "m may be missing"),
        ("counts", (), BundleError, "holds counts, not rows"),
        ("nothing.csv", (), TableError, "no file at"),
        ("bundle", ("-k", "150"), TableError, "200 rows for 150 clusters"),
    ],
)
def test_what_cannot_be_compared_is_refused(compare, release, options, kind, words):
    code, _, err = compare(release, *options)
    assert code == 2 and err.startswith(kind.__name__) and words in err
