"""Nothing of the private rows reaches a bundle unpaid: two neighbouring tables, of which one holds a canary."""

import json

import pandas as pd
import pytest

import sfumato
from sfumato import buy_schema
from sfumato.errors import UndeclaredColumnsError, UndecodedTextWarning
from sfumato.privacy.accounting.guarantee import UNCOVERED_CHOICES
from sfumato.table.sources import open_source

ROWS = [{"age": i * 7 % 90, "city": ("Bern", "Zug")[i % 2]} for i in range(1500)]
PAID = {"epsilon": 5, "delta": "1e-6", "ledger": False, "seed": 3}


def bought(source, **more) -> str:
    return buy_schema(source, **PAID, **more).to_toml()


def test_names_that_the_rows_bring_are_never_bought(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in [*ROWS, {"age": 5, "city": "Bern", "hiv_test": "positive"}]))
    with pytest.raises(UndeclaredColumnsError) as caught:
        buy_schema(path, **PAID)
    assert "hiv_test" not in str(caught.value), "a message holds no name that one row brings"
    with pytest.raises(UndeclaredColumnsError):
        sfumato.synthesize(path, epsilon=3, buy=2, ledger=False)
    assert "--columns" in str(caught.value)
    schema = buy_schema(path, **PAID, columns=["age", "city"])
    path.write_text("\n".join(map(json.dumps, ROWS)))
    assert schema.to_toml() == bought(path, columns=["age", "city"])
    made = sfumato.release(sfumato.read(path, schema), sfumato.Histogram("city", epsilon=1), ledger=False, seed=1)
    files = [file for file in made.save(tmp_path / "b").rglob("*") if file.is_file()]
    assert not any(b"hiv" in file.read_bytes() or b"left out" in file.read_bytes() for file in files)


def test_a_source_says_whether_its_names_and_types_are_declared(tmp_path):
    frame = pd.DataFrame(ROWS[:9])
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_csv(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    asked = (tmp_path / "t.jsonl", tmp_path / "t.csv", tmp_path / "t.parquet", frame[["age"]], frame.astype(object))
    told = [(opened.names, opened.types) for opened in map(open_source, asked)]
    both = ("declared", "declared")
    assert told == [("rows", "rows"), both, both, both, ("declared", "rows")]


def test_notes_on_what_was_left_out_stay_with_the_custodian(tmp_path):
    frame = pd.DataFrame(ROWS).assign(secret=[f"s{i}" for i in range(1500)])
    schema = buy_schema(frame, **PAID)
    assert any("secret" in note for note in schema.notes)
    made = sfumato.release(sfumato.read(frame, schema), sfumato.Histogram("city", epsilon=1), ledger=False, seed=1)
    assert made.schema.notes == ()
    assert "# " not in (made.save(tmp_path / "b") / "schema.toml").read_text()


def test_one_row_in_another_encoding_changes_no_bought_schema(tmp_path):
    path = tmp_path / "t.csv"
    plain = "age,city\n" + "".join(f"{row['age']},{row['city']}\n" for row in ROWS)
    path.write_text(plain)
    one = bought(path)
    path.write_bytes(plain.encode() + "5,Zürich\n".encode("latin-1"))
    with pytest.warns(UndecodedTextWarning, match="--encoding"):
        other = bought(path)
    assert (one == other, "encoding" in other) == (True, False)
    with pytest.warns(UndecodedTextWarning):
        sfumato.read(path, sfumato.Schema.parse(other)).require_valid()
    assert 'encoding = "latin-1"' in bought(path, encoding="latin-1")


@pytest.mark.parametrize("odd", [None, "odd", 2.5, True])
def test_one_odd_value_in_a_frame_changes_no_bought_schema(odd):
    frame = pd.DataFrame(ROWS).assign(code=[1, 2, 3] * 500, ok=[True, False] * 750).astype({"code": object})
    rows = [*frame.to_dict("records"), {"age": None if odd == "odd" else odd, "city": "Bern", "code": odd, "ok": odd}]
    other = pd.DataFrame(rows, dtype=object)
    other["age"] = pd.to_numeric(other["age"])
    assert bought(frame) == bought(other)


def test_one_odd_cell_of_a_workbook_or_of_sqlite_changes_no_bought_schema(tmp_path):
    import sqlite3

    for odd in ([], [("x", "Bern")]):
        with sqlite3.connect(tmp_path / f"{len(odd)}.db") as file:
            file.execute("CREATE TABLE t (age, city)")
            file.executemany("INSERT INTO t VALUES (?, ?)", [*(tuple(row.values()) for row in ROWS), *odd])
    assert bought(tmp_path / "0.db", name="t") == bought(tmp_path / "1.db", name="t")
    frame = pd.DataFrame(ROWS)
    frame.to_excel(tmp_path / "0.xlsx", index=False, engine="xlsxwriter")
    frame = pd.DataFrame([*ROWS, {"age": "x", "city": "Bern"}])
    frame.assign(**{"": [*[None] * 1500, "stray"]}).to_excel(tmp_path / "1.xlsx", index=False, engine="xlsxwriter")
    assert bought(tmp_path / "0.xlsx", name="t") == bought(tmp_path / "1.xlsx", name="t")


@pytest.fixture(scope="module")
def coded():
    frame = pd.DataFrame([ROWS[i % 1500] for i in range(3000)]).assign(code=[f"c{i % 60}" for i in range(3000)])
    return frame, pd.concat([frame, pd.DataFrame({"age": [5], "city": ["Bern"], "code": ["c60"]})])


def test_synthesize_buys_every_column_of_the_header_whatever_the_rows_hold(coded):
    made = [sfumato.synthesize(t, epsilon=6, buy=5, ledger=False, method="mst", seed=1) for t in coded]
    assert made[0].data.columns.tolist() == made[1].data.columns.tolist() == ["age", "city", "code"]
    assert made[0].guarantee == made[1].guarantee, "which neighbour it is does not show in the statement"
    assert any("nobody said whose rows" in words for words in made[0].guarantee.assumptions)
    assert not made[0].guarantee.rests_on_looks


def test_what_a_draft_decides_by_looking_stands_in_the_headline_of_both_neighbours(coded):
    made = [sfumato.synthesize(t, epsilon=6, ledger=False, method="mst", seed=1, person=False) for t in coded]
    assert ["code" in each.data.columns for each in made] == [True, False]
    for each in made:
        (looked,) = [words for words in each.guarantee.assumptions if words.endswith(UNCOVERED_CHOICES)]
        assert "which columns are described" in looked and "whether there is a release at all" in looked
        assert "decided by looking at the rows" in each.guarantee.headline()
    assert len({words for each in made for words in each.guarantee.assumptions if "looking" in words}) == 1
