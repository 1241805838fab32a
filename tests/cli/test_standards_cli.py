"""Words for readers, copies in other formats, exports and imports of schemas, on the command line."""

from __future__ import annotations

import pandas as pd
import pytest

from sfumato import Column, Ledger, Schema

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


def test_the_command_line_refuses_copies_before_the_spend(sfumato_cli, tmp_path):
    pytest.importorskip("pyreadstat", reason="needs the extra formats")
    facts = Schema("people", (Column("a b", "boolean"), Column("c", "boolean")))
    facts.confirm(sources={"*": "code book"}).save(tmp_path / "s.toml")
    pd.DataFrame({"a b": [True, False] * 50, "c": [True] * 100}).to_csv(tmp_path / "p.csv", index=False)
    book = Ledger(tmp_path / "budget.db")
    book.open_table("people", epsilon=5)
    call = ("release", str(tmp_path / "p.csv"), "--schema", str(tmp_path / "s.toml"), "--out", str(tmp_path / "b"))
    rest = ("--epsilon", "1", "--ledger", str(tmp_path / "budget.db"), "--anyway")
    for asked, method in ((("--also", "sav"), "marginals"), (("--also", "doc"), "marginals")):
        code, _, told = sfumato_cli(*call, *rest, "--method", method, *asked)
        assert code == 2, told
    code, _, told = sfumato_cli(*call, *rest, "--method", "histogram", "--set", "column=c", "--also", "dta")
    assert (code, "only rows" in told) == (2, True)
    assert book.history() == ()
    assert not (tmp_path / "b").exists()


def test_the_command_line_tells_readers_who_publishes_and_exports(sfumato_cli, tmp_path):
    pytest.importorskip("pyreadstat", reason="needs the extra formats")
    FACTS.confirm(sources={"*": "code book"}).save(tmp_path / "s.toml")
    rows().to_csv(tmp_path / "p.csv", index=False)
    bundle = tmp_path / "b"
    code, _, told = sfumato_cli(
        *("release", str(tmp_path / "p.csv"), "--schema", str(tmp_path / "s.toml"), "--out", str(bundle)),
        *("--method", "marginals", "--epsilon", "5", "--no-ledger", "--anyway", "--also", "dta"),
        *("--custodian", "The office", "--use", "teaching", "--region", "Utopia"),
    )
    assert code == 0, told
    assert (bundle / "data.dta").is_file()
    schema = Schema.load(bundle / "schema.toml")
    assert (schema.custodian, schema.use, schema.region) == ("The office", "teaching", "Utopia")
    entry = (bundle / "registry.yaml").read_text()
    assert '- "The office"' in entry
    assert "Utopia" in entry
    code, said, _ = sfumato_cli("export", str(bundle), "--out", str(tmp_path / "x.sav"))
    assert (code, "rows" in said) == (0, True)
    code, said, _ = sfumato_cli("schema", "import", str(bundle / "datapackage.json"), "--out", str(tmp_path / "i.toml"))
    assert code == 0
    assert "wrote a draft of 4 columns" in said
    assert Schema.load(tmp_path / "i.toml")["sex"].values == (1, 2)
    code, _, told = sfumato_cli("schema", "import", str(tmp_path / "p.csv"))
    assert (code, "is no JSON" in told) == (2, True)
