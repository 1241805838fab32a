"""Check what lies beside the data of a bundle: its script, regenerated and compared, and its quality statements."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from sfumato.bounded_reads import bounded_bytes
from sfumato.bundle.document import ReleaseDocument, versions
from sfumato.bundle.layout import DOCUMENT, PAGES, REPORT, SCRIPT, file_record, statement_files
from sfumato.bundle.quality_statement import QualityStatement, combined_guarantee, events_of
from sfumato.bundle.reproduction_script import reproduction_script
from sfumato.core.method import method_class, registered_home
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.exact import format_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
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


def read_statement(path: Path) -> QualityStatement:
    """Read a statement; raises where it cannot be read."""
    return QualityStatement.from_json(bounded_bytes(path).decode())


def statement_problems(path: Path, document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Yield what does not hold of a statement, from public files alone."""
    statement, text = read_statement(path), bounded_bytes(path).decode()
    if not statement.is_intact(text):
        yield f"{path.name} was changed after it was written: its seal does not hold"
    here = (document.seal, file_record(path.with_name(DOCUMENT)).sha256)
    if (statement.about.seal, statement.about.sha256) != here:
        yield f"{path.name} is about another release than the {DOCUMENT} beside it"
    if document.method.makes != "rows":
        yield f"{path.name} states the quality of rows, and the release has none"
        return
    yield from _guarantee_problems(path, statement, document, schema)
    if age_of(statement.version) == "later":
        yield f"{path.name} says that sfumato {statement.version} made it: verify it with that version"


def _guarantee_problems(
    path: Path, statement: QualityStatement, document: ReleaseDocument, schema: Schema
) -> Iterator[str]:
    """Compose the guarantee again, from the release and the statements that lie before this one."""
    name, guarantee = path.name, statement.guarantee
    before = statement_files(path.parent)
    released, earlier = (document.guarantee, document.events), events_of(before[: before.index(path)])
    recorded = statement.recorded is not None
    expected = combined_guarantee(statement.events, schema, released, earlier, recorded, allow_weak=True)
    # in which words a guarantee rests on what, another version may say otherwise
    facts = (
        Guarantee.model_fields
        if age_of(statement.version) == "this"
        else ("kind", "epsilon", "delta", "unit", "beside")
    )
    if other := [fact for fact in facts if getattr(guarantee, fact) != getattr(expected, fact)]:
        yield f"{name}: its guarantee is not that of the release and its statements together: see {', '.join(other)}"
    for problem in filter(None, map(understated_cost, statement.events)):
        yield f"{name}: {problem}"
    if statement.table != schema.name:
        yield f"{name}: its table is not that of the release"
    if statement.recorded is not None:
        yield from (f"{name}: {problem}" for problem in statement.recorded.problems(statement.events))
    stamp, seeded = Randomness.of(statement.randomness.seed).stamp, statement.randomness.mode == "seeded"
    if statement.randomness.stamp != stamp or seeded != (stamp is not None):
        yield f"{name}: the stamp and the mode of randomness disagree"


def wording_problems(name: str, statement: QualityStatement) -> Iterator[str]:
    """Word the guarantee of a statement again and compare."""
    if statement.statement != statement.guarantee.statement():
        yield f"{name}: its statement in plain words is not that of its guarantee"


def statement_summary(path: Path) -> str:
    """Return in a line what a statement says."""
    statement = read_statement(path)
    shares = "; ".join(f"{one.name} {one.value:.3g} ({one.low:.3g} to {one.high:.3g})" for one in statement.measures)
    own, whole = (
        format_fraction(basic_composition(statement.events)[0]),
        format_fraction(statement.guarantee.exact_epsilon),
    )
    return f"{path.name} states, at epsilon {own} (together with what it lies beside, {whole}): {shares}"
