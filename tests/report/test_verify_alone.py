"""`verify` by itself: without the layers above the bundle, and on a bundle of an earlier version."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import sfumato
from sfumato.bundle import open_bundle, verify, verify_bundle, verify_generated
from sfumato.example import codebook, households
from sfumato.lazy import HOOKS

CHECKED_ABOVE = tuple(name for name in HOOKS if name.startswith("bundle.") and not name.endswith(("_copy", "_errors")))
STORED = Path(__file__).with_name("bundle-0.2.0.tar.xz")

ALONE = """
import json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[:2] in [["sfumato", layer] for layer in sys.argv[2].split()]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from sfumato.bundle import verify_bundle
print(verify_bundle(sys.argv[1]).model_dump_json())
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    """A bundle with all that hooks check: pages, a fitted model, main numbers and a quality statement."""
    table = sfumato.read(households(300), codebook())
    release = sfumato.release(table, sfumato.MST(epsilon=1, columns=["age", "sex", "region"]), ledger=False)
    folder = release.save(tmp_path_factory.mktemp("alone") / "bundle", reruns=4)
    sfumato.quality(folder, table, 1, ledger=False).save(folder)
    return folder


def verified_without(bundle: Path, *layers: str) -> dict[str, list[str]]:
    command = [sys.executable, "-W", "ignore", "-c", ALONE, str(bundle), " ".join(layers)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_bundle_is_verified_where_nothing_above_it_is_installed(bundle):
    assert not verify_bundle(bundle).unchecked
    above = ("metrics", "evaluate", "risk", "report", "cli", "workbench", "papers")
    check = verified_without(bundle, *above)
    assert check["ok"], check["problems"]
    pages, numbers = check["unchecked"] if "report" in check["unchecked"][0] else reversed(check["unchecked"])
    assert "registry.yaml were not compared: sfumato.report is not installed" in pages
    assert "the main numbers, the measures of quality.json were not compared" in numbers
    assert numbers.endswith("sfumato.evaluate is not installed")


def test_what_a_missing_layer_cannot_check_is_told_beside_what_others_found(bundle, tmp_path):
    import shutil

    forged = tmp_path / "forged"
    shutil.copytree(bundle, forged)
    (forged / "report.html").write_text("another page")
    check = verified_without(forged, "report")
    assert not check["ok"] and any("report.html was changed" in problem for problem in check["problems"])
    assert "sfumato.report is not installed" in check["unchecked"][0]


@pytest.mark.parametrize("hook", [name for name in CHECKED_ABOVE if "selection" not in name])
def test_a_hook_adds_problems_and_a_missing_one_is_listed(bundle, monkeypatch, hook):
    monkeypatch.setitem(HOOKS, hook, "sfumato.absent.module:check")
    check = verify_bundle(bundle)
    assert check.ok and check.verdict == "verified, but not in full", check.problems
    assert any("sfumato.absent is not installed" in line for line in check.unchecked)


def test_a_hook_that_fails_is_a_problem_of_its_check(bundle, monkeypatch):
    monkeypatch.setitem(HOOKS, "bundle.main_number_problems", "json:loads")
    assert any("main numbers" in problem for problem in verify_bundle(bundle).problems)


@pytest.fixture
def earlier(tmp_path, monkeypatch) -> Path:
    """A bundle that sfumato 0.2.0 wrote: rows of AIM, a fitted model and a quality statement."""
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    for module in (verify, verify_generated):
        monkeypatch.setattr(module, "__version__", "0.3.0")
    return tmp_path / "aim"


def test_a_bundle_of_0_2_is_verified_but_for_its_pages(earlier):
    check = verify_bundle(earlier)
    assert check.ok, check.problems
    pages, measures = check.unchecked
    assert measures.endswith("sfumato 0.2.0 made quality.json, and this is 0.3.0")
    assert "registry.yaml were not compared: sfumato 0.2.0 made this bundle, and this is 0.3.0" in pages
    assert "the plan" not in pages and "of quality.json" in measures
    bundle = open_bundle(earlier)
    assert bundle.document.method.module == "sfumato.methods.graphical.aim", "bundles of 0.2 name the class"
    assert bundle.method() == sfumato.AIM(epsilon=1)


def test_a_forged_bundle_of_0_2_is_found(earlier):
    document = earlier / "release.json"
    document.write_text(document.read_text().replace('"epsilon": "1"', '"epsilon": "0.5"'))
    assert not verify_bundle(earlier).ok


def test_a_document_names_a_method_by_its_registered_name(bundle):
    method = json.loads((bundle / "release.json").read_text())["method"]
    assert method["name"] == "mst" and not {"module", "class_name"} & set(method)
    script = (bundle / "reproduce.py").read_text()
    assert "METHOD = sfumato.MST(" in script and "from sfumato.bundle import prepare_output" in script
    lines = [line for line in script.splitlines() if line.startswith(("import ", "from "))]
    assert lines == [
        "import argparse",
        "from pathlib import Path",
        "import sfumato",
        "from sfumato.bundle import prepare_output",
    ]
