"""A disk that is full, on the command line: refused before the spend, or the bundle is kept elsewhere."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import pytest

import sfumato
from sfumato.bundle import target_folder
from sfumato.bundle import write as bundle
from sfumato.bundle.verify import verify_bundle
from sfumato.example import codebook, write_households

SMALL = namedtuple("Usage", "total used free")(10**9, 0, 50_000)


@pytest.mark.parametrize("verb", ["release", "synthesize"])
def test_the_command_line_looks_at_the_space_first(tmp_path, monkeypatch, sfumato_cli, verb):
    monkeypatch.chdir(tmp_path)
    write_households(Path("t.csv"), 300)
    codebook().confirm(sources={"*": "code book"}, by="Ann").save("s.toml")
    sfumato.Ledger("L").open_table("households", epsilon=5, delta="1e-6")
    monkeypatch.setattr(target_folder.shutil, "disk_usage", lambda _: SMALL)
    said = ("-s", "s.toml") if verb == "release" else ("--name", "households", "--no-person")
    code, _, error = sfumato_cli(verb, "t.csv", *said, "--epsilon", "1", "--ledger", "L", "--out", "b", "--anyway")
    assert code == 2 and "NoSpaceError" in error and "0.05 MB are free" in error
    assert sfumato.Ledger("L").history() == () and not Path("b").exists()


def test_the_command_line_keeps_it_too(tmp_path, monkeypatch, sfumato_cli):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text('[table]\nname = "t"\n[columns.sex]\nkind = "category"\nvalues = ["f", "m"]\n')
    (tmp_path / "t.csv").write_text("sex\nf\nm\n")
    sfumato.Ledger("L").open_table("t", epsilon=5)
    real = bundle.write_bundle

    def write(release, folder, key=None, pages=True):
        if folder.is_relative_to(tmp_path / "out"):
            raise OSError(28, "No space left on device")
        return real(release, folder, key, pages)

    monkeypatch.setattr(bundle, "write_bundle", write)
    said = ("-s", "s.toml", "-m", "histogram", "--set", "column=sex", "--epsilon", "1", "--anyway")
    code, _, error = sfumato_cli("release", "t.csv", *said, "--ledger", "L", "--out", "out/b")
    assert "nothing is lost" in error
    (folder,) = tmp_path.glob("sfumato-kept-*/b")
    assert code == 2 and "KeptElsewhereError" in error and "nothing is lost" in error
    assert verify_bundle(folder, "L").ok
