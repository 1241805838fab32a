"""The way of a statement: checked, recorded, then drawn; what it says of known truths; what it refuses."""

from __future__ import annotations

import dataclasses
import stat
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest

import sfumato
from quality.conftest import ROWS
from quality.small import facts, frame, related_facts, related_frame, subject, table
from sfumato.bundle.layout import statement_files
from sfumato.errors import (
    BudgetExceeded,
    BundleError,
    DraftSchemaError,
    KeptElsewhereError,
    ModelError,
    NoLedgerWarning,
    NoSpaceError,
    PlanError,
    SchemaError,
    TableError,
    WeakGuaranteeError,
)
from sfumato.evaluate.quality import run as way
from sfumato.evaluate.quality import statement as quality_statement
from sfumato.evaluate.quality.run import forecast_quality, measure, prepare_questions
from sfumato.evaluate.quality.statement import next_statement_path


def said(released, schema=None, **more):
    """Measure a frame as if it had been released, nearly without noise."""
    schema = schema or facts()
    one = prepare_questions(subject(released, schema), 20, **more)
    return measure(one, table(frame(ROWS, seed=1), schema), None)


def test_known_truths():
    """The table itself, another sample, shuffled columns, and noise: each distance is where it must be."""
    itself = said(frame(ROWS, seed=1))
    assert itself["tvd_1_q16"].high < 0.01 and itself["tvd_2_q16"].high < 0.01
    fresh = said(frame(ROWS, seed=2), target="sex")
    assert 0.3 < fresh["tvd_1_q16"].value / fresh["tvd_1_q16"].yardstick < 3
    assert fresh["prediction_accuracy"].low > fresh["guess"].high + 0.1, (
        "sex follows from size, and the model finds that"
    )
    shuffled = frame(ROWS, seed=1)
    shuffled["sex"] = np.random.default_rng(3).permutation(shuffled["sex"])
    apart = said(shuffled, target="sex")
    assert apart["tvd_1_q16"].high < 0.01 < 0.1 < apart["tvd_2_q16"].low
    assert apart["prediction_accuracy"].high < fresh["prediction_accuracy"].low


def test_columns_that_are_only_noise_are_told(private):
    wild = frame(ROWS, seed=4).assign(sex="f", city="c")
    found = said(wild, target="sex")
    assert found["tvd_1_q16"].low > 0.2
    assert found["prediction_accuracy"].value == pytest.approx(found["guess"].value, abs=0.05)


def test_a_number_is_predicted_by_its_error_and_missing_ones_are_left_out():
    found = said(frame(ROWS, seed=2), target="size")
    assert len(found.noisy[1]) == 5 and found["prediction_range_error"].value < 0.8 * found["guess"].value
    assert 0.2 < found["guess"].value < 0.3, "the mean distance of uniform numbers from their middle, of the range"
    assert found.noisy[1][4] == pytest.approx(1024 * frame(ROWS, seed=1)["size"].isna().sum(), rel=0.1)


def test_under_replace_the_number_of_rows_is_public():
    schema = facts("replace", ROWS)
    found = said(frame(ROWS, seed=2), schema)
    assert found.guarantee.adjacency == "replace" and found.guarantee.rows == ROWS
    assert found.events[0].parts[1].sensitivity == 2
    one = prepare_questions(subject(frame(ROWS)[["sex"]], facts("replace", ROWS)), 1)
    assert [part.stage for part in one.questions.parts] == ["records in the wrong place"]
    alone = measure(one, table(frame(ROWS, seed=1), schema), None)
    assert [each.name for each in alone.measures] == ["tvd_1_q16"] and alone.target is None


def test_one_column_is_measured_with_the_number_of_rows():
    found = said(frame(ROWS, seed=2)[["sex"]])
    assert [part.stage for part in found.events[0].parts] == ["records in the wrong place", "number of rows"]
    assert found["tvd_1_q16"].low <= abs(
        (frame(ROWS, seed=2).sex == "f").mean() - (frame(ROWS, seed=1).sex == "f").mean()
    )


def test_the_cost_is_recorded_before_a_row_is_counted(release, private, book, monkeypatch):
    seen: list[int] = []
    count = way.count

    def watched(*arguments):
        seen.append(len(book.history("people")))
        return count(*arguments)

    monkeypatch.setattr(way, "count", watched)
    found = sfumato.quality(release, private, 0.05, ledger=book)
    assert seen == [1] and Fraction(book.account("people").spent_epsilon) == Fraction(1, 20)
    event = book.history("people")[0].event
    assert event == found.events[0] and event.method == "quality" and book.verify().ok
    assert "recorded" not in found.guarantee.statement() and "epsilon = 5.05," in found.guarantee.headline()


def test_over_the_cap_nothing_is_spent_or_drawn(release, private, book, monkeypatch):
    monkeypatch.setattr(way, "count", lambda *_: pytest.fail("private rows were counted"))
    with pytest.raises(BudgetExceeded):
        sfumato.quality(release, private, 2, ledger=book)
    assert book.history("people") == ()


def test_a_failure_after_the_spend_is_told_to_the_ledger(release, private, book, monkeypatch):
    def broken(*_):
        raise TableError("the table went away")

    monkeypatch.setattr(way, "count", broken)
    with pytest.raises(TableError) as told:
        sfumato.quality(release, private, 0.05, ledger=book)
    assert "epsilon 0.05 is spent" in told.value.__notes__[0]
    assert next(iter(book.outcomes("people").values())).kind == "lost"


def test_what_is_wrong_is_refused_before_the_spend(release, private, book):
    counts = sfumato.release(private, sfumato.Histogram("sex", epsilon=1), ledger=False)
    wider = dataclasses.replace(facts()["size"], bounds=(0, 12))
    other = dataclasses.replace(facts(), columns=(wider, *facts().columns[1:]))
    bad = frame(ROWS).assign(sex="x")
    with pytest.raises(BundleError, match="holds counts, not rows"):
        sfumato.quality(counts, private, 0.05, ledger=book)
    with pytest.raises(SchemaError, match=r"size: bounds \(0.*12.*of the table"):
        sfumato.quality(release, table(frame(ROWS), other), 0.05, ledger=book)
    with pytest.raises(SchemaError, match="adjacency: 'replace' of the table"):
        sfumato.quality(release, table(frame(ROWS), facts("replace", ROWS)), 0.05, ledger=book)
    with pytest.raises(TableError, match="does not fit"):
        sfumato.quality(release, bad, 0.05, ledger=book)
    with pytest.raises(WeakGuaranteeError):
        sfumato.quality(release, private, 21, ledger=book)
    with pytest.raises(PlanError, match="cannot be predicted"):
        sfumato.quality(release, private, 0.05, ledger=book, target="height")
    draft = dataclasses.replace(release, schema=dataclasses.replace(release.schema, is_draft=True))
    with pytest.raises(DraftSchemaError):
        sfumato.quality(draft, private, 0.05, ledger=book)
    with pytest.raises(PlanError, match="no rows"):
        prepare_questions(subject(frame(0), facts()), 1)
    assert book.history("people") == ()


def test_correlations_that_the_release_weakened_can_be_bought():
    """The release has a relation of .3 where the table has .9: the statement tells both, and holds the truth."""
    schema, weak, strong = related_facts(), related_frame(1000, 0.3), related_frame(1000, 0.9, seed=1)
    one = prepare_questions(
        subject(weak, schema), 20, correlations=["x", "y", "z"], seed=5
    )  # intervals hold 95 times of 100
    assert sum(Fraction(p.sensitivity) / Fraction(p.scale) for p in one.questions.parts) <= 20
    found = measure(one, table(strong, schema), None)
    told = found["normal_score_correlation x~y"]
    assert told.yardstick == pytest.approx(0.3, abs=0.08) and told.low - 0.06 < 0.9 < told.high + 0.06
    assert abs(found["normal_score_correlation x~z"].value) < 0.15
    again = prepare_questions(subject(strong, schema), 20, correlations=["x", "y"], seed=5)
    same = measure(again, table(strong, schema), None)
    assert (
        same["normal_score_correlation x~y"].low
        <= same["normal_score_correlation x~y"].yardstick
        <= same["normal_score_correlation x~y"].high
    )
    with pytest.raises(PlanError, match="cannot be bought"):
        prepare_questions(subject(weak, schema), 1, correlations=["x"])


def test_without_a_ledger_it_warns(release, private):
    with pytest.warns(NoLedgerWarning):
        found = sfumato.quality(release, private, 0.05)
    assert "was not recorded" in found.statement()


def test_a_seeded_statement_repeats_and_is_stamped(release, private):
    one, other = (sfumato.quality(release, private, 0.05, ledger=False, seed=3) for _ in range(2))
    assert one.noisy == other.noisy and one.measures == other.measures
    assert one.words[0].startswith("NOT FOR RELEASE") and "NOT FOR RELEASE" in repr(one)
    assert sfumato.quality(release, private, 0.05, ledger=False).noisy != one.noisy


def test_it_is_saved_beside_the_release_and_nowhere_else(release, private, book, bundle, tmp_path):
    found = sfumato.quality(release, private, 0.05, ledger=book)
    before = {path: path.read_bytes() for path in bundle.iterdir()}
    path = found.save(bundle)
    assert path == bundle / "quality.json" and all(path.read_bytes() == text for path, text in before.items())
    assert next(iter(book.outcomes("people").values())).kind == "saved"
    with pytest.raises(BundleError, match="has a quality statement"):
        found.save(bundle)
    again = sfumato.quality(bundle, private, 0.05, ledger=book).save(bundle, again=True)
    assert again.name == "quality-2.json" and statement_files(bundle) == (path, again)
    assert Fraction(book.account("people").spent_epsilon) == Fraction(1, 10)
    for odd in ({"rows_sha256": "0" * 64}, {"release": "0" * 64}):
        with pytest.raises(BundleError, match="another release"):
            dataclasses.replace(found, **odd).save(bundle, again=True)
    with pytest.raises(BundleError, match="not a bundle"):
        found.save(tmp_path)


def test_a_statement_that_cannot_be_written_is_kept(release, private, book, bundle, tmp_path, monkeypatch):
    @contextmanager
    def full(target):
        raise ModelError("cannot write it: No space left on device")
        yield target

    monkeypatch.setattr(quality_statement, "atomic_file", full)
    with pytest.raises(KeptElsewhereError, match="No space left") as error:
        sfumato.quality(release, private, 0.05, ledger=book).save(bundle)
    assert stat.S_IMODE(error.value.folder.stat().st_mode) == 0o700
    assert (error.value.folder / "quality.json").is_file() and statement_files(bundle) == ()
    assert next(iter(book.outcomes("people").values())).kind == "saved"


def test_a_full_disk_is_refused_before_a_statement_is_paid_for(bundle, monkeypatch):
    monkeypatch.setattr(
        quality_statement, "refuse_full_disks", lambda needs: (_ for _ in ()).throw(NoSpaceError("full"))
    )
    with pytest.raises(NoSpaceError):
        next_statement_path(bundle)


def test_a_read_only_bundle_is_refused(bundle):
    bundle.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(BundleError, match="read-only"):
            next_statement_path(bundle)
    finally:
        bundle.chmod(stat.S_IRWXU)


def test_the_plan_tells_widths_and_balance(release, book):
    seen = forecast_quality(prepare_questions(release, 0.05), 10_000, book)
    halves = {each.name: each.half for each in seen.widths}
    assert halves["tvd_1_q16"] == pytest.approx(0.023, abs=0.002) and halves["prediction_accuracy"] == pytest.approx(
        0.02, abs=0.002
    )
    assert (seen.left_before, seen.left_after) == ("1", "0.95") and book.history("people") == ()
    assert [note.partition(" for ")[0] for note in seen.notes] == ["in total epsilon 5.05"]
    small = forecast_quality(prepare_questions(release, 0.05), 500)
    assert "next to untold" in small.notes[0] and small.rows == 500
