"""Rules that a draft proposes hold in all rows and not by chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Schema
from sfumato.schema.rules import format_literal, quote_column
from sfumato.table.drafting import propose_rules, row_sample
from sfumato.table.drafting.propose_rules import transitive_reduction


def related(rows: int = 1500) -> pd.DataFrame:
    """Return a table in which columns say something about each other."""
    rng = np.random.default_rng(3)
    age, status = rng.integers(0, 95, rows), rng.choice(["work", "home", "school"], rows)
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D")
    net, tax = rng.integers(100, 5000, rows), rng.integers(0, 2000, rows)
    score = rng.integers(1, 11, rows)
    return pd.DataFrame(
        {
            "age": age,
            "group": np.select([age < 18, age < 65], ["child", "adult"], "old"),
            "income": np.where(age < 15, np.nan, rng.integers(0, 90_000, rows)),
            "status": status,
            "hours": np.where(status == "work", rng.integers(1, 60, rows), np.nan),
            "start": start,
            "end": start + pd.to_timedelta(rng.integers(0, 400, rows), unit="D"),
            "net pay": net,
            "tax": tax,
            "gross": net + tax,
            "score": score,
            "letter": np.array(list("?ABCDEFGHIJ"))[score],
        }
    )


RULES = {
    "age determines group",
    "score determines letter",
    "letter determines score",
    'col("net pay") + tax == gross',
    "not missing(income) implies age >= 15",
    "missing(income) implies age < 15",
    'status in ["home", "school"] implies missing(hours)',
    'missing(hours) implies status in ["home", "school"]',
    "start <= end",
}


@pytest.mark.parametrize("form", ["frame", "csv", "polars"])
def test_a_draft_finds_the_rules_of_a_table_and_no_others(form: str, tmp_path: Path):
    frame = related()
    frame.to_csv(tmp_path / "t.csv", index=False)
    polars = pytest.importorskip("polars") if form == "polars" else None
    source = {"frame": frame, "csv": tmp_path / "t.csv"}.get(form) if polars is None else polars.from_pandas(frame)
    draft = Schema.draft(source)
    assert {rule.check for rule in draft.rules} == RULES
    assert all(rule.drafted and rule.map is None for rule in draft.rules)
    assert sfumato.read(source, draft).check() == ()
    assert Schema.parse(draft.to_toml()).rules == draft.rules


def test_a_rule_that_one_row_beyond_the_sample_breaks_is_not_proposed(monkeypatch: pytest.MonkeyPatch):
    frame = related()
    frame.loc[777, ["group", "income", "gross"]] = ["adult" if frame["age"][777] > 64 else "old", 5, 0]
    frame.loc[777, "age"] = 3
    frame.loc[777, "end"] = frame.loc[777, "start"] - pd.Timedelta(days=3)
    monkeypatch.setattr(row_sample, "_some_rows", lambda engine, values: values.limit(500))
    kept = {rule.check for rule in Schema.draft(frame).rules}
    assert kept <= RULES
    assert not kept & {"age determines group", 'col("net pay") + tax == gross', "start <= end"}
    assert not any("income" in check for check in kept)


def test_columns_that_know_nothing_of_each_other_get_no_rules(monkeypatch: pytest.MonkeyPatch):
    """Rare values agree by chance: here each of two columns has one value in two rows of 600, the same rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 9 + i, 600) for i in range(12)})
    frame["rare"] = np.where(np.arange(600) < 2, "x", "y")
    frame["code"] = np.where(np.arange(600) < 2, "p", rng.choice(list("qrstu"), 600))
    assert Schema.draft(frame).rules == ()
    monkeypatch.setattr(propose_rules, "MAX_LOG_CHANCE", 0.0)  # the mutant: chance is no objection
    assert [rule.check for rule in Schema.draft(frame).rules] == ["code determines rare"]


def test_values_that_hardly_repeat_determine_nothing():
    frame = pd.DataFrame({"a": np.arange(2000) % 900, "b": (np.arange(2000) % 900) % 3, "c": ["x", "y"] * 1000})
    assert not any("a determines" in rule.check for rule in Schema.draft(frame).rules)


def test_chains_say_nothing_twice():
    pairs = [("city", "state"), ("state", "land"), ("city", "land"), ("a", "b"), ("b", "a")]
    assert transitive_reduction(pairs) == [("city", "state"), ("state", "land"), ("a", "b"), ("b", "a")]


def test_names_and_values_are_written_as_rules_read_them():
    assert [quote_column(name) for name in ("age", "missing", "in", "a b", 'q"')] == [
        "age",
        'col("missing")',
        'col("in")',
        'col("a b")',
        'col("q\\"")',
    ]
    assert [format_literal(value) for value in (3, 2.5, "é")] == ["3", "2.5", '"é"']


def test_compas_keeps_its_texts_of_scores(shared_data: Path):
    path = shared_data / "compas_two_years.csv"
    if not path.exists():
        pytest.skip("compas_two_years.csv is not here")
    checks = [rule.check for rule in Schema.draft(path).rules]
    assert checks == [
        "age determines age_cat",
        "decile_score determines score_text",
        "v_decile_score determines v_score_text",
    ]


def test_american_incomes_are_kept_once_their_mark_is_named(shared_data: Path):
    path = shared_data / "acs_ma2019.csv"
    if not path.exists():
        pytest.skip("acs_ma2019.csv is not here")
    notes = Schema.draft(path).notes
    assert "left out: PINCP (1,120 texts are 'N' among numbers: --missing N)" in notes
    assert notes[-1].endswith("--missing N")
    draft = Schema.draft(path, missing="N")
    assert draft["PINCP"].kind == "integer"
    assert draft["PINCP"].missing and draft["INDP"].missing
    checks = [rule.check for rule in draft.rules]
    assert {"not missing(PINCP) implies AGEP >= 15", "missing(PINCP) implies AGEP < 15"} <= set(checks)


def test_a_threshold_that_explains_only_some_missing_values_is_said_once():
    frame = related()
    frame.loc[frame.index % 50 == 0, "income"] = np.nan
    assert [rule.check for rule in Schema.draft(frame).rules if "income" in rule.check] == [
        "age < 15 implies missing(income)"
    ]
