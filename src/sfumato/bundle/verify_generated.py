"""Regenerate the script of a bundle and compare it; say by which other version what else may differ."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from sfumato.bundle.document import ReleaseDocument, versions
from sfumato.bundle.layout import DOCUMENT, PAGES, REPORT, SCRIPT
from sfumato.bundle.reproduction_script import reproduction_script
from sfumato.core.method import method_class, registered_home
from sfumato.version import __version__

RENDERED_WITH = ("jinja2",)
"""Other versions of these draw the same pages with other bytes."""
HTML_PAGES = (REPORT, "README.html")
Age = Literal["this", "earlier", "later"]


def age_of(version: str | None) -> Age:
    """Say how a version of sfumato stands to this one. What is no version counts as later: nobody knows what it did.

    >>> age_of("0.1.0"), age_of("99.0"), age_of("mine")
    ('earlier', 'later', 'later')
    """
    if version == __version__:
        return "this"
    number = _numbers(version or "")
    return "later" if not number or number > _numbers(__version__) else "earlier"


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d{1,9}(\.\d{1,9}){1,3}", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def is_same_version(document: ReleaseDocument) -> bool:
    """Whether the bundle was made by the sfumato that looks at it: another may plan, write and draw otherwise."""
    return age_of(document.versions.get("sfumato")) == "this"


def version_problems(document: ReleaseDocument) -> Iterator[str]:
    """Refuse a bundle of a later version, by which a forger could escape every check of this one."""
    version = document.versions.get("sfumato")
    if age_of(version) == "later":
        yield (
            f"{DOCUMENT} says that sfumato {version} made it, which this one ({__version__}) cannot check: verify it "
            f"with that version, and do not run {SCRIPT} before"
        )


def absent_pages(document: ReleaseDocument) -> list[str]:
    """Say which pages a bundle lacks; earlier versions had fewer."""
    lacking = [name for name in PAGES if name not in document.files and is_same_version(document)]
    return [f"{', '.join(lacking)} could not be drawn when the bundle was saved"] if lacking else []


def differs_by(document: ReleaseDocument, page: str = "") -> str:
    """Return which other version explains a page, or all else, that does not come out as it would here; "" if none."""
    if not is_same_version(document):
        return f"sfumato {document.versions.get('sfumato')} made this bundle, and this is {__version__}"
    here = versions()
    other = [
        f"{name} {document.versions.get(name, '(not said)')} (here {here[name]})"
        for name in RENDERED_WITH
        if page in HTML_PAGES and document.versions.get(name) != here[name]
    ]
    return f"drawn with {', '.join(other)}" if other else ""


def method_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether the method is a registered one, and its class one of sfumato's: the script imports it."""
    stated, home = document.method, registered_home(document.method.name)
    if home is None:
        yield f"the method {stated.name!r} is not one of sfumato's, so nothing that it states can be checked"
        return
    there = f"{stated.module}:{stated.class_name}"
    moved = not is_same_version(document) and re.fullmatch(rf"sfumato(\.\w+)+:{home.split(':')[1]}", there)
    if (stated.module, stated.class_name) != (None, None) and there != home and not moved:
        yield f"the method {stated.name!r} does not live in {there}: {SCRIPT} would run other code"


def description_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether the method is described as sfumato describes it."""
    stated = document.method
    if registered_home(stated.name) is None:
        return
    cls = method_class(stated.name)
    if (cls.summary, cls.about, cls.makes) != (stated.summary, stated.about, stated.makes):
        yield f"the method {stated.name!r} is described otherwise than sfumato describes it"
    if cls.formal not in (None, stated.formal):
        standing = "a" if cls.formal else "no"
        yield f"the method {stated.name!r} has {standing} formal guarantee, and {DOCUMENT} says otherwise"


def script_problems(folder: Path, document: ReleaseDocument) -> Iterator[str]:
    """Write reproduce.py anew and compare; that of an earlier version may differ in words, but not in what it runs."""
    there, anew = (folder / SCRIPT).read_bytes(), reproduction_script(document).encode()
    if there == anew or (not is_same_version(document) and _code(there) == _code(anew) is not None):
        return
    yield f"{SCRIPT} is not the script that {DOCUMENT} makes: do not run it"


def _code(script: bytes) -> str | None:
    """Return what a script runs, without its docstring, the order of keywords and the module inside sfumato."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    body = tree.body[1:] if ast.get_docstring(tree, clean=False) is not None else tree.body
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato.") and not node.level:
            node.module = "sfumato"
    return "\n".join(ast.dump(node) for node in body)
