"""The modules of the package read as syntax trees: names that they bind, names that folders resolve on first use."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import sfumato

SOURCE = Path(sfumato.__file__).parent
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


@cache
def lazy_homes(tree: ast.Module) -> dict[str, str]:
    """Return the names that a folder or the front resolves on first use, with the module of each."""
    if not any(isinstance(node, ast.Name) and node.id == "lazy_names" for node in ast.walk(tree)):
        return {}
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in imports if node.module for alias in node.names}


def is_text(*nodes: ast.AST | None) -> bool:
    return all(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in nodes)
