"""The impact assessment: filled in from what a release knows, in its own words, and blank where only people know."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pandas as pd
import pytest

import sfumato
from report.reading import words_of
from sfumato import Contingency, Histogram, Ledger, Schema
from sfumato.bundle.document import ReleaseDocument
from sfumato.errors import BundleError
from sfumato.report.impact_assessment import DOTS, dotted_lines
from sfumato.report.page import escape_markdown
from sfumato.report.privacy_criteria import hazard_points
from sfumato.report.texts import Texts
from sfumato.report.texts.guarantee import three_sentences

GUARANTEE = Texts("guarantee")
TRUE_ROWS = 1237
"""A number that nothing else here is likely to have: it must not show."""
ROWS = pd.DataFrame(
    {
        "patient": [f"p{i // 2}" for i in range(TRUE_ROWS)],
        "sex": ["f", "m", "f"] * 412 + ["m"],
        "age": [20 + i % 60 for i in range(TRUE_ROWS)],
    }
)
BY_PERSON = """
[table]
name = "visits <b> | x"
description = "Visits to made-up clinics."
contact = "Data desk"
person = "patient"
rows_per_person = 2
[columns.patient]
kind = "category"
role = "identifier"
[columns.sex]
kind = "category"
values = ["f", "m"]
role = "quasi-identifier"
[columns.age]
kind = "integer"
bounds = [0, 110]
role = "sensitive"
"""
PLAIN = BY_PERSON.replace('person = "patient"\nrows_per_person = 2\n', "")
ALL_BLANKS = [line for group in Texts("impact_assessment").table("blanks") for line in dotted_lines(group)]


def saved(folder: Path, method, schema: str = BY_PERSON, ledger=False, seed: int | None = None) -> ReleaseDocument:
    made = sfumato.release(sfumato.read(ROWS, Schema.parse(schema)), method, ledger=ledger, seed=seed)
    made.save(folder)
    return ReleaseDocument.from_json((folder / "release.json").read_text())


def require_blanks(text: str) -> None:
    """Every blank stands there as it was made, and every run of dots belongs to one of them or to a table cell."""
    for blank in ALL_BLANKS:
        assert escape_markdown(blank) in text
    cells = len(re.findall(rf"\| {re.escape(DOTS)} \|", text))
    assert text.count(DOTS) == len(ALL_BLANKS) + cells and cells >= 3
    assert "1237" not in text and "1,237" not in text


def test_a_formal_release_fills_in_what_it_knows(tmp_path):
    document = saved(tmp_path / "b", Histogram("age", epsilon="0.5"))
    found = sfumato.dpia(tmp_path / "b")
    text = found.to_markdown()
    require_blanks(text)
    assert tuple(blank.partition(":")[0] for blank in ALL_BLANKS) == found.blanks
    for line in document.guarantee.statement().splitlines():
        assert f"- {escape_markdown(line)}" in text
    for sentence in (GUARANTEE("groups"), *three_sentences(document), "Visits to made-up clinics.", "Data desk"):
        assert escape_markdown(sentence) in text
    assert "Persons are told apart by patient; at most 2 rows of each were used." in text
    assert "never released: patient." in text and "not released: patient and sex" in text
    assert "was not recorded" in text and "No ledger was given to this form" in text
    assert "verify: verified." in text and document.fingerprint in text


def test_numbers_are_those_of_the_curve_rounded_up(tmp_path):
    document = saved(tmp_path / "b", Histogram("age", epsilon=1))
    text, curve = sfumato.dpia(tmp_path / "b").to_markdown(), document.guarantee.curve
    [advantage] = re.findall(r"attacker's advantage \(hits less false alarms\), at most \| ([\d.]+) \|", text)
    assert curve.advantage <= float(advantage) < curve.advantage + 0.001
    [tenth] = re.findall(r"where 10 are right without the data, at most \| (\d+) \|", text)
    assert 100 * curve.success(0.1) <= int(tenth) < 100 * curve.success(0.1) + 1


def test_several_tables_and_a_ledger_with_other_releases(tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    schema = Schema.parse(PLAIN)
    ledger.open_table(schema.name, epsilon=3, delta="1e-6", adjacency="add-remove")
    method = Contingency([["sex"], ["age", "sex"]], epsilon=1)
    saved(tmp_path / "b", method, PLAIN, ledger)
    alone = sfumato.dpia(tmp_path / "b", ledger).to_markdown()
    assert "all releases" not in alone
    ledger.spend(schema.name, epsilon=1, note="a secret note")
    text = sfumato.dpia(tmp_path / "b", tmp_path / "l.db").to_markdown()
    require_blanks(text)
    assert "of 2 tables" in text and "| all releases |" in text and "secret note" not in text
    assert "spent 2; left epsilon 1" in text and "no bundle known" in text and "bundle saved" in text


def test_an_exposure_says_that_nothing_is_proved(tmp_path):
    rows = pd.DataFrame({"x": [i % 7 for i in range(60)], "y": [i % 5 for i in range(60)]})
    schema = Schema.draft(rows, name="t").confirm(accept_unchanged=True, by="Ada")
    method = sfumato.ClusterGeometry.as_published(2, epsilon=1, columns=["x", "y"])
    sfumato.release(sfumato.read(rows, schema), method, ledger=False).save(tmp_path / "b")
    text = sfumato.dpia(tmp_path / "b").to_markdown()
    require_blanks(text)
    assert "No formal guarantee" in text and "There is no curve" in text and GUARANTEE("unproved") in text
    assert "strong promise" not in text and "Strong protection" not in text and "at most 73" not in text
    assert "What is protected: nothing provably" in text and "| proved |" not in text


def test_a_seeded_run_is_stamped_everywhere(tmp_path):
    saved(tmp_path / "b", Histogram("age", epsilon=1), PLAIN, seed=7)
    found = sfumato.dpia(tmp_path / "b")
    for text in (found.to_markdown(), words_of(found.to_html())):
        assert (
            "NOT FOR RELEASE" in text
            and GUARANTEE("known_seed") in text
            and GUARANTEE("otherwise") in text
            and GUARANTEE("spoken.seeded") in text
        )
        assert "against its owner none holds" in text and "Not for whoever knows the seed" in text
    assert "stays hidden within these odds; " not in found.to_markdown()


def test_facts_from_the_rows_are_named_in_the_three_sentences(tmp_path):
    drafted = Schema.draft(ROWS[["sex", "age"]], name="t").confirm(accept_unchanged=True, by="Ada")
    made = sfumato.release(sfumato.read(ROWS[["sex", "age"]], drafted), Histogram("sex", epsilon=1), ledger=False)
    made.save(tmp_path / "b")
    document = ReleaseDocument.from_json((tmp_path / "b" / "release.json").read_text())
    assert GUARANTEE("taken")[1:-1] in three_sentences(document)[2]
    text = sfumato.dpia(tmp_path / "b").to_markdown()
    assert "Ada confirmed the schema" in text and "taken from the private rows" in text
    assert all(escape_markdown(point.answer) in text for point in hazard_points(document, drafted))


@pytest.mark.parametrize(("epsilon", "words"), [(1, "strong promise"), (4, "moderate"), (7, "weak promise")])
def test_the_three_sentences_follow_the_numbers(tmp_path, epsilon, words):
    document = saved(tmp_path / "b", Histogram("age", epsilon=epsilon))
    what, promised, left_out = three_sentences(document)
    assert (
        what.endswith("noisy counts of all 111 cells of 1 table.")
        and words in promised
        and left_out == GUARANTEE("groups")
    )
    assert "only the rows of one person could tell" in promised
    assert all(sentence.endswith(".") and ". " not in sentence for sentence in (what, promised, left_out))


def test_it_is_saved_for_its_owner_and_never_into_a_bundle(tmp_path):
    saved(tmp_path / "b", Histogram("age", epsilon=1))
    found = sfumato.dpia(tmp_path / "b")
    page = found.save(tmp_path / "d.html")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "<b>" not in page.read_text().partition("<main")[2].replace("&lt;b&gt;", "")
    assert found.save(tmp_path / "d.md").read_text() == found.to_markdown()
    for place, words in (("d.md", "exists already"), ("b/d.md", "no part of the release"), ("d.txt", "ends in .md")):
        with pytest.raises(BundleError, match=words):
            found.save(tmp_path / place)
    assert repr(found).startswith("ImpactAssessment(Impact assessment: visits") and "blanks" in repr(found)


def test_a_bundle_that_does_not_verify_is_not_assessed(tmp_path):
    saved(tmp_path / "b", Histogram("age", epsilon=1))
    with pytest.raises(BundleError, match="there is no ledger"):
        sfumato.dpia(tmp_path / "b", tmp_path / "no.db")
    (tmp_path / "b" / "data.csv").write_text("age,count\n")
    with pytest.raises(BundleError, match="does not verify"):
        sfumato.dpia(tmp_path / "b")
    with pytest.raises(BundleError, match="does not exist"):
        sfumato.dpia(tmp_path / "nothing")
