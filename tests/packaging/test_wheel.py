"""Wheel and source archive hold what they should, and the wheel runs where no checkout is."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import tarfile
import tomllib
from pathlib import Path

import building
import pytest

from sfumato.version import __version__

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed"),
    pytest.mark.xdist_group("wheel"),
]
WHERE = """
import json, sys
from importlib import metadata
import sfumato
from sfumato.privacy import noise
print(json.dumps([sfumato.__file__, noise.__file__, metadata.version("sfumato"), sys.path]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> building.Built:
    return building.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def environment(built, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("outside") / "venv"
    building.install_beside(built.wheel, folder)
    return folder


def run(environment: Path, name: str, *arguments: str) -> str:
    asked = [building.program(environment, name), *arguments]
    done = subprocess.run(
        asked, cwd=environment.parent, env=building.outside(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_the_package_with_its_templates_and_nothing_else(built):
    package = {
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*") if path.is_file() and path.parent.name[0] != "_"
    }
    names = {name for name in built.wheel_names() if ".dist-info/" not in name}
    assert names == package
    assert {
        "sfumato/py.typed",
        "sfumato/report/templates/report.html.j2",
        "sfumato/report/templates/style.css",
    } <= names


def test_the_archive_holds_source_and_examples_but_no_tests_and_no_pictures(built):
    names = built.archive_names()
    tops = {name.partition("/")[0] for name in names}
    files = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md", "constraints.txt"}
    assert tops - {".gitignore"} == {"src", "examples", "pyproject.toml"} | files  # hatchling adds .gitignore
    assert not [name for name in names if name.endswith((".png", ".svg", ".pyc"))]
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "examples").glob("*.py")} <= names


def test_the_archive_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(built.archive) as file:
        file.extractall(tmp_path / "unpacked", filter="data")
    again = building.build(tmp_path / "dist", next((tmp_path / "unpacked").iterdir()))
    assert again.wheel.read_bytes() == built.wheel.read_bytes()


def test_the_wheel_is_imported_and_not_the_checkout(environment):
    package, part, version, path = json.loads(run(environment, "python", "-W", "ignore", "-c", WHERE))
    inside = str(environment.resolve())
    assert str(Path(package).resolve()).startswith(inside) and str(Path(part).resolve()).startswith(inside)
    assert version == __version__ and str(SOURCE) not in path and str(ROOT) not in path


def test_the_command_says_its_version_and_completes_its_verbs(environment):
    assert run(environment, "sfumato", "--version").strip() == f"sfumato {__version__}"
    script = run(environment, "python", "-W", "ignore", "-c", COMPLETED)
    assert "release" in script.split()


COMPLETED = """
import os, sys
os.environ.update(_SFUMATO_COMPLETE="complete_bash", COMP_WORDS="sfumato rel", COMP_CWORD="1")
sys.argv = ["sfumato"]
from sfumato.cli import main
main()
"""


def test_the_demo_runs_and_verifies_outside_the_checkout(environment):
    said = run(environment, "sfumato", "demo", "--rows", "600", "--out", "demo")
    assert "(holds); spent 4 of 4" in said
    bundle, ledger = environment.parent / "demo" / "synthetic", environment.parent / "demo" / "ledger.db"
    assert "</html>" in (bundle / "report.html").read_text(encoding="utf-8")
    assert "verified" in run(environment, "sfumato", "verify", str(bundle), "--ledger", str(ledger))


def test_what_is_said_of_the_version_agrees():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert project["name"] in project["scripts"]  # the command has the name of the package: pipx and uvx find it
    assert f"version: {__version__}\n" in citation and f"## [{__version__}] - " in changes
    released = changes.partition(f"## [{__version__}] - ")[2].partition("\n")[0]
    assert f"date-released: {released}\n" in citation
