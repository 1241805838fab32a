"""Every example runs by one command, prints what its page shows, and writes bundles that verify."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import sfumato
from docs.test_docs import blocks_of, commands_of, require_shown
from sfumato.bundle.verify import verify_bundle

FOLDER = Path(__file__).parents[2] / "examples"
BUNDLES = {
    "customers": ("synthetic-customers",),
    "hospital": ("synthetic-stays",),
    "labour_force": ("status-by-region", "synthetic-persons"),
    "schools": ("tables-by-district", "synthetic-pupils"),
    "sensors": ("mean-load",),
}
PAGE = FOLDER.parent / "docs" / "examples.md"
SHOWN = {command: shown for block in blocks_of(PAGE) for command, shown in commands_of(block)}
LONGEST = 130
"""Lines: an example is read on one sheet."""


def loaded(name: str):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def beside_common(monkeypatch):
    """A script finds the module beside it; no other test shall."""
    monkeypatch.syspath_prepend(FOLDER)
    yield
    sys.modules.pop("common", None)


@pytest.mark.parametrize("name", sorted(BUNDLES))
def test_an_example_runs_and_its_bundles_verify(name, tmp_path, capsys, monkeypatch, beside_common):
    monkeypatch.chdir(tmp_path)
    folder = Path(f"{name}-out")
    loaded(name).main([])
    printed = capsys.readouterr().out
    require_shown(SHOWN[f"python examples/{name}.py"], printed, name, noisy=True)
    assert printed.count("left of the budget: epsilon") == printed.count("Guarantee:") == len(BUNDLES[name])
    for bundle in BUNDLES[name]:
        found = verify_bundle(folder / bundle, folder / "ledger.db")
        assert found.ok and found.stamp is None, found
        assert str(folder / bundle / "report.html") in printed
    assert sfumato.Ledger(folder / "ledger.db").verify()


def test_what_an_earlier_run_wrote_is_left_alone(tmp_path, beside_common):
    with pytest.raises(SystemExit, match="name a new folder"):
        loaded("sensors").main(["--out", str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_tried_shown_and_short():
    there = {path.stem for path in FOLDER.glob("*.py")} - {"common", "release_households"}
    assert there == set(BUNDLES)
    assert set(SHOWN) == {f"python examples/{name}.py" for name in there}
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in FOLDER.glob("*.py")) <= LONGEST
