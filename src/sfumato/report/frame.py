"""The frame of a page, made from what the page says: its sections, and the words that it should explain.

A template writes headings and prose and nothing else. Here every second heading with an id becomes a link of the
navigation, and every word of the glossary is linked where it is first used in prose and explained at the end. All
text of a page is escaped by now, so the tags that are looked for are the template's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup, escape

from sfumato.report.words.glossary import TERMS, Term

HEADER, SECTIONS, WORDS = '<header class="top">', "<!--sections-->", "<!--words-->"
HEADING = re.compile(r'<h2 id="([^"]+)"(?: data-short="([^"]*)")?[^>]*>(.*?)</h2>', re.DOTALL)
PROSE = re.compile(r"<(p|dd|li)\b(?![^>]*data-plain)[^>]*>[^<]*(?:<(?!/?\1\b)[^>]*>[^<]*)*</\1>")
PIECE = re.compile(r"<[^>]*>|[^<]+")
SKIPPED = {"a", "code", "pre", "svg", "button", "label", "select", "table", "b", "h3", "h4", "summary"}
"""Nothing is linked inside these: links, code, pictures, tables and what can be pressed."""


def framed(page: str) -> str:
    """Return a page with its navigation and its glossary."""
    start, end = page.find(HEADER), page.rfind(WORDS)
    linked, used = linked_terms(page[start:end])
    words = _glossary(used)
    linked = linked.replace(SECTIONS, _navigation(linked + words), 1)
    return f"{page[:start]}{linked}{words}{page[end + len(WORDS) :]}"


class Section(NamedTuple):
    """A section of a page: where it is, and its words in the navigation, escaped already."""

    place: str
    words: str


def sections(main: str) -> list[Section]:
    """Return the sections of a page.

    >>> sections('<h2 id="data">The <em>data</em></h2><h2>none</h2><h2 id="x" data-short="Short">Long words</h2>')
    [Section(place='data', words='The data'), Section(place='x', words='Short')]
    """
    return [Section(place, short or re.sub(r"<[^>]*>", "", words)) for place, short, words in HEADING.findall(main)]


def _navigation(main: str) -> str:
    """Return links to the sections; a page with a single one needs none."""
    found = sections(main)
    if len(found) < 2:
        return ""
    items = "".join(f'<li><a href="#{place}">{words}</a></li>' for place, words in found)
    return f'<nav class="sections" aria-label="Sections"><ul>{items}</ul></nav>'


def linked_terms(main: str) -> tuple[str, list[Term]]:
    """Return the page with every term linked at its first use in prose, and the terms that were used.

    Prose is what stands in paragraphs, lists and definitions; ``data-plain`` marks those that hold data.
    """
    left = {name.lower(): term for term in TERMS for name in (term.name, *term.others)}
    used: list[Term] = []
    parts: list[str] = []
    place = 0
    for found in PROSE.finditer(main):
        text = "".join(_linked(found.group(), left, used))
        parts += main[place : found.start()], text
        place = found.end()
        if not left:
            break
    parts.append(main[place:])
    return "".join(parts), sorted(used, key=lambda term: term.name.lower())


def _linked(prose: str, left: dict[str, Term], used: list[Term]) -> Iterator[str]:
    """Yield a piece of prose with terms linked; what was linked leaves ``left``."""
    skipped = 0
    for piece in PIECE.findall(prose):
        if piece[0] == "<":
            name = re.match(r"</?([a-z0-9]+)", piece)
            if name and name.group(1) in SKIPPED:
                skipped += -1 if piece[1] == "/" else 1
            yield piece
        else:
            yield piece if skipped else _with_links(piece, left, used)


def _with_links(text: str, left: dict[str, Term], used: list[Term]) -> str:
    def link(found: re.Match[str]) -> str:
        term = left.get(found.group().lower())
        if term is None:
            return found.group()
        used.append(term)
        for name in (term.name, *term.others):
            left.pop(name.lower(), None)
        return f'<a class="term" href="#{term.place}">{found.group()}</a>'

    return _NAMES.sub(link, text) if left else text


_NAMES = re.compile(
    r"(?<![\w&;-])(?:"
    + "|".join(
        re.escape(str(escape(name)))
        for name in sorted({n for term in TERMS for n in (term.name, *term.others)}, key=len, reverse=True)
    )
    + r")(?![\w-])",
    re.IGNORECASE,
)


def _glossary(used: list[Term]) -> str:
    """Return the words of a page explained; nothing where it uses none."""
    if not used:
        return ""
    items = Markup("").join(
        Markup('<dt id="{}">{}</dt><dd>{}</dd>').format(term.place, term.name, term.meaning) for term in used
    )
    heading = '<h2 id="glossary" data-short="Words">Words on this page</h2>'
    listed = f'<div class="panelled"><dl>{items}</dl></div>'
    return f'<section class="glossary" aria-labelledby="glossary">{heading}{listed}</section>\n'
