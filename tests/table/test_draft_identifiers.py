"""No release may hold what names or numbers people, and no amount may be taken for such."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Schema
from sfumato.table.drafting.column_profile import split_name

FIRST = ("Anna", "Boris", "Clara", "David", "Emma", "Felix", "Greta", "Hans", "Ida", "Jonas", "Karl", "Lena")
LAST = ("Maier", "Schmidt", "Weber", "Huber", "Koch", "Bauer", "Wolf", "Klein", "Braun", "Lang", "Roth", "Vogel")
NAMING = ("case", "patient_id", "insurance_no", "name", "phone", "mail", "zip", "ssn")


def visits(patients: int = 300) -> pd.DataFrame:
    """Return a hospital's visits as people keep them: one to five rows of each patient, and all that names them."""
    rng = np.random.default_rng(5)
    ids = rng.choice(np.arange(100_000, 110_000), patients, replace=False)
    people = pd.DataFrame(
        {
            "patient_id": ids,
            "insurance_no": rng.choice(10**6, patients, replace=False) + 7 * 10**9,
            "name": [f"{rng.choice(FIRST)} {rng.choice(LAST)}-{rng.choice(LAST)}" for _ in ids],
            "phone": [f"0{n}" for n in rng.integers(1510000000, 1799999999, patients)],
            "mail": [f"p{n}@clinic.example" for n in ids],
            "zip": [f"{n:05d}" for n in rng.integers(1000, 99999, patients)],
            "ssn": [f"{a}-{b:02d}-{c:04d}" for a, b, c in rng.integers((100, 1, 1), (999, 99, 9999), (patients, 3))],
            "born": rng.integers(1930, 2015, patients),
            "sex": rng.choice(["f", "m"], patients),
        }
    )
    rows = people.loc[np.repeat(people.index, rng.integers(1, 6, patients))].reset_index(drop=True)
    rows.insert(0, "case", np.arange(5000, 5000 + len(rows)))
    rows["diagnosis"] = rng.choice(["F32", "I10", "E11", "J45", "M54"], len(rows))
    rows["cost"] = np.round(rng.lognormal(7, 1, len(rows)), 2)
    return rows


@pytest.mark.parametrize("form", ["frame", "csv"])
def test_a_hospital_releases_nothing_that_names_a_patient_and_says_whose_rows_they_are(form: str, tmp_path: Path):
    frame = visits()
    source = frame if form == "frame" else tmp_path / "visits.csv"
    frame.to_csv(tmp_path / "visits.csv", index=False)
    draft = Schema.draft(source, name="visits")
    assert tuple(column.name for column in draft if column.role == "identifier") == NAMING
    assert draft.person_candidates == ("patient_id", "insurance_no", "phone", "mail", "ssn")
    asked = "\n".join(draft.notes)
    each = frame.groupby("patient_id").size()
    assert "whose row is it?" in asked and f"{each.mean():.3g} on average, {each.max()} at most" in asked
    assert Schema.parse(draft.to_toml()) == draft
    confirmed = draft.confirm(accept_unchanged=True, person="patient_id", rows_per_person=5)
    made = sfumato.release(sfumato.read(source, confirmed), sfumato.MST(epsilon=1), seed=1, ledger=False)
    assert tuple(made.data.columns) == ("born", "sex", "diagnosis", "cost")


def test_person_numbers_without_telling_names():
    """The file of the review: numbers of ten digits, of rows, and of people who have two rows each."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "number": rng.choice(9 * 10**9, 2000, replace=False) + 10**9,
            "a": np.arange(1, 2001),
            "b": np.repeat(np.arange(1000, 2000), 2),
            "c": rng.choice(900_000, 2000, replace=False) + 100_000,
            "d": [f"K{n:x}" for n in rng.integers(10**8, 10**9, 2000)],
            "age": rng.integers(0, 100, 2000),
        }
    )
    draft = Schema.draft(frame)
    assert [column.name for column in draft if column.role is None] == ["age"]
    assert draft.person_candidates == ("b",)


def test_measurements_stay():
    """Amounts are nearly unique, counts have no gaps, and none of them is an identifier."""
    rng = np.random.default_rng(2)
    n = 3000
    frame = pd.DataFrame(
        {
            "price": rng.lognormal(12, 0.5, n).astype(int),
            "salary": rng.normal(500_000, 90_000, n).clip(100_000, 999_999).astype(int),
            "height_mm": rng.normal(1700, 100, n).astype(int),
            "number_of_rooms": rng.integers(1, 80, n),
            "phone_minutes": rng.integers(0, 3000, n),
            "year": rng.integers(1900, 2024, n),
            "education-num": rng.integers(1, 17, n),
            "weight": rng.normal(80, 12, n),
            "store_id": rng.integers(1, 9, n),
            "is_paid": rng.integers(0, 2, n),
        }
    )
    draft = Schema.draft(frame)
    assert [column.name for column in draft if column.role] == []
    assert draft["is_paid"].values == (0, 1)
    assert draft.person_candidates == ()


def test_yearly_series_keep_their_years():
    draft = Schema.draft(pd.DataFrame({"year": range(1974, 2024), "rate": np.linspace(1, 9, 50)}))
    assert draft["year"].kind == "integer"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["DE89370400440532013000", "FR1420041010050500013M02606"], "IBAN"),
        (["+49 30 1234567", "030 / 7654321"], "phone"),
        (["b3c1a0f2-0000-4000-8000-0123456789ab", "b3c1a0f2-0000-4000-8000-0123456789ac"], "UUID"),
        (["078-05-1120", "219-09-9999"], "social security"),
        (["a.b@c.org", "d@e.co.uk"], "e-mail"),
    ],
)
def test_patterns_of_values_tell_identifiers_whatever_a_column_is_called(values: list[str], why: str):
    draft = Schema.draft(pd.DataFrame({"x": values * 10, "y": ["p", "q"] * 10}))
    assert draft["x"].role == "identifier"
    assert any(note.startswith("identifier: x (") and why in note for note in draft.notes)


def test_codes_with_leading_zeros_are_texts(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text(
        "plz,month,many\n" + "".join(f"0{1067 + i % 9},{1 + i % 12:02d},{i % 80:04d}\n" for i in range(960))
    )
    draft = Schema.draft(path)
    assert draft["plz"].values[0] == "01067" and draft["month"].values[0] == "01"
    assert "left out: many (80 distinct texts: codes with leading zeros" in "\n".join(draft.notes)
    assert "look at: plz (digits with leading zeros are texts" in "\n".join(draft.notes)
    assert Schema.draft(pd.DataFrame({"plz": [10115, 80331, 1067] * 30}))["plz"].values == (1067, 10115, 80331)


def test_free_text_dates_as_numbers_and_columns_that_say_little(tmp_path: Path):
    path = tmp_path / "t.csv"
    rows = [
        f"they said {i} things to us,202{i % 4}0{1 + i % 9}15,{'x' if i < 3 else ''},k,2024-01-0{1 + i % 9} 10:00"
        for i in range(90)
    ]
    path.write_text("note,day,rare,same,seen\n" + "\n".join(rows) + "\n")
    notes = "\n".join(Schema.draft(path).notes)
    assert "left out: note (90 distinct texts: free text)" in notes
    assert "left out: day (whole numbers that look like dates: --date-format '%Y%m%d')" in notes
    assert "rare (one value in all rows" in notes and "missing in 96.7 % of the rows" in notes
    assert "look at: seen (times of day are not kept" in notes
    assert Schema.draft(path)["same"].values == ("k",)


def test_only_true_and_false_are_boolean(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,d\n" + "True,yes,1,t\nfalse,no,0,f\n" * 5)
    draft = Schema.draft(path)
    assert [column.kind for column in draft] == ["boolean", "category", "category", "category"]
    assert draft["b"].values == ("no", "yes") and draft["c"].values == (0, 1)


@pytest.mark.parametrize(
    "name, measured",
    [
        ("hmeq.csv", 13),
        ("california_housing.csv.gz", 10),
        ("german_credit.csv", 10),
        ("census_casc.csv", 13),
        ("tarragona.csv", 13),
        ("unrate.csv", 2),
    ],
)
def test_public_tables_keep_every_measurement(shared_data: Path, name: str, measured: int):
    if not (shared_data / name).exists():
        pytest.skip(f"{name} is not here")
    draft = Schema.draft(shared_data / name)
    assert sum(column.role is None for column in draft) == measured
    assert draft.person_candidates == ()


@pytest.mark.parametrize("name, person", [("eia.csv", "UTILITYID"), ("sdc_testdata.csv", "ori_hid")])
def test_households_and_firms_with_several_rows_are_asked_about(shared_data: Path, name: str, person: str):
    if not (shared_data / name).exists():
        pytest.skip(f"{name} is not here")
    assert Schema.draft(shared_data / name).person_candidates == (person,)


def test_words_of_names():
    assert split_name("UTILITYID") == ("utilityid",)
    assert split_name("insuranceNo") == ("insurance", "no")
    assert split_name("prénom") == ("prenom",)
