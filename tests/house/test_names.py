"""Every object that is named by a string exists: public names, hooks, verbs, methods and lazy names of folders.

Read from the source, so that a module which moved is found without importing the whole package.
"""

from __future__ import annotations

import ast
import re

import pytest

import sfumato
from sfumato.core.registry import REGISTRY
from sfumato.lazy import HOOKS, load_object
from source_tree import MODULES, defined, is_text, lazy_homes, tree_of

ADDRESS = re.compile(r"sfumato(\.\w+)+:\w+")


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
