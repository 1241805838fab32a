"""``sfumato risk attack``: verdict first, every attack beside its control, and nothing of it for the public."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from comparison.people import FACTS, people


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people(1, 200).to_csv("people.csv", index=False)
    people(2, 200).to_csv("held.csv", index=False)
    people(1, 200).to_csv("copy.csv", index=False)
    Path("people.toml").write_text(FACTS, encoding="utf-8")
    return tmp_path


COPY = (
    "risk",
    "attack",
    "copy.csv",
    "people.csv",
    "--schema",
    "people.toml",
    "--holdout",
    "held.csv",
    "--targets",
    "80",
)


def test_the_verdict_comes_first_and_the_page_is_for_its_owner_alone(files: Path, sfumato_cli) -> None:
    code, out, err = sfumato_cli(*COPY, "--out", "risk.html")
    words = " ".join(out.split())
    assert code == 0 and not err and words.startswith("╭─ people: gives its people away")
    for part in ("Singling out, one column", "works", "Row ", "measures overfitting", "for the custodian's eyes"):
        assert part in words
    page = files / "risk.html"
    assert page.stat().st_mode & 0o777 == 0o600
    text = page.read_text(encoding="utf-8")
    for part in ("gives its people away", "WP 216", "NIST SP 800-226", "Do not publish", "counted from 1"):
        assert part in text


def test_json_holds_every_attack_with_its_yardsticks(files: Path, sfumato_cli) -> None:
    code, out, _ = sfumato_cli(*COPY, "--secret", "owner", "--json")
    body = json.loads(out)
    assert code == 0 and body["grade"] == "gives its people away" and "custodian" in body["notice"]
    assert {each["criterion"] for each in body["attacks"]} == {
        "membership",
        "singling out",
        "linkability",
        "inference",
        "overfitting",
    }
    assert all(
        {"rate", "interval", "baseline", "control", "ceiling", "worst", "threat"} <= set(a) for a in body["attacks"]
    )


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        ("SchemaError", ("copy.csv", "people.csv")),
        ("BundleError", (".", "people.csv")),
        ("RiskError", ("copy.csv", "people.csv", "-s", "people.toml", "--secret", "height")),
        ("TableError", ("copy.csv", "people.csv", "-s", "people.toml", "--out", "page.txt")),
        ("RiskError", ("copy.csv", "people.csv", "-s", "people.toml", "--holdout", "copy.csv")),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    error: str, arguments: tuple[str, ...], files: Path, sfumato_cli
) -> None:
    code, _, err = sfumato_cli("risk", "attack", *arguments)
    assert code == 2 and error in err and "Next step" in err
