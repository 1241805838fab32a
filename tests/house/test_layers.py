"""Lower folders never import higher ones: read from the source, whether an import is lazy or for types alone."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import layers
import pytest

import sfumato
from source_tree import tree_of

pytestmark = pytest.mark.xdist_group("source")  # parsed once, for all tests that read it
SOURCE = Path(sfumato.__file__).parent

HEIGHTS = layers.heights()
ROOT = layers.FLOORS[-1].names
FRONT = ("cli", "papers")
"""Who may use the names that users use: ``sfumato.release``, ``sfumato.AIM``."""


@cache
def imported(tree: ast.Module) -> list[str]:
    """Return every module of the package that a module imports, wherever the import stands."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "sfumato":
            found += [f"sfumato.{alias.name}" if alias.name in ROOT else "sfumato" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.append(node.module)
        elif isinstance(node, ast.ImportFrom):
            found.append("relative")
    return [name for name in found if name == "relative" or name.split(".")[0] == "sfumato"]


def floor_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def upward(floor: str, tree: ast.Module) -> list[str]:
    """Return the imports of a module of one floor that do not go down or stay inside it."""
    wrong: list[str] = []
    for name in imported(tree):
        target = name.split(".")[1] if "." in name else None
        above = floor not in FRONT if target is None else HEIGHTS.get(target, len(HEIGHTS)) >= HEIGHTS[floor]
        if target != floor and (above or name == "relative"):
            wrong.append(name)
    return wrong


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def test_every_folder_is_a_floor_and_every_floor_is_there():
    there = {floor_of(path) for path in MODULES}
    assert there == set(HEIGHTS)


def test_no_module_imports_from_above():
    found = {str(path.relative_to(SOURCE)): upward(floor_of(path), tree_of(path)) for path in MODULES}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    "mutant",
    [
        "from sfumato.bundle.write import save_bundle",
        "def late():\n    from sfumato.risk import location",
        "if TYPE_CHECKING:\n    import sfumato.cli.main",
        "from sfumato import release",
        "import sfumato",
        "from . import sibling",
    ],
)
def test_an_import_from_above_is_found_wherever_it_stands(mutant):
    assert upward("mechanisms", ast.parse(mutant))


def test_imports_from_below_and_from_beside_are_allowed():
    text = "from sfumato.mechanisms.counts import Histogram\nfrom sfumato.schema import Schema\nimport numpy\n"
    assert upward("mechanisms", ast.parse(text)) == []


def test_no_method_imports_another():
    methods = SOURCE / "mechanisms"
    found: dict[str, list[str]] = {}
    for path in methods.rglob("*.py"):
        own = path.relative_to(methods).parts[0]
        others = [name.split(".")[2] for name in imported(tree_of(path)) if name.startswith("sfumato.mechanisms.")]
        shared = {folder.stem for folder in methods.glob("*.py")}
        found[str(path.relative_to(methods))] = sorted({name for name in others if name != own} - shared)
    assert {name: others for name, others in found.items() if others} == {}


def test_nothing_imports_the_papers():
    for path in MODULES:
        if floor_of(path) != "papers":
            assert not any(name.startswith("sfumato.papers") for name in imported(tree_of(path))), path


def test_the_picture_is_drawn_from_the_same_list():
    assert layers.PICTURE.read_text(encoding="utf-8") == layers.picture(), "run: python docs/layers.py"
    assert all(f">{floor.names[0]}" in layers.picture() for floor in layers.FLOORS)


def test_functions_of_the_front_stay_functions_when_folders_of_their_name_are_imported():
    import sfumato.core.plan
    import sfumato.mechanisms.counts.histogram

    assert callable(sfumato.release)
    assert "histogram" in sfumato.methods()
