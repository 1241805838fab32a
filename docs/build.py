"""Render the documentation to docs/_site and refuse links that lead nowhere: ``make docs``.

Pages are docs/*.md and the four pages of the repository's root. The list of pages on every page is the list of links
of docs/index.md, so a page that index.md does not name is a problem too.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SITE = DOCS / "_site"
IMAGES = DOCS / "images"
ROOT_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")

TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} - Sfumato</title>
<style>
:root {{ --page: #fff; --ink: #1d2430; --muted: #56606e; --line: #dfe3e9; --soft: #f1f4f8; --accent: #3b6fb6; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --page: #11151b; --ink: #e7ebf1; --muted: #a3adbb; --line: #2d3643; --soft: #1c232c; --accent: #7fabea; }}
}}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--page); color: var(--ink); font: 16px/1.6 system-ui, Roboto, sans-serif; }}
a {{ color: var(--accent); }}
.all {{ display: grid; max-width: 1160px; margin: 0 auto; padding: 24px; gap: 40px; }}
@media (min-width: 900px) {{ .all {{ grid-template-columns: 190px minmax(0, 1fr); }} }}
nav {{ font-size: 15px; }}
nav strong {{ display: block; margin-bottom: 8px; }}
nav a {{ display: block; padding: 3px 0; text-decoration: none; }}
nav a[aria-current] {{ color: var(--ink); font-weight: 600; }}
main {{ min-width: 0; max-width: 860px; }}
h1 {{ margin-top: 0; line-height: 1.2; }}
h1 code, h2 code {{ font-size: inherit; }}
h2 {{ margin-top: 40px; padding-bottom: 4px; border-bottom: 1px solid var(--line); }}
img {{ max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px; }}
code, pre {{ font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }}
code {{ background: var(--soft); padding: 1px 4px; border-radius: 4px; }}
pre {{ background: var(--soft); padding: 12px 16px; border-radius: 8px; overflow-x: auto; }}
pre code {{ padding: 0; background: none; line-height: 1.35; }}
table {{ display: block; overflow-x: auto; border-collapse: collapse; font-size: 15px; }}
th, td {{ padding: 6px 14px 6px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }}
blockquote {{ margin: 0; padding-left: 16px; border-left: 3px solid var(--line); color: var(--muted); }}
</style>
</head>
<body><div class="all">
<nav><strong>Sfumato</strong>{navigation}</nav>
<main>
{body}</main>
</div></body>
</html>
"""


@dataclass(frozen=True)
class Page:
    """One Markdown file, parsed once; its headings have the anchors that code hosts give them."""

    path: Path

    @cached_property
    def tokens(self) -> list[Token]:
        """The parsed page."""
        tokens = MARKDOWN.parse(self.path.read_text(encoding="utf-8"))
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
    def output(self) -> str:
        """File name in the site."""
        return f"{self.path.stem.lower()}.html"

    @cached_property
    def title(self) -> str:
        """The first heading."""
        headings = (_text(inline) for opening, inline in pairwise(self.tokens) if opening.type == "heading_open")
        return next(headings, self.path.stem)

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
    paths = [*sorted(DOCS.glob("*.md")), *(ROOT / name for name in ROOT_PAGES)]
    return {path: Page(path) for path in paths}


def listed(pages: dict[Path, Page]) -> list[Page]:
    """Return the pages in the order in which docs/index.md names them, index.md first."""
    index = pages[DOCS / "index.md"]
    named = (index.target(str(token.attrs[attribute]))[0] for token, attribute in index.links())
    return list(dict.fromkeys([index, *(pages[path] for path in named if path in pages)]))


def problems(pages: dict[Path, Page]) -> list[str]:
    """Return every link, image and anchor that leads nowhere, and every page that no list names."""
    found = [problem for page in pages.values() for problem in _broken_links(page, pages)]
    missing = [page.name for page in pages.values() if page not in listed(pages)]
    return found + [f"docs/index.md does not name {name}" for name in missing]


def _broken_links(page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    for token, attribute in page.links():
        link = str(token.attrs[attribute])
        path, anchor = page.target(link)
        if not path.exists():
            yield f"{page.name}: {link} does not exist"
        elif not path.is_relative_to(ROOT):
            yield f"{page.name}: {link} leaves the repository"
        elif anchor and path in pages and anchor not in pages[path].anchors:
            yield f"{page.name}: {link} names no heading of {pages[path].name}"


def render(page: Page, pages: dict[Path, Page]) -> str:
    """Return the page as HTML; links to pages and images lead to their places in the site."""
    for token, attribute in page.links():
        path, anchor = page.target(str(token.attrs[attribute]))
        place = pages[path].output if path in pages else _place(path)
        token.attrSet(attribute, place + (f"#{anchor}" if anchor else ""))
    here = ' aria-current="page"'
    navigation = "".join(
        f'<a href="{each.output}"{here if each == page else ""}>{html.escape(each.title)}</a>' for each in listed(pages)
    )
    body = MARKDOWN.renderer.render(page.tokens, MARKDOWN.options, {})
    return TEMPLATE.format(title=html.escape(page.title), navigation=navigation, body=body)


def _place(path: Path) -> str:
    if path.is_relative_to(IMAGES):
        return path.relative_to(DOCS).as_posix()
    return Path(os.path.relpath(path, SITE)).as_posix()


def main() -> int:
    """Check all links, then write the site."""
    pages = all_pages()
    broken = problems(pages)
    if broken:
        print(*broken, sep="\n", file=sys.stderr)
        return 1
    order = listed(pages)
    shutil.rmtree(SITE, ignore_errors=True)
    SITE.mkdir()
    shutil.copytree(IMAGES, SITE / "images")
    for page in order:
        # Rendering rewrites the links of the page that it is given: a fresh one each time.
        (SITE / page.output).write_text(render(Page(page.path), pages), encoding="utf-8")
    print(f"{len(order)} pages: open {SITE / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
