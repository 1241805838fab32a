"""The risk page of a release: what it answers from the release, where it may stand, and that names cannot break it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import sfumato
from comparison.people import people, table
from sfumato import Schema
from sfumato.bundle.document import ReleaseDocument
from sfumato.errors import BundleError
from sfumato.report.attack_page import attack_page
from sfumato.report.privacy_criteria import hazard_points, pyramid_points
from sfumato.risk import attack_release
from sfumato.schema.column import Column

HOSTILE = "<script>alert(1)</script>"


def _release(ledger: object = False, seed: int | None = 1) -> sfumato.Release:
    return sfumato.release(table(1, 80), sfumato.Histogram("age", epsilon=1), ledger=ledger, seed=seed)


def _standing(release: sfumato.Release) -> dict[str, str]:
    document = ReleaseDocument.from_release(release)
    points = [
        *pyramid_points(document, release.schema, release.guarantee.curve),
        *hazard_points(document, release.schema),
    ]
    assert all(point.answer.endswith(".") for point in points)
    return {point.name: point.standing for point in points}


def test_pyramid_and_hazards_are_answered_from_what_the_release_knows(tmp_path: Path) -> None:
    ledger = sfumato.Ledger(tmp_path / "budget.db")
    ledger.open_table("people", epsilon="5", delta="1e-6")
    loose, kept = _standing(_release()), _standing(_release(ledger, None))
    assert len(loose) == len(kept) == 18
    changed = ("Further releases of the same table", "Noise that can be repeated", "Randomness and side channels")
    for name in changed:
        assert (loose[name], kept[name]) == ("hazard", "answered"), name
    assert all(loose[name] == kept[name] for name in loose if name not in changed)
    assert kept["Timing and other side channels"].startswith("open") and kept["Floating point"] == "answered"


def test_the_page_is_refused_inside_a_bundle_and_where_something_is(tmp_path: Path) -> None:
    release = _release()
    bundle = release.save(tmp_path / "bundle")
    found = attack_release(bundle, table(1, 80), people(7, 80), targets=40)
    with pytest.raises(BundleError, match="inside the bundle"):
        found.save(bundle / "risk.html")
    place = found.save(tmp_path / "risk.html")
    assert place.stat().st_mode & 0o777 == 0o600 and "Hits against false alarms" in place.read_text(encoding="utf-8")
    with pytest.raises(BundleError, match="exists"):
        found.save(place)


def test_hostile_names_do_not_break_the_page() -> None:
    schema = Schema("t", (Column(HOSTILE, "integer", bounds=(0, 9)), Column("b", "category", values=("u", HOSTILE))))
    rows = [pd.DataFrame({HOSTILE: [i * k % 10 for i in range(60)], "b": ["u", HOSTILE] * 30}) for k in (1, 3, 7)]
    page = attack_page(attack_release(rows[0], sfumato.read(rows[1], schema), rows[2], targets=40))
    assert HOSTILE not in page and "&lt;script&gt;" in page and "Nothing says how these rows were made" in page
