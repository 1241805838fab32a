"""Verify looks at statements: honest ones pass and are told in a line, every tampering is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.bundle.ledger_record import LAYOUT
from sfumato.bundle.quality_statement import QualityStatement
from sfumato.bundle.read import open_bundle
from sfumato.bundle.verify import verify_bundle
from sfumato.bundle.verify_generated import statement_problems, wording_problems
from sfumato.evaluate.quality.statement import measure_problems


@pytest.fixture
def stated(bundle, private) -> Path:
    return sfumato.quality(bundle, private, 0.05, ledger=False).save(bundle)


def forge(path: Path, change: Any) -> list[str]:
    """Change a statement, seal it again, and return what the check of statements finds."""
    body = json.loads(path.read_text())
    change(body)
    path.write_text(LAYOUT.text(LAYOUT.sealed(body)))
    opened = open_bundle(path.parent)
    statement = QualityStatement.from_json(path.read_text())
    measures = measure_problems(statement, opened.document, opened.schema, opened.rows)
    words = wording_problems(path.name, statement)
    return [*statement_problems(path, opened.document, opened.schema), *words, *measures]


def test_a_bundle_without_a_statement_stays_valid(bundle):
    assert verify_bundle(bundle).ok


def test_a_statement_is_verified_and_told(bundle, stated):
    result = verify_bundle(bundle)
    assert result.ok and result.verdict == "verified", result.problems
    assert any(note.startswith("quality.json states, at epsilon 0.05 (together with") for note in result.notes)
    assert any(check.startswith("quality.json is about this release") for check in result.checks)
    again = QualityStatement.from_json(stated.read_text())
    assert again.to_json() == stated.read_text()


def test_a_statement_with_correlations_is_verified(bundle, private):
    numbers = sfumato.quality(bundle, private, 1, ledger=False, correlations=["size", "city"])
    numbers.save(bundle)
    assert verify_bundle(bundle).ok


def test_a_slip_of_the_pen_breaks_the_seal(stated):
    stated.write_text(stated.read_text().replace('"table": "people"', '"table": "person"'))
    assert any("seal does not hold" in problem for problem in verify_bundle(stated.parent).problems)
    stated.write_text("{}")
    assert any("quality.json" in problem for problem in verify_bundle(stated.parent).problems)


def another(body: Any) -> None:
    body["measures"][0]["value"] += 0.05


def narrower(body: Any) -> None:
    body["measures"][1]["high"] = body["measures"][1]["value"]


def other_numbers(body: Any) -> None:
    body["noisy"][0][0] += 5000


def cheaper(body: Any) -> None:
    body["guarantee"]["epsilon"] = "0.01"


def cheaper_event(body: Any) -> None:
    body["guarantee"]["epsilon"] = body["events"][0]["epsilon"] = "0.01"


def less_noise(body: Any) -> None:
    body["events"][0]["parts"][0]["scale"] /= 2


def other_release(body: Any) -> None:
    body["about"]["seal"] = "0" * 64


def other_rows(body: Any) -> None:
    body["about"]["rows_sha256"] = "0" * 64


def praise(body: Any) -> None:
    body["words"][0] = "This release is as good as the table."


def promise(body: Any) -> None:
    body["statement"] = "Perfectly private."


def silence(body: Any) -> None:
    body["guarantee"]["assumptions"] = []


def secure(body: Any) -> None:
    body["randomness"] = {"mode": "seeded", "seed": 3, "stamp": None}


@pytest.mark.parametrize(
    "change, found",
    [
        (another, "tvd_1_q16 does not follow"),
        (narrower, "tvd_2_q16 does not follow"),
        (other_numbers, "does not follow"),
        (cheaper, "its guarantee is not that of the release"),
        (cheaper_event, "too small for its epsilon"),
        (less_noise, "too small for its epsilon"),
        (other_release, "about another release"),
        (other_rows, "about other rows"),
        (praise, "its words are not"),
        (promise, "its statement in plain words"),
        (silence, "together: see assumptions"),
        (secure, "the stamp and the mode of randomness"),
    ],
)
def test_a_forged_statement_is_found_although_it_is_sealed_again(tmp_path, change, found, forgeable):
    path = tmp_path / "bundle" / "quality.json"
    forgeable(path.parent)
    problems = forge(path, change)
    assert any(found in problem for problem in problems), problems


def test_nothing_hides_in_a_statement(stated):
    with pytest.raises(ValueError, match="true_rows"):
        forge(stated, lambda body: body.update(true_rows=400))
    problems = verify_bundle(stated.parent).problems
    assert any("true_rows" in problem for problem in problems)


@pytest.fixture(scope="module")
def forgeable(saved, private, tmp_path_factory):
    """Return a function that copies a bundle with a statement: measured once for all forgeries.

    At epsilon 5 the noise is small beside 400 rows, so no share lies at an end where a forged sum would change nothing.
    """
    import shutil

    first = tmp_path_factory.mktemp("first") / "bundle"
    shutil.copytree(saved, first)
    sfumato.quality(first, private, 5, ledger=False).save(first)
    return lambda place: shutil.copytree(first, place)


def test_a_statement_of_another_bundle_is_found(bundle, stated):
    document = bundle / "release.json"
    text = document.read_text()
    document.write_text(text.replace('"created_at": "2', '"created_at": "1', 1))
    assert any("about another release" in problem for problem in verify_bundle(bundle).problems)


def test_other_files_are_still_not_listed(bundle):
    for name in ("quality.txt", "quality-0.json", "my-quality.json"):
        (bundle / name).write_text("{}")
    assert sum("is not listed" in problem for problem in verify_bundle(bundle).problems) == 3


def test_the_ledger_holds_the_statement(bundle, private, book):
    found = sfumato.quality(bundle, private, 0.05, ledger=book)
    path = found.save(bundle)
    told = [problem for problem in verify_bundle(bundle, book).problems if "quality" in problem]
    assert told == []

    def another_entry(body: Any) -> None:
        body["recorded"]["entries"][0]["hash"] = body["recorded"]["head"] = "0" * 64

    problems = forge(path, another_entry)
    assert problems == []
    told = [problem for problem in verify_bundle(bundle, book).problems if "quality" in problem]
    assert told[0] == "entry 2 of the ledger is not the one that quality.json names"
    assert "the ledger knows another quality.json" in told[1] and len(told) == 2


def test_a_seeded_statement_is_not_for_release(bundle, private):
    sfumato.quality(bundle, private, 0.05, ledger=False, seed=1).save(bundle)
    result = verify_bundle(bundle)
    assert result.ok and result.verdict == "verified, but NOT FOR RELEASE (seed 1)"
