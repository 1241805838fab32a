"""The pages of the documentation, the order in which docs/index.md names them, and links that lead nowhere.

Pages are docs/*.md, the notebooks in docs/notebooks and the four pages of the repository's root. The list items of
docs/index.md are the navigation, section by section, so a page that no item names is a problem.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from website.notebooks import words_of

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
IMAGES = DOCS / "images"
NOTEBOOKS = DOCS / "notebooks"
ROOT_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True)
class Page:
    """One Markdown file or notebook, parsed once; its headings have the anchors that code hosts give them."""

    path: Path

    @cached_property
    def text(self) -> str:
        """The page in Markdown; of a notebook, its words."""
        text = self.path.read_text(encoding="utf-8")
        return words_of(text) if self.path.suffix == ".ipynb" else text

    @cached_property
    def tokens(self) -> list[Token]:
        """The parsed page."""
        tokens = MARKDOWN.parse(self.text)
        seen: Counter[str] = Counter()
        for heading, inline in pairwise(tokens):
            if heading.type == "heading_open":
                anchor = anchor_of(_text(inline))
                heading.attrSet("id", f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
                seen[anchor] += 1
        return tokens

    @property
    def name(self) -> str:
        """Path relative to the root, for messages."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def place(self) -> str:
        """Its place in the site, without an ending: ``tutorial``, ``readme``, ``notebooks/credit``."""
        folder = "notebooks/" if self.path.suffix == ".ipynb" else ""
        return f"{folder}{self.path.stem.lower()}"

    @cached_property
    def anchors(self) -> set[str]:
        """Every place that a link may point to."""
        return {str(token.attrs["id"]) for token in self.tokens if token.type == "heading_open"}

    def links(self) -> Iterator[tuple[Token, str]]:
        """Yield the links and images of the page that point into the repository, with the attribute that holds them."""
        for token in (child for parent in self.tokens for child in parent.children or ()):
            attribute = {"link_open": "href", "image": "src"}.get(token.type)
            if attribute and not urlsplit(str(token.attrs[attribute])).scheme:
                yield token, attribute

    def target(self, link: str) -> tuple[Path, str]:
        """Return the file that a link points to, and the anchor in it."""
        parts = urlsplit(link)
        return (self.path.parent / unquote(parts.path)).resolve() if parts.path else self.path, parts.fragment


@dataclass(frozen=True)
class Section:
    """A part of the navigation: the heading of docs/index.md, and what each of its items is called and leads to."""

    title: str
    entries: tuple[tuple[str, Page], ...]


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as code hosts make it.

    >>> anchor_of("What is `public`, and why?")
    'what-is-public-and-why'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _text(inline: Token) -> str:
    return "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))


def all_pages() -> dict[Path, Page]:
    """Return every page by its path."""
    paths = [*sorted(DOCS.glob("*.md")), *sorted(NOTEBOOKS.glob("*.ipynb")), *(ROOT / name for name in ROOT_PAGES)]
    return {path: Page(path) for path in paths}


def sections(pages: dict[Path, Page]) -> list[Section]:
    """Return the navigation: under each heading of docs/index.md the pages that its list items name first."""
    index = pages[DOCS / "index.md"]
    found: list[tuple[str, list[tuple[str, Page]]]] = []
    seen = {index}
    for before, token, after in zip(index.tokens, index.tokens[1:], index.tokens[2:], strict=False):
        if before.type == "heading_open" and before.tag == "h2":
            found.append((_text(token), []))
        elif before.type == "list_item_open" and found:
            title, page = _first_page(index, after, pages)
            if page is not None and page not in seen:
                seen.add(page)
                found[-1][1].append((title, page))
    return [Section(title, tuple(entries)) for title, entries in found if entries]


def _first_page(index: Page, item: Token, pages: dict[Path, Page]) -> tuple[str, Page | None]:
    """Return the words of the first link of a list item, and the page that it leads to."""
    words, page = "", None
    for child in item.children or ():
        if child.type == "link_open":
            page = pages.get(index.target(str(child.attrs["href"]))[0])
        elif child.type == "link_close":
            break
        else:
            words += child.content if page is not None else ""
    return words, page


def problems(pages: dict[Path, Page]) -> list[str]:
    """Return every link, image and anchor that leads nowhere, and every page that no list names."""
    found = [problem for page in pages.values() for problem in broken_links(page, pages)]
    named = {page for section in sections(pages) for _, page in section.entries} | {pages[DOCS / "index.md"]}
    missing = [page.name for page in pages.values() if page not in named]
    return found + [f"docs/index.md does not name {name}" for name in missing]


def broken_links(page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """Yield what is wrong with the links of one page."""
    for token, attribute in page.links():
        link = str(token.attrs[attribute])
        path, anchor = page.target(link)
        if not path.exists():
            yield f"{page.name}: {link} does not exist"
        elif not path.is_relative_to(ROOT):
            yield f"{page.name}: {link} leaves the repository"
        elif anchor and path in pages and anchor not in pages[path].anchors:
            yield f"{page.name}: {link} names no heading of {pages[path].name}"
