from __future__ import annotations

import json
import re
import shutil

import duckdb
import markdown_it
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato import Contingency, Histogram, Marginals, MeanCurve, Schema
from sfumato.bundle.description import PublicRelease
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import PAGES, file_record
from sfumato.bundle.limitations import limitations
from sfumato.bundle.standards.datacard import DataCard
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import UndrawnPageWarning
from sfumato.report import bundle_pages
from sfumato.report.blocks import CodeBlock
from sfumato.report.page import escape_markdown, to_markdown
from sfumato.report.readme_page import contact_section, readme_of

ODD = Schema.parse("""
[table]
name = "pay | roll <b>"
description = "Wages of *made-up* people."
contact = "Data desk, desk_1@example.org"
licence = "CC BY 4.0"
[source]
delimiter = ";"
decimal = ","
thousands = "."
missing = ["k.A."]
date_format = "%d.%m.%Y"
encoding = "cp1252"
[columns.'net "pay" | `x`']
kind = "number"
bounds = [-5000, 50000]
decimals = 2
trailing_zeros = true
grouped = true
prefix = "€ "
missing = true
unit = "euro"
description = "what is left"
[columns.hired]
kind = "date"
bounds = [2020-01-01, 2020-12-31]
missing = true
[columns."full time"]
kind = "boolean"
true = "JA"
false = "NEIN"
missing = true
[columns.grade]
kind = "ordinal"
values = ["low", "it's", 'a "b"', "ünï"]
missing = true
missing_text = "-"
[columns.code]
kind = "category"
values = ["007", "010", "NA"]
[columns.site]
kind = "category"
values = [1, 2, 3]
value_labels = {1 = "north", 2 = "south"}
[[rules]]
check = "missing(hired) implies grade != 'low'"
""")


def odd_rows(number: int = 400) -> pd.DataFrame:
    dice = np.random.default_rng(5)
    days = [f"{day:02d}.03.2020" for day in range(1, 29)]
    return pd.DataFrame(
        {
            'net "pay" | `x`': dice.choice(["€ 1.234,50", "-€ 12,00", "€ 40.000,25", "k.A."], number),
            "hired": dice.choice(days, number),
            "full time": dice.choice(["JA", "NEIN", "k.A."], number),
            "grade": dice.choice(["low", "it's", 'a "b"', "ünï", "-"], number),
            "code": dice.choice(["007", "010", "NA"], number),
            "site": dice.choice(["1", "2", "3"], number),
        }
    )


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Rows whose file is written as strangely as a schema can say."""
    folder = tmp_path_factory.mktemp("odd")
    odd_rows().to_csv(folder / "odd.csv", sep=";", index=False, encoding="cp1252")
    table = sfumato.read(folder / "odd.csv", ODD)
    return sfumato.release(table, Marginals(2.0), ledger=False).save(folder / "bundle")


@pytest.fixture(scope="module")
def bundles(odd, frame, schema, tmp_path_factory):
    """A bundle of every kind that a user may get."""
    folder, table = tmp_path_factory.mktemp("users"), sfumato.read(frame, schema)
    curve = MeanCurve(columns=["age", "persons", "children"], epsilon=1.0, delta=1e-6, rho=0.1, clip=100.0)
    methods = {
        "one": Histogram("age", 1.0),
        "two": Contingency(["region", "insured"], 1.0),
        "several": Contingency([["sex"], ["hours", "sex"], ["region", "sex"]], 1.0),
        "curve": curve,
    }
    made = {name: sfumato.release(table, method, ledger=False) for name, method in methods.items()}
    return {"odd": odd, "copies": copied(odd, folder / "copies")} | {
        name: each.save(folder / name) for name, each in made.items()
    }


def copied(bundle, place):
    """The same rows twice, as methods release them that draw several copies."""
    (place / "tables").mkdir(parents=True)
    document = document_of(bundle)
    first = document.tables[0]
    listed = []
    for name in ("synthetic-1", "synthetic-2"):
        (place / f"tables/{name}.parquet").write_bytes((bundle / first.parquet).read_bytes())
        (place / f"tables/{name}.csv").write_bytes((bundle / first.csv).read_bytes())
        update = {"parquet": f"tables/{name}.parquet", "csv": f"tables/{name}.csv"}
        listed.append(first.model_copy(update=update))
    document = document.model_copy(update={"tables": tuple(listed)}).sealed()
    (place / "release.json").write_text(document.to_json())
    (place / "schema.toml").write_bytes((bundle / "schema.toml").read_bytes())
    return place


def document_of(bundle) -> ReleaseDocument:
    return ReleaseDocument.from_json((bundle / "release.json").read_text())


def subject_of(bundle, **update) -> PublicRelease:
    return PublicRelease(document_of(bundle).model_copy(update=update), Schema.load(bundle / "schema.toml"))


def listings(bundle, language: str) -> list[CodeBlock]:
    blocks = (block for section in readme_of(subject_of(bundle)).sections for block in section.blocks)
    return [block for block in blocks if isinstance(block, CodeBlock) and block.language == language]


def ran(code: str) -> dict:
    known: dict = {}
    exec(compile(code, "README", "exec"), known)
    return known


def same_values(frame: pd.DataFrame, bundle) -> None:
    """Every value that was read equals that of the Parquet file, missing ones included."""
    true = pq.read_table(bundle / "data.parquet")
    assert list(frame.columns) == true.column_names
    for name in true.column_names:
        there = true.column(name).to_pandas()
        assert (frame[name].isna() == there.isna()).all(), name
        kept = ~there.isna()
        read = pd.to_datetime(frame[name]).dt.date if name == "hired" else frame[name]
        assert list(read[kept]) == list(there[kept]), name


@pytest.mark.parametrize("kind", ["odd", "copies", "one", "two", "several", "curve"])
def test_the_lines_for_pandas_polars_and_sql_run_in_the_folder(kind, bundles, monkeypatch):
    bundle = bundles[kind]
    monkeypatch.chdir(bundle)
    python = [each for each in listings(bundle, "python") if each.title in ("pandas", "polars")]
    assert {each.title for each in python} == {"pandas", "polars"}
    for each in python:
        known = ran(each.text)
        kinds = (pd.DataFrame, pl.DataFrame)
        frames = [value for value in known.values() if isinstance(value, kinds)]
        frames += known.get("copies", [])
        assert frames
        expected = sum(table.rows for table in document_of(bundle).tables) if kind == "copies" else None
        assert expected in (None, sum(len(frame) for frame in known.get("copies", [])))
    (sql,) = listings(bundle, "sql")
    with duckdb.connect() as connection:
        answer = connection.execute(sql.text).fetchall()
    assert answer


def test_the_lines_for_rows_read_every_value(odd, monkeypatch):
    monkeypatch.chdir(odd)
    found = {each.title: each.text for each in listings(odd, "python")}
    for title in ("pandas", "data.csv in pandas"):
        rows = ran(found[title])["rows"]
        same_values(rows, odd)
        assert str(rows["hired"].dtype).startswith("datetime64")
    assert ran(found["pandas"])["rows"]["grade"].cat.ordered
    rows = ran(found["polars"])["rows"]
    assert rows["grade"].dtype == pl.Enum(["low", "it's", 'a "b"', "ünï"])
    assert rows["code"].dtype == pl.String
    same_values(rows.to_pandas(), odd)


def test_sums_of_counts_keep_the_missing_cell(bundles, monkeypatch):
    bundle = bundles["several"]
    monkeypatch.chdir(bundle)
    table = pq.read_table(bundle / "tables/hours--sex.parquet")
    total = sum(table["count"].to_pylist())
    python = {each.title: each.text for each in listings(bundle, "python")}
    sums = ran(python["pandas"])["sums"]
    assert sums.sum() == total
    assert sums.index.isna().sum() == 1
    polars = ran(python["polars"])["sums"]
    assert polars["count"].sum() == total
    assert polars["hours"].null_count() == 1
    with duckdb.connect() as connection:
        answer = connection.execute(listings(bundle, "sql")[0].text).fetchall()
    assert dict(answer)[None] == sums[sums.index.isna()].iloc[0]


def test_lines_for_r_quote_whatever_a_column_is_called(bundles):
    for kind, bundle in bundles.items():
        for each in listings(bundle, "r"):
            bare = re.sub(r'"(?:\\.|[^"\\])*"', "", each.text)
            assert '"' not in bare, kind
            assert bare.count("(") == bare.count(")"), kind
            assert bare.count("[") == bare.count("]"), kind
    text = next(each.text for each in listings(bundles["odd"], "r") if "read.csv" in each.text)
    assert 'rows[[name]] <- as.numeric(gsub(",", ".", gsub(".", "", gsub("€ ", "", rows[[name]]' in text
    assert 'na.strings = c("-", "k.A.")' in text
    assert 'format = "%d.%m.%Y"' in text


def test_a_value_that_looks_like_a_missing_one_sends_readers_to_parquet():
    column = sfumato.schema.Column("x", "category", values=("", "a"), missing=True)
    schema = Schema("t", (column,))
    made = sfumato.release(sfumato.read(pd.DataFrame({"x": ["a"] * 300}), schema), Marginals(1.0), ledger=False)
    document = ReleaseDocument.from_release(made, tables=[])
    listed = {"columns": ("x",), "kind": "rows", "rows": 300, "parquet": "data.parquet", "csv": "data.csv"}
    document = ReleaseDocument.model_validate({**document.model_dump(mode="json"), "tables": [listed]})
    guide = to_markdown(readme_of(PublicRelease(document, schema)))
    assert "read_csv" not in guide
    assert "Take the Parquet file" in guide


def test_every_bundle_has_the_pages_for_users_and_verify_draws_them_again(bundles):
    for kind, bundle in bundles.items():
        if kind == "copies":
            continue
        assert all((bundle / name).is_file() for name in PAGES)
        check = verify_bundle(bundle)
        assert check, check.problems
        assert not check.unchecked


def test_a_changed_page_is_found_though_hashes_and_seal_match(odd, tmp_path):
    folder, names = shutil.copytree(odd, tmp_path / "copy"), ("README.html", "README.md", "datacard.json")
    for name in names:
        (folder / name).write_text((folder / name).read_text().replace("Data desk", "Data disk"))
    document = document_of(folder)
    files = {path: file_record(folder / path) for path in document.files}
    (folder / "release.json").write_text(document.with_files(files).to_json())
    told = "is not the page that release.json and the released tables make"
    assert verify_bundle(folder).problems == tuple(f"{name} {told}" for name in names)


def test_readme_says_the_same_in_both_forms(odd):
    html, text = (odd / "README.html").read_text(), (odd / "README.md").read_text()
    parsed = markdown_it.MarkdownIt("commonmark").enable("table").render(text)
    words = [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", each)) for each in (html.split("<main", 1)[1], parsed)]
    for said in (
        "Wages of *made-up* people.",
        "Data desk, desk_1@example.org",
        "CC BY 4.0",
        "what is left",
        "1 = north",
    ):
        for each in words:
            assert said in each.replace("&quot;", '"'), said
    assert "<em>" not in parsed
    assert "<b>" not in parsed
    assert parsed.count("<td>net &quot;pay&quot; | `x`</td>") == 1


def test_markdown_holds_no_mark_of_the_schema():
    for text in (
        "# x",
        "- x",
        "1) x",
        "a|b",
        "<script>",
        "`",
        "_x_",
        "&lt;",
        "***",
        "[a](b)",
        "~~x~~",
        "===",
        "x\n\n# y",
    ):
        inner = (
            markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(f"{escape_markdown(text)}\n")
        )
        plain = inner.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&quot;", '"')
        assert plain == f"<p>{' '.join(text.split())}</p>\n", text


def test_datacard_is_what_its_layout_says(odd):
    card = DataCard.model_validate_json((odd / "datacard.json").read_text())
    assert card.to_json() == (odd / "datacard.json").read_text()
    assert (card.datacard, card.makes, card.contact) == (1, "rows", "Data desk, desk_1@example.org")
    assert (card.licence, card.for_release, card.guarantee.recorded) == ("CC BY 4.0", True, False)
    assert card.fingerprint == document_of(odd).fingerprint
    pay, *_ = card.columns
    assert (pay.label, pay.unit, pay.bounds, pay.missing_text) == ("what is left", "euro", (-5000.0, 50000.0), "k.A.")
    grade = next(column for column in card.columns if column.name == "grade")
    assert grade.levels == ("low", "it's", 'a "b"', "ünï")
    assert (grade.missing_text, card.text_files.delimiter, card.text_files.encoding) == ("-", ";", "cp1252")
    assert set(card.files) == set(document_of(odd).files) - set(PAGES)
    assert card.rules == ("missing(hired) implies grade != 'low'",)


def test_noise_of_counts_is_told_by_table(bundles):
    card = DataCard.model_validate_json((bundles["several"] / "datacard.json").read_text())
    assert set(card.noise) == {"sex", "hours x sex", "region x sex"}
    assert all(width > 3 for width in card.noise.values())
    text = (bundles["several"] / "README.md").read_text()
    assert f"± {card.noise['sex']:.3g}" in text
    assert "Counts below 0 are no mistake" in text


def test_a_seed_and_an_exposure_are_told_on_top(bundles, table_of_people, tmp_path):
    seeded = sfumato.release(table_of_people, Histogram("age", 1.0), ledger=False, seed=3).save(tmp_path / "seeded")
    for name in ("README.html", "README.md", "datacard.json"):
        assert "NOT FOR RELEASE" in (seeded / name).read_text()
        assert "was not recorded" in (seeded / name).read_text()
    assert not DataCard.model_validate_json((seeded / "datacard.json").read_text()).for_release
    document = document_of(bundles["odd"])
    weak = document.guarantee.model_copy(update={"kind": "heuristic", "epsilon": None, "delta": "0"})
    guide = readme_of(subject_of(bundles["odd"], guarantee=weak))
    assert [banner.heading for banner in guide.banners] == ["No formal guarantee", "Not recorded"]
    assert "Every row is invented" not in to_markdown(guide)


@pytest.fixture(scope="module")
def table_of_people(frame, schema):
    return sfumato.read(frame, schema)


def test_rows_that_hold_real_values_are_not_called_invented(odd):
    document = document_of(odd)
    subject = subject_of(odd, statistics={**document.statistics, "not_synthesised": ["code", "site"]})
    text = to_markdown(readme_of(subject))
    assert "Of each row, code, site are those of a real row" in text
    assert "A row is not a person" not in "\n".join(limitations(subject))


def test_nobody_to_ask_is_a_blank_that_says_how_to_fill_it(bundles):
    block = contact_section(subject_of(bundles["one"])).blocks[0]
    assert 'contact = "..." under [table]' in block.lines[0]


def test_a_page_that_cannot_be_drawn_loses_no_release(table_of_people, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(bundle_pages, "to_markdown", broken)
    made = sfumato.release(table_of_people, Histogram("age", 1.0), ledger=False)
    with pytest.warns(UndrawnPageWarning, match=r"README.md was not drawn: ZeroDivisionError"):
        folder = made.save(tmp_path / "bundle")
    assert not (folder / "README.md").exists()
    monkeypatch.undo()
    check = verify_bundle(folder)
    assert check, check.problems
    assert check.verdict == "verified, but not in full"
    assert "README.md could not be drawn" in check.unchecked[0]
    assert json.loads((folder / "release.json").read_text())["files"].keys() >= {"report.html", "README.html"}
