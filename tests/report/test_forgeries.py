"""Forgeries of one bundle whose hashes and seal were put right: each contradiction is found without a ledger."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import SIGNATURE, file_record
from sfumato.bundle.read import open_bundle
from sfumato.bundle.reproduction_script import reproduction_script
from sfumato.bundle.signature import SigningKey, new_key
from sfumato.bundle.verify import verify_bundle
from sfumato.bundle.verify_generated import age_of
from sfumato.bundle.verify_guarantee import FITTED
from sfumato.core.method import method_class
from sfumato.core.registry import REGISTRY
from sfumato.mechanisms.graphical.method import GraphicalMethod

EVIL = b"import os\nos.system('echo taken')\n"
SCHEMA = sfumato.Schema.parse("""
[table]
name = "people"
[columns.age]
kind = "integer"
bounds = [0, 9]
[columns.sex]
kind = "category"
values = ["f", "m"]
""")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory) -> sfumato.Ledger:
    made = sfumato.Ledger(tmp_path_factory.mktemp("ledger") / "budget.db")
    made.open_table("people", epsilon=9, delta=1e-6)
    return made


@pytest.fixture(scope="module")
def private() -> Any:
    frame = pd.DataFrame({"age": [i % 10 for i in range(300)], "sex": ["f", "m", "m"] * 100})
    return sfumato.read(frame, SCHEMA)


@pytest.fixture(scope="module")
def saved(private, ledger, tmp_path_factory) -> Path:
    release = sfumato.release(private, sfumato.Marginals(epsilon=1), ledger=ledger)
    return release.save(tmp_path_factory.mktemp("rows") / "bundle")


@pytest.fixture(scope="module")
def fitted(private, tmp_path_factory) -> tuple[Path, Path]:
    """Two runs of one method, so that the model of one can be put into the bundle of the other."""
    folder = tmp_path_factory.mktemp("fitted")
    runs = [sfumato.release(private, sfumato.MST(epsilon=1), ledger=False) for _ in range(2)]
    first, second = (run.save(folder / str(number)) for number, run in enumerate(runs))
    return first, second


@pytest.fixture
def bundle(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def reseal(folder: Path, change: Callable[[Any], object] = lambda body: None) -> None:
    """Change release.json, and put right every hash, the list of files and the seal, as a careful forger would."""
    body = json.loads((folder / "release.json").read_text())
    paths = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    body["files"] = {path: file_record(folder / path).model_dump() for path in paths if path != "release.json"}
    change(body)
    (folder / "release.json").write_text(ReleaseDocument.model_validate(body).sealed().to_json())


def redraw(folder: Path) -> None:
    """Draw every page anew, so that only what the pages cannot know is left to find."""
    from sfumato.bundle.layout import PAGES
    from sfumato.report.bundle_pages import render_pages

    reseal(folder)
    opened = open_bundle(folder)
    for name, draw in render_pages(opened.document, opened.schema, dict(opened.tables)).items():
        if name in PAGES:
            (folder / name).write_text(draw())
    reseal(folder)


def metadata(folder: Path, **facts: str) -> None:
    table = pq.read_table(folder / "data.parquet")
    changed = {**table.schema.metadata, **{f"sfumato.{key}".encode(): value.encode() for key, value in facts.items()}}
    pq.write_table(table.replace_schema_metadata(changed), folder / "data.parquet")
    redraw(folder)


def recorded(**changes: Any) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        reseal(folder, lambda body: body["recorded"].update(changes))
        redraw(folder)

    return forge


def more_rows(folder: Path) -> None:
    table = pq.read_table(folder / "data.parquet")
    longer = pa.concat_tables([table, table.slice(0, 40)]).replace_schema_metadata(table.schema.metadata)
    pq.write_table(longer, folder / "data.parquet")
    pa_csv.write_csv(longer, folder / "data.csv")
    reseal(folder, lambda body: body["tables"][0].update(rows=longer.num_rows))
    redraw(folder)


def total(folder: Path) -> None:
    reseal(folder, lambda body: body["statistics"].update(noisy_total=1e6))
    redraw(folder)


def comment(folder: Path) -> None:
    text = (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text("# approved by the authority\n" + text)
    redraw(folder)


def added(name: str) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(EVIL)
        redraw(folder)

    return forge


def renamed(folder: Path) -> None:
    (folder / "data.parquet").rename(folder / "setup.parquet")
    reseal(folder, lambda body: body["tables"][0].update(parquet="setup.parquet"))
    redraw(folder)


def version(number: str) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        (folder / "reproduce.py").write_bytes(EVIL)
        reseal(folder, lambda body: body["versions"].update(sfumato=number))

    return forge


def without_pages(folder: Path) -> None:
    for name in ("report.html", "README.html", "README.md"):
        (folder / name).unlink()
    (folder / "reproduce.py").write_bytes(EVIL)
    reseal(folder)


def other_module(folder: Path) -> None:
    """Let the script of an alleged earlier version import something that is not of sfumato."""

    def change(body: Any) -> None:
        body["versions"].update(sfumato="0.1.0")
        body["method"].update(module="subprocess", class_name="Popen")

    reseal(folder, change)
    document = ReleaseDocument.from_json((folder / "release.json").read_text())
    (folder / "reproduce.py").write_text(reproduction_script(document))
    reseal(folder)


def hidden_line(folder: Path) -> None:
    """Add a line to the script of an alleged earlier version, whose words may differ."""
    text = (folder / "reproduce.py").read_text()
    (folder / "reproduce.py").write_text(text.replace("import sfumato\n", "import sfumato, setup\n", 1))
    reseal(folder, lambda body: body["versions"].update(sfumato="0.1.0"))


FORGERIES: dict[str, tuple[Callable[[Path], None], str]] = {
    "guarantee of the Parquet file": (lambda f: metadata(f, guarantee="epsilon 0.01"), "what its metadata say"),
    "version of the Parquet file": (lambda f: metadata(f, version="9"), "what its metadata say"),
    "one more word in the Parquet file": (lambda f: metadata(f, approved="yes"), "what its metadata say"),
    "spent less than its event": (recorded(spent_epsilon="0.1", left_epsilon="8.9"), "had spent epsilon 0.1"),
    "more left than the cap leaves": (recorded(left_epsilon="9"), "cannot have epsilon 9 left of 9"),
    "more spent than the cap": (recorded(spent_epsilon="10", left_epsilon="0"), "spent epsilon 10 of a cap of 9"),
    "delta that does not add up": (recorded(left_delta="1"), "cannot have delta 1 left"),
    "negative spending under tight composition": (recorded(composition="tight", left_epsilon="-1"), "cannot have"),
    "another head": (recorded(head="0" * 64), "its head is not the last"),
    "noisy total far from the rows": (total, "the method draws 1,000,000"),
    "more rows than the noisy total": (more_rows, "and the method draws"),
    "a comment in the schema": (comment, "schema.toml is not written as sfumato writes it"),
    "a script of one's own": (added("install.sh"), "install.sh, which no such release writes"),
    "a page of one's own": (added("more.html"), "more.html, which no such release writes"),
    "a module that the script would import": (added("argparse.py"), "argparse.py, which no such release writes"),
    "a file among tables": (added("tables/more.csv"), "tables/more.csv, which no such release writes"),
    "a model where the method fits none": (added("model.sfumato"), "model.sfumato, which no such release writes"),
    "a warning without a seed": (added("NOT-FOR-RELEASE.txt"), "NOT-FOR-RELEASE.txt, which no such release writes"),
    "a table under another name": (renamed, "which no release calls so"),
    "a later version": (version("9.9"), "which this one"),
    "no version": (version("mine"), "which this one"),
    "an earlier version, another script": (version("0.1.0"), "do not run it"),
    "another module in an earlier version": (other_module, "does not live in subprocess:Popen"),
    "one more import in an earlier version": (hidden_line, "do not run it"),
    "no pages, another script": (without_pages, "do not run it"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_contradicts_itself_is_found_without_a_ledger(name, bundle):
    forge, words = FORGERIES[name]
    forge(bundle)
    check = verify_bundle(bundle)
    assert not check
    assert any(words in problem for problem in check.problems), check.problems


def test_the_honest_bundle_and_the_one_that_was_redrawn_hold(saved, bundle, ledger):
    redraw(bundle)
    assert (bundle / "release.json").read_bytes() == (saved / "release.json").read_bytes()
    check = verify_bundle(saved, ledger)
    assert check and check.verdict == "verified" and not check.notes, check
    assert check.fingerprint == ReleaseDocument.from_json((saved / "release.json").read_text()).fingerprint


def test_a_whole_forgery_passes_alone_and_is_found_by_the_ledger_or_the_signature(saved, bundle, ledger, tmp_path):
    """Documented: what contradicts nothing can only be found by somebody who knows more than the bundle."""
    new_key(tmp_path / "custodian.key")
    SigningKey.load(tmp_path / "custodian.key").sign(bundle)
    table = pq.read_table(bundle / "data.parquet")
    ages = table.column("age").to_pylist()
    forged = table.set_column(0, "age", pa.array([9 - ages[0], *ages[1:]], table.schema.field("age").type))
    pq.write_table(forged.replace_schema_metadata(table.schema.metadata), bundle / "data.parquet")
    pa_csv.write_csv(forged, bundle / "data.csv")
    signature = (bundle / SIGNATURE).read_bytes()
    (bundle / SIGNATURE).unlink()
    redraw(bundle)
    assert verify_bundle(bundle).verdict == "verified"
    assert not verify_bundle(bundle, ledger)
    (bundle / SIGNATURE).write_bytes(signature)
    assert not verify_bundle(bundle, key=tmp_path / "custodian.pub")


def test_every_method_that_fits_a_model_must_bring_it():
    assert {name for name in REGISTRY if issubclass(method_class(name), GraphicalMethod)} == {*FITTED}


def test_the_model_of_another_run_and_a_dropped_model_are_found(fitted, tmp_path):
    first, second = fitted
    folder = Path(shutil.copytree(first, tmp_path / "copy"))
    shutil.copy(second / "model.sfumato", folder / "model.sfumato")
    redraw(folder)
    assert any("is of another run" in problem for problem in verify_bundle(folder).problems)
    (folder / "model.sfumato").unlink()
    redraw(folder)
    assert any("does not list model.sfumato" in problem for problem in verify_bundle(folder).problems)


def test_a_release_that_is_older_than_its_schema_is_found(bundle):
    text = (bundle / "schema.toml").read_text()
    signed = sfumato.Schema.parse(text + '\n[confirmed]\nby = "A"\non = 2026-01-01\n')
    (bundle / "schema.toml").write_text(signed.to_toml())
    reseal(bundle, lambda body: body.update(created_at="2019-01-01T00:00:00+00:00"))
    assert any("was confirmed on 2026-01-01" in problem for problem in verify_bundle(bundle).problems)


def test_a_bundle_of_an_earlier_version_is_verified_as_far_as_it_goes(bundle):
    """The script may have other words and another order of keywords; pages differ, for they name the version."""
    text = (bundle / "reproduce.py").read_text()
    (bundle / "reproduce.py").write_text(text.replace("same schema, same method", "in other words", 1) + "# bye\n")
    reseal(bundle, lambda body: body["versions"].update(sfumato="0.1.0"))
    check = verify_bundle(bundle)
    assert check.ok, check.problems
    assert check.verdict == "verified, but not in full"
    assert "report.html" in check.unchecked[0] and "sfumato 0.1.0 made this bundle" in check.unchecked[0]
    assert "the plan" not in check.unchecked[0] and "reproduce.py" not in check.unchecked[0]
    assert any(title.startswith("reproduce.py is the script") for title in check.checks)


def test_versions_stand_in_order():
    ages = {"0.0.9": "earlier", "0.1.0": "earlier", "99.0.0": "later", "": "later", "1.x": "later", "latest": "later"}
    assert {version: age_of(version) for version in ages} == ages
    assert age_of(sfumato.__version__) == "this" and age_of(None) == "later"
