"""Every object that is named by a string exists: public names, hooks, verbs, methods and lazy names of folders.

Read from the source, so that a module which moved is found without importing the whole package.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import sfumato
from sfumato.core.registry import REGISTRY
from sfumato.lazy import HOOKS, load_object

SOURCE = Path(sfumato.__file__).parent
ADDRESS = re.compile(r"sfumato(\.\w+)+:\w+")
PATHS = {".".join(("sfumato", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in SOURCE.rglob("*.py")}
MODULES = {name.removesuffix(".__init__"): path for name, path in PATHS.items()}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def defined(statements: list[ast.stmt]) -> set[str]:
    """Return the names that statements of a module bind, inside conditions and attempts as well."""
    names: set[str] = set()
    for statement in statements:
        match statement:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                names.add(statement.name)
            case ast.Import() | ast.ImportFrom():
                names |= {alias.asname or alias.name.split(".")[0] for alias in statement.names}
            case ast.Assign():
                names |= {node.id for target in statement.targets for node in ast.walk(target) if is_name(node)}
            case ast.AnnAssign():
                names |= {node.id for node in ast.walk(statement.target) if is_name(node)}
            case ast.If() | ast.Try() | ast.With():
                names |= defined([child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)])
    return names


def is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def lazy_homes(tree: ast.Module) -> dict[str, str]:
    """Return the names that a folder or the front resolves on first use, with the module of each."""
    holders = [node for node in ast.walk(tree) if names_are_lazy(node)]
    found = [node for holder in holders for node in ast.walk(holder) if isinstance(node, ast.Dict)]
    pairs = [pair for node in found for pair in zip(node.keys, node.values, strict=True) if is_text(*pair)]
    return {key.value: value.value for key, value in pairs}


def names_are_lazy(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="lazy_names")) | ast.Assign(targets=[ast.Name(id="_PUBLIC_NAMES")]):
            return True
    return False


def is_text(*nodes: ast.AST | None) -> bool:
    return all(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in nodes)


def exists(module: str, name: str) -> bool:
    path = MODULES.get(module)
    return path is not None and name in defined(tree_of(path).body) | set(lazy_homes(tree_of(path)))


def missing_objects(tree: ast.Module) -> list[str]:
    """Return the addresses and lazy names in a module that lead nowhere."""
    texts = [node.value for node in ast.walk(tree) if is_text(node)]
    addresses = [text.split(":") for text in texts if ADDRESS.fullmatch(text)]
    lazy = [(home, name) for name, home in lazy_homes(tree).items()]
    return [f"{module}:{name}" for module, name in (*addresses, *lazy) if not exists(module, name)]


def test_every_address_in_the_source_leads_to_an_object():
    missing = {name: missing_objects(tree_of(path)) for name, path in MODULES.items()}
    assert {name: addresses for name, addresses in missing.items() if addresses} == {}


@pytest.mark.parametrize(
    "mutant",
    [
        'VERB = Verb("sfumato.core.plan:absent")',
        'HOOKS = {"Release.save": "sfumato.absent:save_bundle"}',
        'f = lazy_names(__name__, {"absent": "sfumato.core.plan"})',
    ],
)
def test_an_address_that_leads_nowhere_is_reported(mutant):
    assert missing_objects(ast.parse(mutant))


def test_public_names_hooks_and_methods_can_be_imported():
    assert all(getattr(sfumato, name) is not None for name in sfumato.__all__)
    assert all(load_object(home) is getattr(sfumato, home.split(":")[1]) for home in REGISTRY.values())
    assert all(callable(load_object(home)) for home in HOOKS.values())
