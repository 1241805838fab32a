"""croissant.json, datapackage.json and registry.yaml: read by the programs that they are for, and back again."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import Contingency, Histogram, Marginals, MeanCurve, PseudoPosterior, Schema
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import file_record
from sfumato.bundle.standards.deployments_registry import BLANK, yaml_text
from sfumato.bundle.standards.fields import MOST_LEVELS
from sfumato.bundle.verify import verify_bundle
from standards import check_standards

NEW = ("croissant.json", "datapackage.json", "registry.yaml")
HOSTILE = ('a: [b]\n- "c"', "</script><b>", "null", "#x' \\ \u2028\u0085\ufeff", "emoji 😀 |")
ODD = Schema(
    'no: "table"\n<i>',
    (
        sfumato.Column(HOSTILE[0], "category", values=("yes", "~", "!!python/object:os.system", "- x"), missing=True),
        sfumato.Column(HOSTILE[1], "ordinal", values=("low", "1e3", "", "🙂"), value_labels={"low": 'a "b"\nc'}),
        sfumato.Column(HOSTILE[2], "integer", bounds=(-5, 5), unit="°C", description="y: \t{z}"),
        sfumato.Column(HOSTILE[3], "boolean"),
        sfumato.Column(HOSTILE[4], "number", bounds=(0, 1), missing=True),
    ),
    description="# not a comment: 'x'",
    licence="CC BY 4.0",
    custodian="Office: <b>{of}</b> \n---\n things",
    use="teaching",
    region="Null Island",
)


def odd_rows(number: int = 300) -> pd.DataFrame:
    dice = np.random.default_rng(3)
    chosen = {c.name: dice.choice(c.levels, number) for c in ODD if c.kind in ("category", "ordinal")}
    return pd.DataFrame(
        {
            **chosen,
            HOSTILE[2]: dice.integers(-5, 6, number),
            HOSTILE[3]: dice.integers(0, 2, number).astype(bool),
            HOSTILE[4]: np.where(dice.random(number) < 0.1, np.nan, dice.random(number)),
        }
    )[list(HOSTILE)]


@pytest.fixture(scope="module")
def bundles(frame, schema, tmp_path_factory):
    """A bundle of every shape: hostile rows and counts, several tables, a curve, copies; all of them seeded."""
    folder = tmp_path_factory.mktemp("standards")
    table, strange = sfumato.read(frame, schema), sfumato.read(odd_rows(), ODD)
    curve = MeanCurve(columns=["age", "persons", "children"], epsilon=1.0, delta=1e-6, rho=0.1, clip=100.0)
    made = {
        "rows": (table, Marginals(1.0)),
        "several": (table, Contingency([["sex"], ["hours", "sex"], ["moved_in"], ["insured"]], 1.0)),
        "curve": (table, curve),
        "copies": (table, dataclasses.replace(PseudoPosterior.example(schema), copies=2)),
        "odd rows": (strange, Marginals(2.0)),
        "odd counts": (strange, Contingency([[HOSTILE[0]], list(HOSTILE[1:3])], 1.0)),
    }
    return {
        name: sfumato.release(source, method, ledger=False, seed=1).save(folder / name.replace(" ", "-"))
        for name, (source, method) in made.items()
    }


@pytest.mark.parametrize("name", ["rows", "several", "curve", "copies", "odd rows", "odd counts"])
def test_other_programs_read_every_shape_of_bundle(name, bundles, shared_schemas):
    bundle = bundles[name]
    document = document_of(bundle)
    found = check_standards(bundle, shared_schemas)
    entry, data = found["registry"], found["croissant"]
    assert entry["deployment"]["basic"]["name"].startswith("NOT FOR RELEASE")
    assert data.metadata.name.startswith("NOT FOR RELEASE")
    assert json.loads((bundle / "datapackage.json").read_text())["sfumato"]["for_release"] is False
    assert len(found["datapackage"].tasks) == len(document.tables)
    hashes = {each.content_url: each.sha256 for each in data.metadata.distribution}
    assert hashes == {path: record.sha256 for path, record in document.files.items() if path in hashes}
    assert set(hashes) == {path for table in document.tables for path in (table.parquet, table.csv)}


def document_of(bundle) -> ReleaseDocument:
    return ReleaseDocument.from_json((bundle / "release.json").read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_rows_can_be_loaded_by_croissant_alone(bundles):
    data = check_standards(bundles["odd rows"])["croissant"]
    rows = pd.DataFrame(list(data.records("data")))
    parquet = pd.read_parquet(bundles["odd rows"] / "data.parquet")
    assert len(rows) == len(parquet)
    assert rows.iloc[:, 2].tolist() == parquet[HOSTILE[2]].tolist()
    levels = [each for each in data.metadata.record_sets if each.data and each.id.startswith("levels-a-b")]
    assert [next(iter(line.values())) for line in levels[0].data] == list(ODD[HOSTILE[0]].values)


@pytest.mark.parametrize("name", ["rows", "several", "odd rows", "odd counts"])
@pytest.mark.parametrize("file", ["croissant.json", "datapackage.json"])
def test_our_own_files_come_back_as_the_schema_that_they_tell_of(name, file, bundles):
    own = Schema.load(bundles[name] / "schema.toml")
    draft = Schema.from_metadata(bundles[name] / file)
    assert draft.name == own.name
    released = {column for table in document_of(bundles[name]).tables for column in table.columns}
    assert set(draft.names) == released
    for column in draft:
        facts = ("kind", "values", "missing", "bounds", "unit", "value_labels")
        pairs = {key: (getattr(column, key), getattr(own[column.name], key)) for key in facts}
        assert all(mine == theirs for mine, theirs in pairs.values()), pairs
        assert {came.origin for came in column.provenance.values()} == {"file"}
    assert draft.is_draft
    assert draft.licence == own.licence
    assert (draft.custodian, draft.description) == (own.custodian, None)
    assert draft.confirm({"*": file}).is_confirmed


def test_what_nobody_said_is_a_blank_that_names_itself(bundles):
    said, blank = (yaml.safe_load((bundles[name] / "registry.yaml").read_text()) for name in ("odd rows", "rows"))
    basic = said["deployment"]["basic"]
    assert basic["data_curators"] == [ODD.custodian]
    assert (basic["intended_use"], basic["data_product_region"]) == ("teaching", "Null Island")
    assert said["deployment"]["administrative"]["registry_authors"] == [ODD.custodian]
    empty = blank["deployment"]["basic"]
    for text in (*empty["data_curators"], empty["intended_use"], empty["data_product_region"]):
        assert text.startswith(BLANK)
    assert blank["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    curve = yaml.safe_load((bundles["curve"] / "registry.yaml").read_text())["deployment"]
    assert curve["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert curve["dp_variant"]["variant_name"] == "Approximate DP"
    assert "Published by: Office" in (bundles["odd rows"] / "README.html").read_text()


def test_the_entry_tells_of_persons_and_of_public_rows(frame, schema, tmp_path):
    people = frame.assign(person=np.arange(len(frame)) // 2)
    number = sfumato.Column("person", "integer", bounds=(0, 1000))
    facts = dataclasses.replace(
        schema, columns=(*schema.columns, number), person="person", rows_per_person=2, custodian="The office"
    )
    made = sfumato.release(sfumato.read(people, facts), Histogram("sex", 1.0), ledger=False, seed=2)
    loss = yaml.safe_load((made.save(tmp_path / "b") / "registry.yaml").read_text())["deployment"]["privacy_loss"]
    assert loss["privacy_unit"].startswith("Person-level")
    assert "at most 2 rows" in loss["privacy_unit_details"]
    fixed = dataclasses.replace(schema, adjacency="replace", rows=len(frame))
    made = sfumato.release(sfumato.read(frame, fixed), Histogram("sex", 1.0), ledger=False, seed=2)
    variant = yaml.safe_load((made.save(tmp_path / "c") / "registry.yaml").read_text())["deployment"]["dp_variant"]
    assert f"{len(frame)} rows, which is public" in variant["data_domain"]
    assert f"The number of rows, {len(frame)}, is public" in variant["unprotected_quantities"]


@pytest.mark.parametrize("file", NEW)
def test_verify_finds_a_word_that_was_changed(file, bundles, tmp_path):
    forged = tmp_path / "forged"
    shutil.copytree(bundles["several"], forged)
    text = (forged / file).read_text(encoding="utf-8")
    (forged / file).write_text(text.replace("households", "houseboats", 1), encoding="utf-8")
    document = document_of(forged)
    files = {**document.files, file: file_record(forged / file)}
    (forged / "release.json").write_text(document.with_files(files).to_json(), encoding="utf-8")
    assert verify_bundle(forged).problems == (f"{file} is not the page that release.json and the released tables make",)


def test_bundles_of_older_versions_go_without(bundles, tmp_path):
    older = tmp_path / "older"
    shutil.copytree(bundles["several"], older)
    document = document_of(older)
    for file in NEW:
        (older / file).unlink()
    files = {path: record for path, record in document.files.items() if path not in NEW}
    versions = {**document.versions, "sfumato": "0.1.0"}
    aged = document.model_copy(update={"versions": versions}).with_files(files)
    (older / "release.json").write_text(aged.to_json(), encoding="utf-8")
    check = verify_bundle(older)
    assert check.ok, check.problems
    assert len(check.unchecked) == 1
    assert "were not compared: sfumato 0.1.0" in check.unchecked[0]


def test_long_lists_are_left_to_the_schema(tmp_path):
    values = tuple(f"code {number}" for number in range(MOST_LEVELS + 1))
    facts = Schema("codes", (sfumato.Column("code", "category", values=values), sfumato.Column("b", "boolean")))
    rows = pd.DataFrame({"code": ["code 1"] * 50, "b": [True] * 50})
    made = sfumato.release(sfumato.read(rows, facts), Histogram("code", 1.0), ledger=False, seed=1)
    bundle = made.save(tmp_path / "b")
    check_standards(bundle)
    for file in ("croissant.json", "datapackage.json"):
        assert "code 77" not in (bundle / file).read_text()
        with pytest.raises(sfumato.errors.SchemaError, match="no column that could be released") as caught:
            Schema.from_metadata(bundle / file)
        assert any("left out: code" in problem for problem in caught.value.problems)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SCALAR = TEXT | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**15), 10**15) | st.booleans()
NESTED = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


@given(st.dictionaries(TEXT, NESTED, max_size=4))
@settings(max_examples=60)
def test_whatever_is_written_as_yaml_is_read_back(value):
    read = yaml.safe_load(yaml_text(value)) if value else value
    assert same(read, value)


def same(read, value) -> bool:
    if isinstance(value, dict):
        return read.keys() == value.keys() and all(same(read[key], value[key]) for key in value)
    if isinstance(value, list):
        return len(read) == len(value) and all(same(*pair) for pair in zip(read, value, strict=True))
    return type(read) is type(value) and (read == value or math.isclose(read, value))
