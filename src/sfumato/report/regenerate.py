"""Is a bundle's script, page and method what its own document makes of them? Written anew and compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from sfumato.release.method import home_of, method_class
from sfumato.report.bundle import DOCUMENT, REPORT, SCRIPT, shown_tables
from sfumato.report.document import PAGES, ReleaseDocument, versions
from sfumato.report.pages import Pages
from sfumato.report.script import reproduction_script
from sfumato.schema import Schema
from sfumato.version import __version__

DRAWN_BY = ("jinja2",)
"""Other versions of these draw the same pages with other bytes."""
DRAWN = (REPORT, "README.html")


def is_this_version(document: ReleaseDocument) -> bool:
    """Whether the bundle was made by the sfumato that looks at it: another may plan, write and draw otherwise."""
    return document.versions.get("sfumato") == __version__


def unchecked(document: ReleaseDocument) -> list[str]:
    """Return what cannot be compared here, and why."""
    made = document.versions.get("sfumato", "an unknown version")
    if not is_this_version(document):
        return [
            f"method, plan, {SCRIPT} and pages were not compared: sfumato {made} made this bundle, and this is "
            f"{__version__}; do not run {SCRIPT} before that version has verified it"
        ]
    other = _other_versions(document)
    lacking = [name for name in PAGES if name not in document.files]
    absent = [f"{', '.join(lacking)} could not be drawn when the bundle was saved"] if lacking else []
    return ([f"{' and '.join(DRAWN)} were not compared: drawn with {', '.join(other)}"] if other else []) + absent


def _other_versions(document: ReleaseDocument) -> list[str]:
    """Return what draws pages here and had another version there."""
    here = versions()
    return [
        f"{name} {document.versions.get(name, '(not said)')} (here {here[name]})"
        for name in DRAWN_BY
        if document.versions.get(name) != here[name]
    ]


def method_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether the method is a registered one and is described as sfumato describes it."""
    if not is_this_version(document):
        return
    said = document.method
    if home_of(said.name) is None:
        yield f"the method {said.name!r} is not one of sfumato's, so nothing that it states can be checked"
    elif home_of(said.name) != f"{said.module}:{said.class_name}":
        home = f"{said.module}:{said.class_name}"
        yield f"the method {said.name!r} does not live in {home}: {SCRIPT} would run other code"
    else:
        cls = method_class(said.name)
        if (cls.summary, cls.about, cls.makes) != (said.summary, said.about, said.makes):
            yield f"the method {said.name!r} is described otherwise than sfumato describes it"
        if cls.formal not in (None, said.formal):
            standing = "a" if cls.formal else "no"
            yield f"the method {said.name!r} has {standing} formal guarantee, and {DOCUMENT} says otherwise"


def script_problems(folder: Path, document: ReleaseDocument) -> Iterator[str]:
    """Write reproduce.py anew and compare."""
    if is_this_version(document) and (folder / SCRIPT).read_bytes() != reproduction_script(document).encode():
        yield f"{SCRIPT} is not the script that {DOCUMENT} makes: do not run it"


def page_problems(folder: Path, document: ReleaseDocument, schema: Schema, name: str) -> Iterator[str]:
    """Draw one page anew from the document, the schema and the released tables, and compare."""
    if not _is_comparable(document, name):
        return
    tables = shown_tables(document.tables, lambda listed: pq.ParquetFile(folder / listed.parquet).read())
    drawn = Pages(document, schema, tables).drawings[name]()
    if (folder / name).read_bytes() != drawn.encode():
        yield f"{name} is not the page that {DOCUMENT} and the released tables make"


def _is_comparable(document: ReleaseDocument, name: str) -> bool:
    """Whether the same bytes are to be expected of a page that is drawn here."""
    return is_this_version(document) and (name not in DRAWN or not _other_versions(document))
