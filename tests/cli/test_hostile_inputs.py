"""Wrong numbers, encodings, devices and damaged bundles end in a named error, not in exit code 70, and soon."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato import Column, Marginals, Schema
from sfumato.bounded_reads import bounded_bytes

FACTS = Schema("people", (Column("age", "integer", bounds=(0, 99)), Column("sex", "category", values=("f", "m"))))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    import pandas as pd

    frame = pd.DataFrame({"age": np.arange(40), "sex": ["f", "m"] * 20})
    made = sfumato.release(sfumato.read(frame, FACTS), Marginals(5.0), rows=40, ledger=False, seed=4)
    return made.save(tmp_path_factory.mktemp("hostile") / "bundle")


@pytest.fixture
def at(tmp_path, monkeypatch):
    """Work in an empty folder, and give up after a while where something never ends."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b\n1,x\n2,y\n")
    signal.alarm(60)
    yield tmp_path
    signal.alarm(0)


def changed(body: dict, where: str) -> bytes:
    if where == "wrong type":
        body["method"]["parameters"] = 7
    elif where == "no table":
        body["tables"] = "none"
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    "how", ["wrong type", "no table", "no json", "nested", "no parquet", "half a parquet", "a pipe"]
)
def test_a_damaged_bundle_is_named_by_every_verb_that_opens_it(how: str, bundle: Path, at: Path, sfumato_cli):
    place = shutil.copytree(bundle, "b")
    document, data = Path(place) / "release.json", Path(place) / "data.parquet"
    if how in ("wrong type", "no table"):
        document.write_bytes(changed(json.loads(document.read_bytes()), how))
    elif how in ("no json", "nested"):
        document.write_bytes(b"\xff{" if how == "no json" else b"[" * 100_000)
    elif how == "a pipe":
        document.unlink()
        os.mkfifo(document)
    else:
        data.write_bytes(b"no parquet" if how == "no parquet" else data.read_bytes()[:-40])
    for verb in (("export", "b", "x.csv"), ("uncertainty", "b", "--statistic", "mean age"), ("verify", "b")):
        code, _, err = sfumato_cli(*verb)
        assert code == 2, (verb, err)
        assert "bug" not in err, (verb, err)


@pytest.mark.parametrize("name", ["hex", "zip", "base64", "uu", "quopri", "rot13", "bz2", "a\x00b", "locale", ""])
def test_encodings_that_are_none_of_texts_are_refused(name: str, at: Path, sfumato_cli):
    code, _, err = sfumato_cli("schema", "draft", "t.csv", "--encoding", name)
    assert (code, "is unknown; use utf-8" in err) == (2, True), err
    Path("s.toml").write_text(
        f"[table]\nname='t'\n[source]\nencoding={json.dumps(name)}\n[columns.a]\nkind='boolean'\n"
    )
    code, _, err = sfumato_cli("schema", "show", "s.toml")
    assert (code, "is unknown; use utf-8" in err) == (2, True), err


def test_numbers_without_sense_are_refused(at: Path, sfumato_cli):
    calls = (
        ("demo", "--rows", "-1"),
        ("demo", "--rows", "0"),
        ("advise", "entropy", "--rows", "1e30", "--cells", "3"),
        ("advise", "entropy", "--rows", "9", "--cells", "99999999999999999999"),
        ("risk", "homogeneity", "t.csv", "--schema", "s.toml", "--sensitive", "b", "--out", "/"),
    )
    Path("s.toml").write_text(
        "[table]\nname='t'\n[columns.a]\nkind='integer'\nbounds=[0,9]\n[columns.b]\nkind='category'\nvalues=['x','y']\n"
    )
    for call in calls:
        code, _, err = sfumato_cli(*call)
        assert code == 2, (call, err)
    assert not Path("demo-out").exists()


def test_devices_and_pipes_are_refused_at_once(at: Path, sfumato_cli):
    os.mkfifo("pipe")
    for path in ("/dev/zero", "pipe", "/dev/urandom"):
        for call in (("schema", "import", path), ("schema", "show", path), ("schema", "draft", path)):
            code, _, err = sfumato_cli(*call)
            assert code == 2, (call, err)


def test_at_most_one_byte_more_than_the_bound_is_read(at: Path):
    Path("large").write_bytes(b"x" * 11)
    assert bounded_bytes("large", 11) == b"x" * 11
    with pytest.raises(OSError, match="it has more than 10 bytes"):
        bounded_bytes("large", 10)


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "LONG"),
        ("risk", "attack", "LONG", "t.csv"),
        ("compare", "LONG", "t.csv"),
        ("export", "LONG"),
        ("dpia", "LONG"),
        ("uncertainty", "LONG", "--statistic", "mean a"),
        ("sample", "LONG"),
        ("doctor", "LONG"),
    ],
    ids=lambda words: words[0],
)
def test_a_path_that_no_file_can_have_is_named(words: tuple[str, ...], at: Path, sfumato_cli):
    code, _, err = sfumato_cli(*("x" * 5000 if word == "LONG" else word for word in words))
    assert code == 2 and "bug in sfumato" not in err
