"""Reproductions stand beside the library: they import what its folders list, and nothing that lies inside them."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import sfumato
from sfumato import papers

SOURCE = Path(sfumato.__file__).parent
FOLDER = Path(papers.__file__).parent
PUBLIC = ("risk", "metrics", "evaluate", "sampling", "privacy")
"""Folders whose modules are public, each with a subject of its own."""
METHODS = ("published", "families", "blend", "prediction", "ridge_mean")
"""Forms that run on a user's table: built of the parts that methods are built of."""


def is_method_or_verb(path: Path) -> bool:
    """Say whether a module is a published form, or a verb of the command line."""
    names = path.relative_to(FOLDER).with_suffix("").parts
    return names[-1].endswith("_verb") or any(name.startswith(METHODS) for name in names)


def imported(code: str) -> Iterator[tuple[str, str]]:
    """Yield every module of sfumato that a source imports from, and the name that it takes."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sfumato":
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "sfumato")


def problem(module: str, name: str, inside: bool = False) -> str | None:
    """Say why an import is not of a public name; None where it is. Methods may import from ``inside`` folders."""
    parts = module.split(".")[1:]
    if any(part.startswith("_") and not part.endswith("__") for part in (*parts, name)):
        return f"{name} of {module} is private"
    if inside or parts[:1] == ["papers"] or parts[0] in PUBLIC:
        return None
    place = SOURCE.joinpath(*parts)
    if len(parts) > 1 and not (place / "__init__.py").is_file():
        return f"{module} lies inside a folder: take {name} from the folder's own names"
    if name and isinstance(getattr(importlib.import_module(module), name, None), ModuleType):
        return f"{module}.{name} lies inside a folder: take what the folder lists"
    return None


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_reproduction_imports_public_names_only(path: Path):
    inside = is_method_or_verb(path)
    problems = [problem(*each, inside) for each in imported(path.read_text(encoding="utf-8"))]
    assert [each for each in problems if each is not None] == []


@pytest.mark.parametrize(
    "mutant",
    [
        "from sfumato.mechanisms.two_stage.plan import TwoStagePlan",
        "from sfumato.papers.two_stage.trial import _hidden",
        "from sfumato.table.scan_plan import DataRequest",
        "from sfumato.schema import column",
        "def f():\n    from sfumato.table.rows import column_arrays",
        "from sfumato.schema import _hidden",
        "import sfumato.mechanisms.two_stage.method",
    ],
)
def test_an_import_from_inside_a_folder_is_found(mutant):
    assert [problem(*each) for each in imported(mutant)] != [None]


def test_public_folders_and_modules_are_allowed():
    code = (
        "from sfumato.schema import Column\nfrom sfumato.errors import PlanError\nfrom "
        "sfumato.risk.attacks.linkage import x"
    )
    assert [problem(*each) for each in imported(code)] == [None, None, None]
