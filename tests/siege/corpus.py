"""Sound files that the command lines of the siege start from: tables in every format, schemas, a ledger, a bundle."""

from __future__ import annotations

import gzip
import sqlite3
import zipfile
from pathlib import Path

SCHEMA = """
[table]
name = "t"
adjacency = "add-remove"
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.income]
kind = "number"
bounds = [0, 1000]
bins = 5
missing = true
[columns.born]
kind = "date"
bounds = [1950-01-01, 2020-12-31]
[[rules]]
check = "age >= 0"
[[rules]]
check = "not (sex == 'f' and age == 98)"
"""
ROWS = 60


def build(folder: Path) -> None:
    """Write the whole corpus into an empty folder; runs in a process of its own, for engines start threads."""
    import duckdb
    import pandas as pd
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyreadstat

    import sfumato

    born = [pd.Timestamp("1960-01-01") + pd.Timedelta(days=97 * i) for i in range(ROWS)]
    frame = pd.DataFrame(
        {
            "age": [(7 * i) % 97 for i in range(ROWS)],
            "sex": ["f", "m"] * (ROWS // 2),
            "income": [None if i % 9 == 0 else (i * 37 % 1000) + 0.5 for i in range(ROWS)],
            "born": [day.date() for day in born],
        }
    )
    text = frame.to_csv(index=False)
    (folder / "t.csv").write_text(text)
    (folder / "t.tsv").write_text(frame.to_csv(index=False, sep="\t"))
    (folder / "t.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (folder / "latin.csv").write_bytes(text.replace("f", "\u00e9").encode("latin-1"))
    (folder / "wide.csv").write_bytes(text.encode("utf-16"))
    with zipfile.ZipFile(folder / "t.zip", "w") as archive:
        archive.writestr("t.csv", text)
    frame.to_parquet(folder / "t.parquet", index=False)
    feather.write_feather(pa.Table.from_pandas(frame), str(folder / "t.feather"))
    frame.astype({"born": str}).to_json(folder / "t.jsonl", orient="records", lines=True)
    frame.astype({"born": str}).to_json(folder / "t.json", orient="records")
    frame.to_excel(folder / "t.xlsx", index=False, engine="xlsxwriter")
    plain = frame.drop(columns="born")
    pyreadstat.write_sav(plain, str(folder / "t.sav"))
    pyreadstat.write_dta(plain, str(folder / "t.dta"))
    pyreadstat.write_xport(plain, str(folder / "t.xpt"))
    with sqlite3.connect(folder / "t.sqlite") as connection:
        plain.to_sql("t", connection, index=False)
    connection.close()
    with duckdb.connect(str(folder / "t.duckdb")) as engine:
        engine.execute("CREATE TABLE t AS SELECT * FROM plain")
    (folder / "s.toml").write_text(SCHEMA)
    schema = sfumato.Schema.load(folder / "s.toml")
    ledger = sfumato.Ledger(folder / "ledger.db")
    ledger.open_table("t", epsilon=5, delta="1e-6", adjacency="add-remove")
    table = sfumato.read(folder / "t.csv", schema)
    made = sfumato.release(table, sfumato.MST(epsilon=1.0, delta="1e-6"), rows=40, ledger=ledger)
    made.save(folder / "bundle")
    made.model.save(folder / "t.model")
