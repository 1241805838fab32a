"""``sfumato compare``: verdict first, measures beside their yardstick, and nothing of it for the public."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from comparison.people import FACTS, people, shuffled


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    people(1, 300).to_csv("people.csv", index=False)
    people(2, 300).to_csv("held.csv", index=False)
    shuffled(people(1, 300), 3).to_csv("made.csv", index=False)
    Path("people.toml").write_text(FACTS, encoding="utf-8")
    return tmp_path


MADE = ("compare", "made.csv", "people.csv", "--schema", "people.toml", "--target", "owner")


def test_the_verdict_comes_first_and_says_what_the_rows_are_good_for(files: Path, sfumato_cli) -> None:
    code, out, err = sfumato_cli(*MADE, "--holdout", "held.csv", "--seed", "1")
    words = " ".join(out.split())
    assert code == 0 and not err
    assert words.startswith("╭─ people: usable in part")
    for part in (
        "not usable",
        "tvd_2_q16: pairs of columns",
        "second real sample",
        "Largest differences, pairs",
        "this many real rows",
    ):
        assert part in words
    assert "for the custodian's eyes" in words and sorted(path.suffix for path in files.iterdir()).count(".html") == 0


def test_json_holds_every_measure_with_its_yardstick(files: Path, sfumato_cli) -> None:
    code, out, _ = sfumato_cli(*MADE, "--json")
    body = json.loads(out)
    assert code == 0 and body["grade"] == "usable in part" and "custodian" in body["notice"]
    assert body["rows"] == body["synthetic_rows"] == 300 and body["holdout_rows"] is None
    assert body["measures"]["tvd_1_q16"]["value"] == 0 < body["measures"]["tvd_1_q16"]["yardstick"]
    assert list(body["predictions"]) == ["owner"] and body["equivalent_rows"]["single"] is None
    assert len(body["columns"]) == 5


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        ("SchemaError", ("made.csv", "people.csv")),
        ("BundleError", (".", "people.csv")),
        ("PlanError", ("made.csv", "people.csv", "-s", "people.toml", "--target", "height")),
        ("TableError", ("made.csv", "people.csv", "-s", "people.toml", "--out", "page.txt")),
        ("BundleError", ("made.csv", "people.csv", "-s", "people.toml", "--out", "there/page.html")),
        ("TableError", ("made.csv", "nothing.csv", "-s", "people.toml")),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    error: str, arguments: tuple[str, ...], files: Path, sfumato_cli
) -> None:
    code, _, err = sfumato_cli("compare", *arguments)
    assert code == 2 and error in err and "Next step" in err
