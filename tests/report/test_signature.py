"""Signatures: whose they are, what they cover, what breaks them, and keys that are refused before anything is spent."""

from __future__ import annotations

import base64
import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import x25519

import sfumato
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import SIGNATURE
from sfumato.bundle.signature import ENVIRONMENT, PublicKey, SigningKey, new_key
from sfumato.bundle.verify import verify_bundle
from sfumato.cli.main import run
from sfumato.errors import SigningError

SCHEMA = sfumato.Schema.parse("""
[table]
name = "people"
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.smokes]
kind = "boolean"
""")


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Path:
    """A folder with two pairs of keys."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("custodian", "forger"):
        new_key(folder / f"{name}.key")
    return folder


@pytest.fixture(scope="module")
def release() -> sfumato.Release:
    frame = pd.DataFrame({"sex": ["f", "m"] * 100, "smokes": [True, False, False, False] * 50})
    return sfumato.release(sfumato.read(frame, SCHEMA), sfumato.Marginals(epsilon=1), ledger=False)


@pytest.fixture(scope="module")
def saved(release, keys, tmp_path_factory) -> Path:
    return release.save(tmp_path_factory.mktemp("signed") / "bundle", sign=keys / "custodian.key")


@pytest.fixture
def bundle(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def test_a_signed_bundle_is_by_its_custodian(saved, keys):
    public = PublicKey.load(keys / "custodian.pub")
    check = verify_bundle(saved, key=keys / "custodian.pub")
    assert check and (check.verdict, check.signed_by) == ("verified", public.fingerprint)
    alone = verify_bundle(saved)
    assert alone and alone.signed_by == ""
    assert public.fingerprint in alone.notes[0] and "Get the public key from the custodian elsewhere" in alone.notes[0]
    document = ReleaseDocument.from_json((saved / "release.json").read_text())
    covered = {path.relative_to(saved).as_posix() for path in saved.rglob("*") if path.is_file()}
    assert covered == {*document.files, "release.json", SIGNATURE}, "release.json lists every other file"


def test_signing_is_deterministic_and_changes_nothing_else(release, saved, keys, tmp_path):
    again = release.save(tmp_path / "again", sign=SigningKey.load(keys / "custodian.key"))
    plain = release.save(tmp_path / "plain")
    for path in (path for path in saved.rglob("*") if path.is_file()):
        name = path.relative_to(saved)
        assert (again / name).read_bytes() == path.read_bytes()
        assert str(name) == SIGNATURE or (plain / name).read_bytes() == path.read_bytes()


def test_an_unsigned_bundle_and_another_key_are_problems_where_a_key_is_given(bundle, keys):
    other = verify_bundle(bundle, key=keys / "forger.pub")
    assert not other and "not by" in other.problems[0] and other.signed_by == ""
    (bundle / SIGNATURE).unlink()
    assert verify_bundle(bundle).verdict == "verified", "nobody said that it was signed"
    unsigned = verify_bundle(bundle, key=keys / "custodian.pub")
    assert unsigned.problems == ("signature.json is missing: nobody signed this bundle",)


def test_a_forger_who_signs_anew_is_found_by_the_key(bundle, keys):
    SigningKey.load(keys / "forger.key").sign(bundle, overwrite=True)
    assert verify_bundle(bundle)
    assert not verify_bundle(bundle, key=keys / "custodian.pub")


CHANGES = {
    "the document": lambda body, public: body["covers"].update({"release.json": "0" * 64}),
    "the signature": lambda body, public: body.update(signature="A" * 86 + "=="),
    "the key": lambda body, public: body.update(public_key=public),
    "the fingerprint": lambda body, public: body.update(fingerprint="0" * 32),
    "no base64": lambda body, public: body.update(signature="?"),
    "too short a key": lambda body, public: body.update(public_key="AAAA"),
    "another algorithm": lambda body, public: body.update(algorithm="none"),
    "one more field": lambda body, public: body.update(approved_by="the authority"),
    "one more file": lambda body, public: body["covers"].update({"../other": "0" * 64}),
    "nothing covered": lambda body, public: body.update(covers={}),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("with_key", [True, False])
def test_a_changed_signature_is_found_with_and_without_a_key(bundle, keys, change, with_key):
    body = json.loads((bundle / SIGNATURE).read_text())
    raw = PublicKey.load(keys / "forger.pub")
    CHANGES[change](body, base64.b64encode(raw.raw).decode())
    (bundle / SIGNATURE).write_text(json.dumps(body, sort_keys=True, indent=2) + "\n")
    check = verify_bundle(bundle, key=keys / "custodian.pub" if with_key else None)
    assert not check and all(problem.startswith(SIGNATURE) for problem in check.problems), check.problems


def test_a_signature_in_another_layout_is_found(bundle):
    body = json.loads((bundle / SIGNATURE).read_text())
    (bundle / SIGNATURE).write_text(json.dumps(body))
    assert verify_bundle(bundle).problems == ("signature.json was changed after it was written",)
    (bundle / SIGNATURE).write_bytes(b"\xff" * 100)
    assert "cannot be read" in verify_bundle(bundle).problems[0]
    (bundle / SIGNATURE).write_bytes(b" " * 100_000)
    assert "more than" in verify_bundle(bundle).problems[0]


def test_another_release_under_the_same_signature_is_found(release, bundle, keys):
    body = json.loads((bundle / "release.json").read_text())
    body["notes"] = [*body["notes"], "approved by the authority"]
    (bundle / "release.json").write_text(ReleaseDocument.model_validate(body).sealed().to_json())
    problems = verify_bundle(bundle, key=keys / "custodian.pub").problems
    assert "signature.json covers another release.json: this one was changed after it was signed" in problems


def test_a_statement_that_was_added_or_taken_away_is_named(bundle, keys):
    private = sfumato.read(pd.DataFrame({"sex": ["f", "m"] * 100, "smokes": [True, False] * 100}), SCHEMA)
    statement = sfumato.quality(bundle, private, 1, ledger=False).save(bundle)
    uncovered, key = "does not cover quality.json", keys / "custodian.pub"
    assert any(uncovered in note for note in verify_bundle(bundle).notes)
    assert any(uncovered in problem for problem in verify_bundle(bundle, key=key).problems)
    assert command("key", "sign", str(bundle), "--sign", str(keys / "custodian.key")) == 0
    assert verify_bundle(bundle, key=keys / "custodian.pub")
    statement.unlink()
    assert "signature.json covers quality.json, which is missing" in verify_bundle(bundle).problems


def test_a_statement_that_the_ledger_knows_and_the_folder_lacks_is_named(tmp_path):
    ledger = sfumato.Ledger(tmp_path / "budget.db")
    ledger.open_table("people", epsilon=5)
    private = sfumato.read(pd.DataFrame({"sex": ["f", "m"] * 100, "smokes": [True, False] * 100}), SCHEMA)
    folder = sfumato.release(private, sfumato.Marginals(epsilon=1), ledger=ledger).save(tmp_path / "bundle")
    statement = sfumato.quality(folder, private, 1, ledger=ledger).save(folder)
    assert not any("lacks" in note for note in verify_bundle(folder, ledger).notes)
    statement.unlink()
    check = verify_bundle(folder, ledger)
    assert check and "knows a quality statement on this release that the folder lacks: entry 4" in check.notes[0]


def command(*arguments: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sfumato", *arguments])
        return run()


def locked(path: Path) -> Path:
    new_key(path, "correct horse")
    return path


def of_others(path: Path) -> Path:
    new_key(path)
    path.chmod(0o640)
    return path


def another_kind(path: Path) -> Path:
    pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(x25519.X25519PrivateKey.generate().private_bytes(serialization.Encoding.PEM, pkcs8, plain))
    path.chmod(0o600)
    return path


def rubbish(path: Path) -> Path:
    path.write_bytes(b"\0" * 10)
    path.chmod(0o600)
    return path


def public(path: Path) -> Path:
    new_key(path)
    path.with_suffix(".pub").chmod(0o600)
    return path.with_suffix(".pub")


BAD = {
    "absent": (lambda path: path, "there is no key"),
    "a folder": (lambda path: path.parent, "there is no key"),
    "locked": (locked, "has a passphrase, and none was given"),
    "readable by others": (of_others, "others may read or change the private key"),
    "another kind": (another_kind, "is no Ed25519 key"),
    "rubbish": (rubbish, "is no private key in PEM form"),
    "public": (public, "is no private key in PEM form"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_key_that_cannot_sign_is_refused_before_anything_is_spent(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    make, words = BAD[name]
    key = str(make(tmp_path / "bad.key"))
    Path("people.csv").write_text("sex,smokes\n" + "f,true\nm,false\n" * 100)
    SCHEMA.save("people.toml")
    assert command("ledger", "init", "budget.db", "--table", "people", "--epsilon", "2") == 0
    common = ("--ledger", "budget.db", "--epsilon", "1", "--out", "bundle", "--sign", key)
    assert command("release", "people.csv", "--schema", "people.toml", "--method", "marginals", *common) == 2
    assert words in capsys.readouterr().err
    assert command("synthesize", "people.csv", "--no-person", *common) == 2
    assert sfumato.Ledger("budget.db").account("people").spent_epsilon == "0" and not Path("bundle").exists()


def test_a_passphrase_comes_from_the_environment_and_a_wrong_one_is_named(tmp_path, monkeypatch, bundle):
    key = new_key(tmp_path / "a.key", "correct horse")
    monkeypatch.setenv(ENVIRONMENT, "battery staple")
    with pytest.raises(SigningError, match=r"passphrase of .* is wrong"):
        SigningKey.load(tmp_path / "a.key")
    monkeypatch.setenv(ENVIRONMENT, "correct horse")
    assert SigningKey.load(tmp_path / "a.key").public.fingerprint == key.fingerprint
    monkeypatch.delenv(ENVIRONMENT)
    assert SigningKey.load(tmp_path / "a.key", lambda: "correct horse").public.raw == key.raw


def test_keys_are_made_for_their_owner_and_never_overwritten(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command("key", "new") == 0
    printed = capsys.readouterr().out
    made = PublicKey.load("custodian.pub")
    assert made.fingerprint in printed and "BEGIN PUBLIC KEY" in printed and "PRIVATE" not in printed
    assert stat.S_IMODE(Path("custodian.key").stat().st_mode) == 0o600
    before = Path("custodian.key").read_bytes()
    refused = {"custodian.key": "exists", "none/a.key": "no folder", "b.pub": "the name of a public key"}
    for bad, words in refused.items():
        assert command("key", "new", "--out", bad) == 2
        assert words in capsys.readouterr().err
    assert Path("custodian.key").read_bytes() == before and not Path("b.pub").exists()


def test_a_private_key_is_no_public_one(bundle, keys, tmp_path):
    with pytest.raises(SigningError, match="is a private key, which only its owner may have"):
        verify_bundle(bundle, key=keys / "custodian.key")
    (tmp_path / "odd.pub").write_text("nothing")
    with pytest.raises(SigningError, match="no public key in PEM form"):
        verify_bundle(bundle, key=tmp_path / "odd.pub")


def test_the_command_line_says_who_signed(bundle, keys, capsys):
    public = PublicKey.load(keys / "custodian.pub").fingerprint
    assert command("verify", str(bundle), "--key", str(keys / "custodian.pub")) == 0
    assert f"signed by {public}" in capsys.readouterr().out
    assert command("verify", str(bundle), "--key", str(keys / "forger.pub")) == 2
    capsys.readouterr()
    assert command("verify", str(bundle), "--key", str(keys / "custodian.pub"), "--json") == 0
    assert json.loads(capsys.readouterr().out)["signed_by"] == public


def test_only_what_verifies_is_signed(bundle, keys, capsys):
    (bundle / "data.csv").write_text("nothing")
    before = (bundle / SIGNATURE).read_bytes()
    assert command("key", "sign", str(bundle), "--sign", str(keys / "custodian.key")) == 2
    assert "does not verify" in capsys.readouterr().err
    assert (bundle / SIGNATURE).read_bytes() == before


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_checks_the_same_signature(saved, keys, tmp_path):
    body = json.loads((saved / SIGNATURE).read_text())
    lines = "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(body["covers"].items()))
    (tmp_path / "message").write_text(f"sfumato bundle signature 1\n{lines}")
    (tmp_path / "signature").write_bytes(base64.b64decode(body["signature"]))
    how = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(keys / "custodian.pub"), "-rawin"]
    call = [*how, "-in", "message", "-sigfile", "signature"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Verified Successfully" in done.stdout, done.stderr
