"""The pseudo posterior on real mixed tables, by the command line alone."""

from __future__ import annotations

import pandas as pd
import pytest

PRINTED = "pseudo-posterior-as-published"


def words(*settings: str) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


@pytest.mark.parametrize("name", ["insurance", "german_credit"])
def test_real_tables_as_published_end_to_end(name, shared_data, sfumato_cli, tmp_path):
    data, schema, out = str(shared_data / f"{name}.csv"), str(tmp_path / "schema.toml"), str(tmp_path / "out")
    assert sfumato_cli("schema", "draft", data, "--out", schema)[0] == 0
    columns = ",".join(pd.read_csv(data).columns)
    given = words(f"target={columns}", "predictors=none", "family=auto", "standard=weighted", "draws=100")
    code, shown, error = sfumato_cli("release", data, "-s", schema, "-o", out, "-m", PRINTED, "--no-ledger", *given)
    assert code == 0, error
    assert "not differential" in shown
    assert "asymptotic, local, draw-based; not differential privacy" in (tmp_path / "out" / "report.html").read_text()
    assert sfumato_cli("verify", out)[0] == 0


@pytest.mark.parametrize("method", ["pseudo-posterior", PRINTED])
def test_a_wrong_family_is_named(method, shared_data, sfumato_cli, tmp_path):
    data, schema = str(shared_data / "insurance.csv"), str(tmp_path / "schema.toml")
    sfumato_cli("schema", "draft", data, "--out", schema)
    how = ["--set", "standard=weighted"] if method == PRINTED else ["--epsilon", "1"]
    given = words("target=charges", "predictors=age", "family=cauchy")
    code, _, error = sfumato_cli("release", data, "-s", schema, "-o", "x", "-m", method, "--no-ledger", *given, *how)
    assert code == 2
    assert "cauchy" in error


SCHEMA = """
[table]
name = "incomes"
adjacency = "add-remove"
[columns.z]
kind = "number"
bounds = [0, 4]
bins = 4
[columns.x]
kind = "number"
bounds = [0.1, 400]
bins = 8
"""


@pytest.fixture
def incomes(tmp_path) -> tuple[str, str]:
    data, schema = tmp_path / "incomes.csv", tmp_path / "incomes.toml"
    pd.DataFrame({"z": [i % 40 / 10 for i in range(200)], "x": [1.0 + i % 37 for i in range(200)]}).to_csv(
        data, index=False
    )
    schema.write_text(SCHEMA)
    return str(data), str(schema)


def test_the_budget_is_called_epsilon_as_everywhere(incomes, sfumato_cli, tmp_path):
    (data, schema), out = incomes, tmp_path / "out"
    given = ["-m", "pseudo-posterior", *words("target=x", "predictors=z", "family=lognormal"), "--rows", "50"]
    code, shown, error = sfumato_cli(
        "release", data, "-s", schema, "-o", str(out), "--no-ledger", "--epsilon", "1", *given
    )
    assert code == 0, error
    assert "epsilon = 1" in shown
    assert sfumato_cli("verify", str(out))[0] == 0
    code, _, error = sfumato_cli("release", data, "-s", schema, "-o", str(tmp_path / "no"), "--no-ledger", *given)
    assert (code, "add --epsilon 1" in error) == (2, True)


def test_calibrate_moves_epsilon_without_being_told(incomes, sfumato_cli, tmp_path):
    (data, schema), out = incomes, str(tmp_path / "calibration")
    given = ["-m", "pseudo-posterior", *words("target=x", "predictors=z", "family=lognormal", "way=statistics")]
    code, shown, error = sfumato_cli(
        "calibrate",
        data,
        "-s",
        schema,
        *given,
        "--target",
        "tvd_1_bins <= 0.9",
        "--repeats",
        "2",
        "--seed",
        "1",
        "-o",
        out,
    )
    assert code == 0, error
    assert "epsilon" in shown
