"""The page builder: sections of blocks as self-contained HTML or as Markdown, with navigation and glossary.

A template writes headings and prose and nothing else. Here every second heading with an id becomes a link of the
navigation, and every word of the glossary is linked where it is first used in prose and explained at the end. All
text of a page is escaped by now, so the tags that are looked for are the template's own.

A page loads nothing: its script, styles and pictures are in it. Its content policy names the script by its hash and
allows no evaluated code, so text from a schema could not run even if it slipped through the escaping.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup, escape

from sfumato.bundle.document import ReleaseDocument
from sfumato.report.blocks import Block, BulletList, CodeBlock, Page, Paragraphs, Section, TableBlock
from sfumato.report.texts import text_file
from sfumato.version import __version__

HEADER, SECTIONS, WORDS = '<header class="top">', "<!--sections-->", "<!--words-->"
HEADING = re.compile(r'<h2 id="([^"]+)"(?: data-short="([^"]*)")?[^>]*>(.*?)</h2>', re.DOTALL)
PROSE = re.compile(r"<(p|dd|li)\b(?![^>]*data-plain)[^>]*>[^<]*(?:<(?!/?\1\b)[^>]*>[^<]*)*</\1>")
PIECE = re.compile(r"<[^>]*>|[^<]+")
SKIPPED = {"a", "code", "pre", "svg", "button", "label", "select", "table", "b", "h3", "h4", "summary"}
"""Nothing is linked inside these: links, code, pictures, tables and what can be pressed."""
FOLDER, STYLE, INTERACT = "templates", "style.css", "interact.js"
PLAIN = re.compile(r"[^A-Za-z0-9 .,:_-]")
LONGEST = 60
SHORT = 16
"""Digits of the fingerprint that stand on a sheet; the sheet with the signatures has all of them."""
SHEET = """
@page {{
  @top-left {{ content: "Sfumato release: {table}"; }}
  @top-right {{ content: "{stamp}{day}"; }}
  @bottom-left {{ content: "fingerprint {fingerprint}"; }}
}}
"""
SIGNS = re.compile(r"([\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])|&(?=\w+;|#))")
"""What would be read as a mark: an underscore only where it is not inside a word."""
START = re.compile(r"^(\s*)(#{1,6}\s|[-+]\s|=+$|-+$|\d+[.)]\s)")


class Term(NamedTuple):
    """A word, what it means in a sentence or two, and other forms of it that are linked as well."""

    name: str
    meaning: str
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All forms of the word."""
        return self.name, *self.others

    @property
    def place(self) -> str:
        """The name of its anchor.

        >>> Term("Cramér's V", "").place
        'word-cramers-v'
        """
        plain = unicodedata.normalize("NFKD", self.name).encode("ascii", "ignore").decode().replace("'", "")
        return f"word-{re.sub(r'[^a-z0-9]+', '-', plain.lower()).strip('-')}"


terms = tuple(Term(name, each["meaning"], tuple(each.get("also", ()))) for name, each in text_file("glossary").items())
"""Every term, by its name."""
_NAMES = re.compile(
    r"(?<![\w&;-])(?:"
    + "|".join(
        re.escape(str(escape(name)))
        for name in sorted({name for term in terms for name in term.names}, key=len, reverse=True)
    )
    + r")(?![\w-])",
    re.IGNORECASE,
)


def glossary_markdown() -> str:
    """Return docs/glossary.md; docs/make_glossary.py writes it."""
    lead = "The words of the reports and of these pages. Every report explains those that it uses at its end."
    lines = ["# Glossary", "", lead, "", "## Words"]
    for term in terms:
        also = f" Also: {', '.join(term.others)}." if term.others else ""
        lines += ["", f"### {term.name}", "", f"{term.meaning}{also}"]
    return "\n".join([*lines, ""])


def add_navigation_and_glossary(page: str) -> str:
    """Return a page with its navigation and its glossary."""
    start, end = page.find(HEADER), page.rfind(WORDS)
    linked, used = link_glossary_terms(page[start:end])
    words = _glossary(used)
    linked = linked.replace(SECTIONS, _navigation(linked + words), 1)
    return f"{page[:start]}{linked}{words}{page[end + len(WORDS) :]}"


def sections(main: str) -> list[tuple[str, str]]:
    """Return the place of each section of a page, and its words in the navigation, escaped already.

    >>> sections('<h2 id="data">The <em>data</em></h2><h2>none</h2><h2 id="x" data-short="Short">Long words</h2>')
    [('data', 'The data'), ('x', 'Short')]
    """
    return [(place, short or re.sub(r"<[^>]*>", "", words)) for place, short, words in HEADING.findall(main)]


def _navigation(main: str) -> str:
    """Return links to the sections; a page with a single one needs none."""
    listed = sections(main)
    if len(listed) < 2:
        return ""
    items = "".join(f'<li><a href="#{place}">{words}</a></li>' for place, words in listed)
    return f'<nav class="sections" aria-label="Sections"><ul>{items}</ul></nav>'


def link_glossary_terms(main: str) -> tuple[str, list[Term]]:
    """Return the page with every term linked at its first use in prose, and the terms that were used.

    Prose is what stands in paragraphs, lists and definitions; ``data-plain`` marks those that hold data.
    """
    left = {name.lower(): term for term in terms for name in term.names}
    used: list[Term] = []
    parts: list[str] = []
    place = 0
    for prose in PROSE.finditer(main):
        text = "".join(_linked(prose.group(), left, used))
        parts += main[place : prose.start()], text
        place = prose.end()
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
    def link(word: re.Match[str]) -> str:
        term = left.get(word.group().lower())
        if term is None:
            return word.group()
        used.append(term)
        for name in term.names:
            left.pop(name.lower(), None)
        return f'<a class="term" href="#{term.place}">{word.group()}</a>'

    return _NAMES.sub(link, text) if left else text


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


def render_page(template: str, **context: Any) -> str:
    """Return a page: ``template`` extends page.html.j2; its navigation and its glossary follow from what it says."""
    script = _read(INTERACT)
    frame = {"style": _read(STYLE), "interact": script, "allowed_scripts": _source(script)}
    return add_navigation_and_glossary(template_environment().get_template(template).render(**frame, **context))


def _source(script: str) -> str:
    """Return how a content policy names one script: by its hash, so that no other script can run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def template_environment(autoescape: bool = True) -> jinja2.Environment:
    """Return the environment of the templates beside this module: of pages, or of code, which needs no escaping."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=autoescape,  # noqa: S701  the page that shows code escapes it
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def _read(name: str) -> str:
    return resources.files("sfumato.report").joinpath(FOLDER, name).read_text(encoding="utf-8")


def print_margins(document: ReleaseDocument) -> Markup:
    """Return the rules for the margins of paper; the stylesheet adds the page numbers."""
    stamp = f"{document.randomness.stamp}; " if document.randomness.stamp else ""
    return Markup(  # noqa: S704  every text in it was escaped for a stylesheet
        SHEET.format(
            table=css_escape(document.table[:LONGEST]),
            stamp=css_escape(stamp.upper()),
            day=css_escape(document.created_at[:10]),
            fingerprint=document.fingerprint[:SHORT],
        )
    )


def css_escape(text: str) -> str:
    """Return text that can stand between the quotes of a stylesheet inside a page, whatever is in it.

    >>> css_escape('a"b</style>')
    'a\\\\22 b\\\\3c \\\\2f style\\\\3e '
    """
    return PLAIN.sub(lambda sign: f"\\{ord(sign.group()):x} ", text)


def escape_markdown(text: str) -> str:
    r"""Return a text in which nothing is a mark of Markdown, on one line.

    >>> print(escape_markdown("a_b *c* <b>\n| # _x_"))
    a_b \*c\* \<b\> \| # \_x\_
    >>> print(escape_markdown("1. a"))
    1\. a
    """
    line = SIGNS.sub(r"\\\1", " ".join(text.split()))
    start = START.match(line)
    if start is None:
        return line
    place = start.end(1) + len(start[2].rstrip()) - 1
    return f"{line[:place]}\\{line[place:]}"


def to_markdown(page: Page) -> str:
    """Return a page as Markdown."""
    parts = [f"# {escape_markdown(page.title)}", escape_markdown(page.lead)]
    parts += [f"> **{escape_markdown(banner.heading)}** {escape_markdown(banner.text)}" for banner in page.banners]
    parts += [part for section in page.sections for part in _section(section)]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {escape_markdown(section.title)}"
    for block in section.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    match block:
        case CodeBlock():
            yield from [f"### {escape_markdown(block.title)}"] if block.title else []
            yield _fenced(block)
        case TableBlock():
            yield _table(block)
        case BulletList():
            yield "\n".join(f"- {escape_markdown(line)}" for line in block.lines)
        case Paragraphs():
            yield from (escape_markdown(line) for line in block.lines)
        case _:
            raise TypeError(f"a block of the kind {block.kind!r} has no form in Markdown")


def _fenced(block: CodeBlock) -> str:
    """Return lines of code; the fence is longer than any row of backticks in them."""
    longest = max((len(run) for run in re.findall(r"`+", block.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{block.language}\n{block.text}\n{fence}"


def _table(block: TableBlock) -> str:
    rules = ("---:" if place in block.numbers else "---" for place in range(len(block.header)))
    rows = [block.header, tuple(rules), *(tuple(escape_markdown(cell) for cell in row) for row in block.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def to_html(page: Page, version: str = __version__) -> str:
    """Return a page that follows from its model alone."""
    return render_page("sections.html.j2", version=version, page=page, banners=page.banners)
