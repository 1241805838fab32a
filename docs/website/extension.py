"""What the site wants of Sphinx beyond its settings: the anchors of code hosts as real ids, and a quick navigation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from typing import Any

from docutils import nodes

from website.pages import Section, all_pages, sections

BEFORE_THE_THEME = 400
ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", add_anchors)
    app.connect("autodoc-process-signature", name_aliases)
    app.connect("html-page-context", add_navigation, priority=BEFORE_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_anchors(_: Any, doctree: nodes.document) -> None:
    """Give every section the id that code hosts give it, so that links from anywhere find it."""
    taken = {name for node in doctree.findall(nodes.Element) for name in node.get("ids", ())}
    for section in doctree.findall(nodes.section):
        slug = section.get("slug")
        if slug and slug not in taken:
            section["ids"].append(slug)
            taken.add(slug)


def add_navigation(app: Any, page: str, _: str, context: dict[str, Any], __: Any) -> None:
    """Hand the theme a navigation of pages alone; Sphinx's own copies every heading of every page onto every page."""
    context["toctree"] = lambda **_: "".join(_navigation(_sections(), app.env, page, context["pathto"]))


def name_aliases(*event: Any) -> tuple[str, str] | None:
    """Call a type that has a name of its own by that name, also where it stands in a union."""
    signature, returned = event[-2:]
    if not signature:
        return None
    return ALIAS.sub(r"\1", signature), ALIAS.sub(r"\1", returned or "") or returned


@cache
def _sections() -> tuple[Section, ...]:
    return tuple(sections(all_pages()))


def _navigation(found: tuple[Section, ...], env: Any, here: str, path: Callable[[str], str]) -> Iterator[str]:
    for section in found:
        yield f'<p class="caption" role="heading"><span class="caption-text">{escape(section.title)}</span></p><ul>'
        for title, page in section.entries:
            children = [(env.titles[name].astext(), name) for name in env.toctree_includes.get(page.place, ())]
            inside = "".join(_item(words, name, here, path, 2) for words, name in children)
            yield _item(title, page.place, here, path, 1, inside, here in {name for _, name in children})
        yield "</ul>"


def _item(
    title: str, name: str, here: str, path: Callable[[str], str], level: int, inside: str = "", holds: bool = False
) -> str:
    now = " current" if name == here or holds else ""
    page = " current-page" if name == here else ""
    address = "#" if name == here else path(name)
    below = f"<ul>{inside}</ul>" if inside else ""
    link = f'<a class="reference internal{now}" href="{address}">{escape(title)}</a>'
    return f'<li class="toctree-l{level}{now}{page}">{link}{below}</li>'
