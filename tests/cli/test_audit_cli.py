"""``sfumato risk audit``: a method, and a release by canaries; exit code 3 where a claim is refuted."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from sfumato.cli.main import app
from sfumato.cli.risk.audit import EXIT_REFUTED

SCHEMA = """
[table]
name = "people"
[columns.region]
kind = "category"
values = ["north", "east", "south"]
[columns.age]
kind = "integer"
bounds = [0, 99]
"""


@pytest.fixture
def schema(tmp_path) -> str:
    place = tmp_path / "people.toml"
    place.write_text(SCHEMA, encoding="utf-8")
    return str(place)


def run(*words: str):
    return CliRunner().invoke(app, ["risk", "audit", *words])


def test_a_method_is_audited_without_data(schema):
    asked = ("histogram", "--schema", schema, "--set", "column=region", "--epsilon", "1", "--runs", "20", "--seed", "1")
    for_people, for_machines = run(*asked), run(*asked, "--json")
    assert for_people.exit_code == 0
    assert "no private data was read" in for_people.output
    body = json.loads(for_machines.stdout)
    assert body["epsilon_low"] <= body["epsilon_claimed"] == 1
    assert body["refuted"] is False


def test_canaries_are_made_and_found_in_a_copy(schema, tmp_path):
    coins, rows = str(tmp_path / "coins.json"), str(tmp_path / "canaries.csv")
    made = run("--schema", schema, "--make-canaries", "60", "--canaries", coins, "--rows-out", rows, "--seed", "1")
    assert made.exit_code == 0
    found = run("--schema", schema, "--canaries", coins, "--released", rows, "--epsilon", "0.1")
    assert found.exit_code == EXIT_REFUTED
    assert "REFUTED" in found.output


def test_what_is_missing_is_said(schema):
    for words in (
        ("--schema", schema),
        ("--schema", schema, "--make-canaries", "20"),
        ("--schema", schema, "--canaries", "x"),
    ):
        assert isinstance(run(*words).exception, Exception)
