"""Rows in the formats of SPSS, Stata and others: at the release, or from the bundle later."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

import sfumato
from sfumato import Column, Histogram, Marginals, Schema
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import file_record
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import BundleError, MissingExtra, ModelError, SfumatoError, TableError
from sfumato.table.writing import formats

FACTS = Schema(
    "people",
    (
        Column("age", "integer", bounds=(0, 99), description="age in years"),
        Column("sex", "category", values=(1, 2), value_labels={1: "male", 2: "female"}),
        Column("born", "date", bounds=(pd.Timestamp("1950-01-01").date(), pd.Timestamp("2000-12-31").date())),
        Column("full", "boolean", missing=True),
    ),
)


def rows() -> pd.DataFrame:
    days = [pd.Timestamp("1970-05-17").date(), pd.Timestamp("1999-12-31").date()]
    return pd.DataFrame({"age": [30, 50] * 30, "sex": [1, 2] * 30, "born": days * 30, "full": [True, None] * 30})


@pytest.fixture(scope="module")
def made():
    return sfumato.release(sfumato.read(rows(), FACTS), Marginals(5.0), rows=40, ledger=False, seed=4)


@pytest.fixture(scope="module")
def bundle(made, tmp_path_factory):
    pytest.importorskip("pyreadstat", reason="needs the extra formats")
    pytest.importorskip("xlsxwriter", reason="needs the extra formats")
    return made.save(tmp_path_factory.mktemp("also") / "bundle", also=["sav", ".dta", "xlsx", "jsonl", "sqlite"])


def test_a_release_is_saved_in_all_formats_that_were_asked_for_and_verify_reads_them(bundle):
    names = {path.name for path in bundle.iterdir()}
    assert {"data.sav", "data.dta", "data.xlsx", "data.jsonl", "data.sqlite"} < names
    check = verify_bundle(bundle)
    assert check.ok, check.problems
    assert "the data for SPSS" in (bundle / "README.md").read_text()


def test_labels_go_with_the_rows(bundle):
    import pyreadstat

    for read, name in ((pyreadstat.read_sav, "data.sav"), (pyreadstat.read_dta, "data.dta")):
        frame, meta = read(str(bundle / name))
        assert len(frame) == 40
        assert meta.column_names_to_labels["age"] == "age in years"
        assert meta.variable_value_labels["sex"] == {1: "male", 2: "female"}


def test_a_copy_that_was_changed_is_found(bundle, tmp_path):
    import pyreadstat

    forged = shutil.copytree(bundle, tmp_path / "forged")
    frame, _ = pyreadstat.read_sav(str(forged / "data.sav"))
    pyreadstat.write_sav(frame.assign(age=7.0), str(forged / "data.sav"))
    document = ReleaseDocument.from_json((forged / "release.json").read_text())
    files = {path: file_record(forged / path) for path in document.files}
    (forged / "release.json").write_text(document.with_files(files).to_json())
    assert "data.sav and data.parquet do not hold the same values" in verify_bundle(forged).problems


def test_a_bundle_is_exported_later_without_private_data(made, bundle, tmp_path):
    written = sfumato.export(bundle, tmp_path / "people.sav")
    assert (written.rows, written.path.name) == (40, "people.sav")
    assert "NOT FOR RELEASE" in (tmp_path / "people.sav.NOT-FOR-RELEASE.txt").read_text()
    assert written.path.read_bytes() == (bundle / "data.sav").read_bytes()
    sfumato.export(bundle, tmp_path / "people.parquet")
    found = pd.read_parquet(tmp_path / "people.parquet")
    assert found.age.tolist() == made.tables[next(iter(made.tables))].column("age").to_pylist()


def test_places_and_formats_that_cannot_be_are_refused_by_name(made, bundle, tmp_path):
    (tmp_path / "there.sav").write_text("x")
    for error, path in (
        (BundleError, tmp_path / "people.doc"),
        (BundleError, bundle / "more.sav"),
        (ModelError, tmp_path / "there.sav"),
        (ModelError, tmp_path / "nowhere" / "people.sav"),
    ):
        with pytest.raises(error) as caught:
            sfumato.export(bundle, path)
        assert caught.value.next_step
    with pytest.raises(BundleError, match="no copy 2"):
        sfumato.export(bundle, tmp_path / "people.sav", copy=2)
    with pytest.raises(BundleError, match="not a bundle"):
        sfumato.export(tmp_path, tmp_path / "people.sav")
    with pytest.raises(TableError, match="unknown file format"):
        made.save(tmp_path / "b", also=["doc"])
    assert not (tmp_path / "b").exists()


def test_counts_have_no_copies(tmp_path):
    counts = sfumato.release(sfumato.read(rows(), FACTS), Histogram("sex", 1.0), ledger=False, seed=4)
    with pytest.raises(BundleError, match="only rows"):
        counts.save(tmp_path / "b", also=["sav"])
    with pytest.raises(BundleError, match="holds no rows"):
        sfumato.export(counts.save(tmp_path / "b"), tmp_path / "x.sav")


def test_a_missing_extra_is_told_before_anything_is_written(made, tmp_path, monkeypatch):
    monkeypatch.setitem(formats.EXTRAS, ".sav", "no_such_package")
    with pytest.raises(MissingExtra, match="no_such_package"):
        made.save(tmp_path / "b", also=["sav"])
    assert not (tmp_path / "b").exists()


def test_a_table_that_nobody_described_has_words_for_readers_too():
    made = sfumato.synthesize(
        rows(), 5, False, person=False, seed=1, method="marginals", anyway=True, words={"custodian": "The office"}
    )
    assert made.schema.custodian == "The office"
    with pytest.raises(SfumatoError, match="synthesize cannot begin"):
        sfumato.synthesize(rows(), ledger=False, person=False, words={"owner": "x", "use": ""})
