"""How much one must read: import closures of ``verify`` and ``synthesize``, folders, single importers, lines.

Closures are computed from the source. Imports inside functions count, those for types alone do not, and the parent
packages of a module count with it. A name that a folder resolves on first use counts with the module that holds it.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache

import pytest

from sfumato.core.registry import REGISTRY
from sfumato.lazy import HOOKS
from source_tree import MODULES, SOURCE, lazy_homes, tree_of

pytestmark = pytest.mark.xdist_group("source")  # parsed once, for all tests that read it
VERIFY_MODULES, VERIFY_LINES = 160, 20_000
ABOVE_BUNDLE = ("metrics", "evaluate", "risk", "report", "cli", "workbench", "papers")
"""Folders of which `verify` may run hooks, and import nothing."""
SYNTHESIZE_MODULES, SYNTHESIZE_LINES = 270, 33_000
SYNTHESIZE_REACHES = (HOOKS["Schema.draft"], HOOKS["Plan.forecast"], REGISTRY["aim"])
"""What runs in ``sfumato.synthesize`` and is loaded by name."""
FOLDER_MODULES = 24
SINGLE_IMPORTERS = 100
"""Modules with one importer: each of them is a candidate for a merge."""
VISITED_MODULES = 94
"""Modules with a function that runs in ``release(table, AIM(...))``."""
LINES, LINES_WITHOUT_PAPERS = 96_000, 80_500
"""What this version may have at its end. The house aimed at 92,000 and 76,000: see docs/architecture.md."""


def lines_of(names: set[str]) -> int:
    return sum(MODULES[name].read_text(encoding="utf-8").count("\n") for name in names)


@cache
def imports_of(name: str) -> frozenset[str]:
    """Return the modules of the package that a module imports at run time, inside functions as well."""
    found: set[str] = set()
    todo: list[ast.AST] = [tree_of(MODULES[name])]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            found |= {home_of(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        else:
            todo += ast.iter_child_nodes(node)
    return frozenset(found - {name})


def home_of(module: str, name: str) -> str:
    """Return the module that an imported name comes from: itself one, or one that its folder loads on first use."""
    if f"{module}.{name}" in MODULES:
        return f"{module}.{name}"
    return lazy_homes(tree_of(MODULES[module])).get(name, module)


def closure(*starts: str) -> set[str]:
    """Return all modules that some modules import, directly or not, without the package itself."""
    reached: set[str] = set()
    todo = list(starts)
    while todo:
        name = todo.pop()
        if name not in reached and name != "sfumato":
            reached.add(name)
            todo += [name.rpartition(".")[0], *imports_of(name)] if "." in name else []
    return reached


def test_verify_can_be_read_by_outsiders():
    names = closure("sfumato.bundle.verify")
    folders = Counter(name.split(".")[1] for name in names)
    assert {folder: folders[folder] for folder in ABOVE_BUNDLE if folder in folders} == {}
    assert (len(names) <= VERIFY_MODULES, lines_of(names) <= VERIFY_LINES) == (True, True), (
        len(names),
        lines_of(names),
        folders,
    )


def test_synthesize_reaches_a_part_of_the_package():
    names = closure("sfumato.synthesis", *(home.split(":")[0] for home in SYNTHESIZE_REACHES))
    assert (len(names) <= SYNTHESIZE_MODULES, lines_of(names) <= SYNTHESIZE_LINES) == (True, True), (
        len(names),
        lines_of(names),
        Counter(name.split(".")[1] for name in names),
    )


def test_no_folder_has_too_many_modules():
    folders = Counter(str(path.parent.relative_to(SOURCE)) for path in MODULES.values() if path.name != "__init__.py")
    assert {folder: count for folder, count in folders.items() if count > FOLDER_MODULES} == {}


def test_few_modules_have_a_single_importer():
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for name in MODULES:
        for imported in imports_of(name):
            importers[imported].add(name)
    single = sorted(name for name, them in importers.items() if len(them) == 1)
    assert len(single) <= SINGLE_IMPORTERS, single


def test_the_package_has_as_many_lines_as_it_needs():
    papers = {name for name in MODULES if name.startswith("sfumato.papers")}
    total = lines_of(set(MODULES))
    assert (total <= LINES, total - lines_of(papers) <= LINES_WITHOUT_PAPERS) == (True, True), total


def test_an_import_inside_a_function_counts_and_one_for_types_does_not(tmp_path, monkeypatch):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sfumato.risk\n"
    text += "def f():\n    from sfumato.privacy.ledger import Ledger\n"
    path = tmp_path / "mutant.py"
    path.write_text(text)
    monkeypatch.setitem(MODULES, "sfumato.mutant", path)
    assert imports_of.__wrapped__("sfumato.mutant") == {"sfumato.privacy.ledger.ledger"}


VISIT = """
import inspect, json, sys
import sfumato
from sfumato.example import codebook, households
table = sfumato.read(households(300), codebook())
visited = set()
def note(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # a function, no body of a module
        visited.add(frame.f_globals.get("__name__", ""))
sfumato.release, sfumato.AIM
sys.setprofile(note)
sfumato.release(table, sfumato.AIM(epsilon=1), ledger=False, seed=1)
sys.setprofile(None)
print(json.dumps(sorted(name for name in visited if name.startswith("sfumato"))))
"""


def test_a_release_visits_few_modules():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", VISIT], capture_output=True, text=True, check=True)
    visited = json.loads(done.stdout.splitlines()[-1])
    assert len(visited) <= VISITED_MODULES, visited
