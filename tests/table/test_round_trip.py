"""Values come back as they were written: the synthetic file is read by whatever read the original, into the same types.

Rows are drawn evenly from the public domain of a draft, because forms have nothing to do with how often values stand
there; then every level and every kind of number is seen. What is compared, column by column:

- the type that pandas gives the column, with the same arguments for both files. Whole numbers with gaps are read as
  floating numbers from either file, and so are compared like all others;
- listed values (texts, codes, yes and no, TRUE and FALSE) are among those of the original, letter by letter;
- dates have the pattern of the original; numbers have no fewer and no more decimals than the original has, and a point
  in all of them, or in none, where the original does. Columns of computed numbers (ten decimals and more) have no form.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sfumato.constraints.draw_rows import draw_values
from sfumato.sampling.values import rows_table
from sfumato.schema import Schema
from sfumato.schema.toml import format_schema
from sfumato.table.writing.formats import WRITERS

ROWS = 300
MOST_COLUMNS = 14
"""Columns of each real table that are looked at: a draft takes its time by the column."""
COMPUTED = 10
TABLES = (
    "acs_ma2019.csv",
    "acs_national2019.csv.gz",
    "adult.csv.gz",
    "adult_coded.csv.gz",
    "adult_dr_ha.csv.gz",
    "bank_marketing.csv.gz",
    "california_housing.csv.gz",
    "census_casc.csv",
    "compas_two_years.csv",
    "cps_85_wages.csv",
    "diamonds.csv.gz",
    "eia.csv",
    "fatigue.csv",
    "francdat.csv",
    "free1.csv",
    "german_credit.csv",
    "hmeq.csv",
    "house_prices.csv",
    "insurance.csv",
    "pums_ca_1000.csv",
    "qualitative_bankruptcy.csv",
    "sdc_testdata.csv",
    "tarragona.csv",
    "unrate.csv",
)


def head_of(source: Path, target: Path) -> Path:
    """Copy the first rows and columns of a table, field by field."""
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8-sig", newline="") as file, target.open("w", newline="") as copy:
        writer = csv.writer(copy, lineterminator="\n")
        for _, row in zip(range(ROWS + 1), csv.reader(file), strict=False):
            writer.writerow(row[:MOST_COLUMNS])
    return target


def synthetic(schema: Schema, target: Path, seed: int = 0) -> Path:
    """Write rows drawn evenly from the public domain, missing values among them."""
    generator = np.random.default_rng(seed)
    columns = [schema[name] for name in schema.releasable]
    values = {c.name: draw_values(c, generator.integers(0, c.size, ROWS), generator) for c in columns}
    table = rows_table(schema, values)
    with WRITERS[".csv"](target, table.schema, schema) as file:
        file.write_table(table)
    return target


def texts_of(path: Path, schema: Schema) -> dict[str, set[str]]:
    """Return the different texts of each column, without those that stand for a missing value."""
    dialect = schema.source
    with path.open(encoding=dialect.encoding or "utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=dialect.delimiter or ","))
    return {name: {row[name] for row in rows} - {"", *dialect.missing} for name in rows[0]}


def decimals_of(texts: set[str], point: str) -> set[int]:
    return {len(text.partition(point)[2]) for text in texts}


def form_problem(column: Any, made: set[str], original: set[str], point: str) -> str | None:
    """Return how the texts of a column differ in form from the original's, or None."""
    if not column.is_ordered:
        strange = made - original
        return f"new values {sorted(strange)[:3]}" if strange else None
    if column.kind == "date":
        patterns = [{re.sub(r"\d", "9", text) for text in texts} for texts in (made, original)]
        return None if patterns[0] <= patterns[1] else f"dates as {patterns[0]}"
    have, had = decimals_of(made, point), decimals_of(original, point)
    if max(had) >= COMPUTED:
        return None
    if not (min(had) <= min(have) and max(have) <= max(had)) or bool(max(have)) > bool(max(had)):
        return f"{have} decimals, not {had}"
    plain = re.compile(rf"-?\d+({re.escape(point)}\d+)?")
    return next((f"written {text!r}" for text in made if not plain.fullmatch(text)), None)


def problems(schema: Schema, original: Path, made: Path, **options: Any) -> list[str]:
    """Return how two files differ that should be read alike."""
    frames = [pd.read_csv(path, usecols=list(schema.releasable), **options) for path in (made, original)]
    point = schema.source.decimal or "."
    texts = [texts_of(path, schema) for path in (made, original)]
    found = [f"{n}: {a[n].dtype}, not {b[n].dtype}" for a, b in [frames] for n in a if a[n].dtype != b[n].dtype]
    forms = {n: form_problem(schema[n], texts[0][n], texts[1][n], point) for n in schema.releasable}
    order = [name for name in frames[1] if name in frames[0]]
    found += [] if list(frames[0]) == order else [f"columns in the order {list(frames[0])}"]
    return found + [f"{name}: {form}" for name, form in forms.items() if form]


def drafted(path: Path, **dialect: Any) -> Schema:
    draft = Schema.draft(path, **dialect)
    asked: dict[str, Any] = {"person": False} if draft.person_candidates else {}
    return dataclasses.replace(draft.confirm(accept_unchanged=True, **asked), rules=())


@pytest.mark.parametrize("name", TABLES)
def test_every_real_table_comes_back_as_it_was_written(shared_data: Path, tmp_path: Path, name: str):
    original = head_of(shared_data / name, tmp_path / "original.csv")
    schema = drafted(original)
    assert problems(schema, original, synthetic(schema, tmp_path / "made.csv")) == []


def written(path: Path, columns: dict[str, Sequence[str]], delimiter: str = ",") -> Path:
    rows = zip(*columns.values(), strict=True)
    lines = [delimiter.join(columns), *(delimiter.join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def made_up(seed: int) -> dict[str, Sequence[str]]:
    """Return a table with every form that people use, values drawn by a seed."""
    generator = np.random.default_rng(seed)
    step = int(generator.choice([5, 10, 100, 500]))

    def column(write: Any, high: int) -> list[str]:
        return [write(int(k)) for k in generator.integers(0, high, 120)]

    return {
        "step": column(lambda k: str(k * step), 99),
        "price": column(lambda k: f"{k / 100:.2f}", 9999),
        "nickels": column(lambda k: f"{k / 20:.2f}", 400),
        "amount": column(lambda k: f"{k}.0", 70),
        "share": column(lambda k: str(k / 8), 60),
        "code": column(lambda k: ["007", "010", "123"][k], 3),
        "flag": column(str, 2),
        "word": column(lambda k: ["yes", "no"][k], 2),
        "truth": column(lambda k: ["TRUE", "FALSE"][k], 2),
        "month": column(lambda k: f"{2000 + k // 12}-{k % 12 + 1:02}-01", 100),
        "slash": column(lambda k: (dt.date(2020, 1, 1) + dt.timedelta(k)).strftime("%Y/%m/%d"), 900),
        "gaps": column(lambda k: "" if k < 30 else str(k), 300),
    }


@settings(max_examples=3, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32 - 1))
def test_made_up_tables_come_back_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, seed: int):
    folder, columns = tmp_path_factory.mktemp("forms"), made_up(seed)
    original = written(folder / "original.csv", columns)
    schema = drafted(original)
    made = synthetic(schema, folder / "made.csv")
    assert schema.releasable == tuple(columns)
    assert problems(schema, original, made, dtype={"code": str}) == []
    texts = texts_of(made, schema)
    assert {text[-3:] for text in texts["month"]} == {"-01"}
    assert {text[-1] for text in texts["nickels"]} == {"0", "5"}
    assert {int(text) % int(schema["step"].step or 0) for text in texts["step"]} == {0}


def test_the_check_sees_a_form_that_was_lost(tmp_path: Path):
    """The mutant: the same rows without the facts about their form."""
    columns = {name: made_up(1)[name] for name in ("amount", "price")}
    original = written(tmp_path / "original.csv", columns)
    schema = drafted(original)
    plain = dataclasses.replace(
        schema, columns=tuple(dataclasses.replace(c, decimals=None, trailing_zeros=False, step=None) for c in schema)
    )
    assert problems(schema, original, synthetic(schema, tmp_path / "made.csv")) == []
    lost = problems(schema, original, synthetic(plain, tmp_path / "plain.csv"))
    assert [problem.partition(":")[0] for problem in lost] == ["amount", "amount", "price"]


def foreign(columns: dict[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the same table as somebody writes it who uses decimal commas, days first and a mark for no value."""
    changed: dict[str, Sequence[str]] = {}
    for name, texts in columns.items():
        if name in ("month", "slash"):
            days = [dt.date(*map(int, re.split("[-/]", text))) for text in texts]
            changed[name] = [day.strftime("%d.%m.%Y") for day in days]
        else:
            changed[name] = [text.replace(".", ",") or "k. A." for text in texts]
    return changed | {"city": ["K\u00f6ln", "Z\u00fcrich", "k. A."] * 40}


def test_a_file_in_another_dialect_comes_back_in_it(tmp_path: Path):
    """Semicolons, decimal commas, days first, marks for missing values, and letters of cp1252."""
    original = written(tmp_path / "original.csv", foreign(made_up(2)), delimiter=";")
    original.write_bytes(original.read_text(encoding="utf-8").encode("cp1252"))
    said: dict[str, Any] = {"decimal": ",", "encoding": "cp1252"}
    schema = drafted(original, delimiter=";", missing=["k. A."], date_format="%d.%m.%Y", **said)
    made = synthetic(schema, tmp_path / "made.csv")
    options: dict[str, Any] = {"sep": ";", "na_values": ["k. A."], "dtype": {"code": str}, **said}
    assert problems(schema, original, made, **options) == []
    read = pd.read_csv(made, **options)
    assert set(read["city"].dropna()) == {"K\u00f6ln", "Z\u00fcrich"}
    assert read["month"].str.fullmatch(r"01\.\d\d\.20\d\d").all()
    assert read["share"].dtype == read["amount"].dtype == float
    assert {text[-1] for text in texts_of(made, schema)["nickels"]} == {"0", "5"}


MONEY = {
    "Betrag": r"-?\d{1,3}(\.\d{3})*,\d\d|N/A",
    "Anteil": r"\d{1,3} %|",
    "Preis": r"-?€ \d{1,2},\d\d",
    "Lohn": r"(\d{3}|[1-4]\.\d{3}) EUR",
    "Stufe": r"(10|50|90) %|",
    "Jahr": r"19\d\d",
    "Ort": r"Köln|Bonn|N/A",
}
"""What every text of a file with marks, signs and two ways to say nothing looks like."""
SAID: dict[str, Any] = {"delimiter": ";", "decimal": ",", "thousands": ".", "missing": ["N/A"]}


def money(rows: int = 160) -> dict[str, Sequence[str]]:
    generator = np.random.default_rng(5)

    def german(number: float, digits: int = 2) -> str:
        return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))

    ranges = ((-(10**5), 10**7), (1, 9999), (800, 4000))
    amounts, prices, pay = (generator.integers(low, high, rows) for low, high in ranges)
    return {
        "Betrag": ["N/A" if k % 9 == 0 else german(k / 100) for k in amounts],
        "Anteil": ["" if k % 7 == 0 else f"{k % 101} %" for k in prices],
        "Preis": [f"€ {german(k / 100)}" for k in prices],
        "Lohn": [f"{german(k, 0)} EUR" for k in pay],
        "Stufe": [["10 %", "50 %", "90 %", "", "", "N/A"][k % 6] for k in pay],
        "Jahr": [str(1900 + k % 100) for k in pay],
        "Ort": [["Köln", "Bonn", "N/A"][k % 3] for k in pay],
    }


def strangers(path: Path) -> dict[str, str]:
    """Return one text of each column that looks like none of the original's."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    return {name: row[name] for row in rows for name, like in MONEY.items() if not re.fullmatch(like, row[name])}


def test_marks_of_thousands_signs_and_both_ways_to_say_nothing_come_back(tmp_path: Path):
    """The mutant is the same schema without these facts: each of the columns then differs."""
    original = written(tmp_path / "original.csv", money(), delimiter=";")
    schema = drafted(original, **SAID)
    facts = {c.name: (c.grouped, c.prefix, c.suffix, c.missing_text) for c in schema}
    assert facts == {
        "Betrag": (True, None, None, None),
        "Anteil": (False, None, " %", ""),
        "Preis": (False, "€ ", None, None),
        "Lohn": (True, None, " EUR", None),
        "Stufe": (False, None, " %", ""),
        "Jahr": (False, None, None, None),
        "Ort": (False, None, None, None),
    }
    assert Schema.parse(format_schema(schema)).columns == schema.columns
    assert strangers(synthetic(schema, tmp_path / "made.csv")) == {}
    plain = [dataclasses.replace(c, grouped=False, prefix=None, suffix=None, missing_text=None) for c in schema]
    lost = synthetic(dataclasses.replace(schema, columns=tuple(plain)), tmp_path / "plain.csv")
    assert set(strangers(lost)) == {"Betrag", "Anteil", "Preis", "Lohn", "Stufe"}
