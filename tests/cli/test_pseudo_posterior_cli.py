"""The pseudo posterior on real mixed tables, by the command line alone."""

from __future__ import annotations

import pandas as pd
import pytest


@pytest.mark.parametrize("name", ["insurance", "german_credit"])
def test_real_tables_end_to_end(name, shared_data, sfumato_cli, tmp_path):
    data, schema, out = str(shared_data / f"{name}.csv"), str(tmp_path / "schema.toml"), str(tmp_path / "out")
    assert sfumato_cli("schema", "draft", data, "--out", schema)[0] == 0
    columns = ",".join(pd.read_csv(data).columns)
    settings = (f"target={columns}", "predictors=none", "family=auto", "standard=weighted", "draws=100")
    given = [part for setting in settings for part in ("--set", setting)]
    code, shown, error = sfumato_cli(
        "release", data, "-s", schema, "-o", out, "-m", "pseudo-posterior", "--no-ledger", *given
    )
    assert code == 0, error
    assert "not differential" in shown
    assert "asymptotic, local, draw-based; not differential privacy" in (tmp_path / "out" / "report.html").read_text()
    assert sfumato_cli("verify", out)[0] == 0


def test_a_wrong_family_is_named(shared_data, sfumato_cli, tmp_path):
    data, schema = str(shared_data / "insurance.csv"), str(tmp_path / "schema.toml")
    sfumato_cli("schema", "draft", data, "--out", schema)
    settings = ("target=charges", "predictors=age", "family=cauchy", "standard=weighted")
    given = [part for setting in settings for part in ("--set", setting)]
    code, _, error = sfumato_cli(
        "release", data, "-s", schema, "-o", "x", "-m", "pseudo-posterior", "--no-ledger", *given
    )
    assert code == 2
    assert "cauchy" in error
