"""``sfumato compare --columns``: numbers of all copies of a bundle, or of one file, against the confidential table."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

import sfumato

SCHEMA = """
[table]
name = "t"
adjacency = "add-remove"
[columns.x]
kind = "number"
bounds = [0, 10]
bins = 5
"""


def test_copies_of_a_bundle_are_averaged(tmp_path, monkeypatch, sfumato_cli):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(5, 1, 300).clip(0, 10)})
    frame.to_csv("t.csv", index=False)
    (tmp_path / "t.toml").write_text(SCHEMA)
    method = sfumato.PseudoPosterior("x", "none", "normal", epsilon=5, copies=2, way="statistics")
    sfumato.release(sfumato.read(frame, "t.toml"), method, rows=300, ledger=False).save("bundle")
    code, out, err = sfumato_cli("compare", "bundle", "t.csv", "--columns", "all", "--json")
    found = json.loads(out)
    assert (code, err, found["values"]["x"]["copies"]) == (0, "", 2)
    assert 0 < found["values"]["x"]["ecdf_max"]["mean"] < 0.3
    code, out, _ = sfumato_cli("compare", "t.csv", "t.csv", "--schema", "t.toml", "--columns", "x")
    assert code == 0 and "1 copy" in out and "for the custodian" in out
    code, _, err = sfumato_cli("compare", "t.csv", "t.csv", "--schema", "t.toml", "--columns", "y")
    assert code == 2 and "'y' is no released column of numbers" in err and "Next step" in err
