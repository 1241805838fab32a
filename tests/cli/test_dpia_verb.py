"""``sfumato dpia``: the form on standard output, in a file, and as JSON."""

from __future__ import annotations

import json

import pytest

from sfumato.example import codebook, write_households

HISTOGRAM = ("--schema", "h.toml", "--method", "histogram", "--set", "column=age", "--epsilon", "1")


@pytest.fixture
def bundle(tmp_path, monkeypatch, sfumato_cli):
    monkeypatch.chdir(tmp_path)
    write_households("h.csv", rows=300)
    codebook().save("h.toml")
    sfumato_cli("ledger", "init", "l.db", "--schema", "h.toml", "--epsilon", "2")
    code, _, err = sfumato_cli("release", "h.csv", *HISTOGRAM, "--ledger", "l.db", "--out", "b", "--anyway")
    assert code == 0, err
    return tmp_path


def test_the_form_is_printed_written_and_told_to_machines(bundle, sfumato_cli):
    code, printed, _ = sfumato_cli("dpia", "b", "--ledger", "l.db")
    assert code == 0 and printed.startswith("# Impact assessment: households\n") and "left epsilon 1" in printed
    code, out, _ = sfumato_cli("dpia", "b", "--ledger", "l.db", "--out", "d.md")
    assert code == 0 and "d.md" in out and "not legal advice" in out
    assert (bundle / "d.md").read_text() == printed
    code, out, _ = sfumato_cli("dpia", "b", "--out", "d.html", "--json")
    assert code == 0 and json.loads(out)["path"].endswith("d.html") and "Purpose" in json.loads(out)["blanks"]
    code, out, _ = sfumato_cli("dpia", "b", "--json")
    assert code == 0 and json.loads(out)["markdown"].startswith("# Impact assessment")


def test_what_cannot_be_is_refused_in_a_sentence(bundle, sfumato_cli):
    for arguments, words in (
        (("b", "--out", "b/d.md"), "no part of the release"),
        (("b", "--out", "d.pdf"), "ends in .md"),
        (("h.csv",), "is a file, not a folder"),
        (("b", "--ledger", "other.db"), "there is no ledger"),
    ):
        code, _, err = sfumato_cli("dpia", *arguments)
        assert code == 2 and words in err
