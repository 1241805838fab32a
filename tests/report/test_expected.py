"""How sure the main numbers are: in release.json, on the page, checked by verify, never at the price of a bundle."""

from __future__ import annotations

import json

import pytest

import sfumato
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import NoExpectedErrorsWarning
from sfumato.evaluate.uncertainty import main_numbers
from sfumato.evaluate.uncertainty.main_numbers import affordable_reruns, reruns_from_environment
from sfumato.example import codebook, households


@pytest.fixture(scope="module")
def release() -> sfumato.Release:
    table = sfumato.read(households(rows=400, seed=5), codebook())
    return sfumato.release(table, sfumato.Grid(("age", "education", "moved_in"), epsilon=1), ledger=False, seed=1)


def test_the_page_and_the_document_say_it_and_verify_checks_it(release, tmp_path):
    folder = release.save(tmp_path / "b", reruns=4)
    document = ReleaseDocument.from_json((folder / "release.json").read_text())
    numbers = {each.name: each for each in document.expected_errors.numbers}
    assert numbers["mean age"].value == pytest.approx(release.tables[("synthetic",)].to_pandas()["age"].mean())
    assert len([name for name in numbers if name.startswith("share of education")]) == 3
    page = (folder / "report.html").read_text()
    assert "How sure are these numbers?" in page and "was run 4 times" in page and " days</td>" in page
    check = verify_bundle(folder)
    assert check.ok and any("main numbers" in each for each in check.checks)


def test_a_number_that_the_rows_do_not_have_is_found(release, tmp_path):
    folder = release.save(tmp_path / "b", reruns=4)
    path = folder / "release.json"
    document = ReleaseDocument.from_json(path.read_text())
    first = document.expected_errors.numbers[0]
    wrong = first.model_copy(update={"value": first.value + 1, "high": first.high + 1})
    changed = document.expected_errors.model_copy(update={"numbers": (wrong, *document.expected_errors.numbers[1:])})
    path.write_text(document.model_copy(update={"expected_errors": changed}).sealed().to_json())
    assert any(first.name in problem for problem in verify_bundle(folder).problems)


def test_without_reruns_nothing_is_said(release, tmp_path):
    folder = release.save(tmp_path / "b")
    assert "expected_errors" not in json.loads((folder / "release.json").read_text())
    assert "How sure" not in (folder / "report.html").read_text()
    assert verify_bundle(folder).ok


def test_a_bundle_is_written_whatever_becomes_of_the_reruns(release, tmp_path, monkeypatch):
    def fails(error):
        def run(release, reruns):
            raise error

        return run

    monkeypatch.setattr(main_numbers, "main_statistics", fails(RuntimeError("no")))
    with pytest.warns(NoExpectedErrorsWarning, match="RuntimeError"):
        release.save(tmp_path / "failed", reruns=4)
    monkeypatch.setattr(main_numbers, "main_statistics", fails(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as stopped:
        release.save(tmp_path / "stopped", reruns=4)
    assert "is complete" in stopped.value.__notes__[0]
    assert verify_bundle(tmp_path / "failed").ok and verify_bundle(tmp_path / "stopped").ok


def test_reruns_fit_into_a_minute(release, monkeypatch):
    plan = release.plan.model_copy(update={"seconds": 10.0})
    assert [affordable_reruns(plan.model_copy(update={"seconds": s})) for s in (0.1, 10, 14, 16, None)] == [
        8,
        6,
        4,
        0,
        8,
    ]
    monkeypatch.delenv("SFUMATO_RERUNS", raising=False)
    assert reruns_from_environment() is None
    monkeypatch.setenv("SFUMATO_RERUNS", "5")
    assert reruns_from_environment() == 5
