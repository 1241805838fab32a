"""What is wrong with a built site: something that would be fetched from elsewhere, or a link that leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "embed": "src"}
OFFERED = frozenset({"canonical", "next", "prev", "author", "license", "help"})
"""Relations of ``link`` that a browser fetches nothing for."""
REMOTE = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])(?=https?:|//)""")


class Seen(HTMLParser):
    """What one page holds: ids, links to follow, and what a browser fetches without being asked."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element names."""
        given = {name: value or "" for name, value in attrs}
        self.ids.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in FETCHED and FETCHED[tag] in given:
            self.fetched.append(given[FETCHED[tag]])
        if tag == "link" and "href" in given and not OFFERED & set(given.get("rel", "").split()):
            self.fetched.append(given["href"])


def seen_in(page: Path) -> Seen:
    """Return what a page holds."""
    seen = Seen()
    seen.feed(page.read_text(encoding="utf-8"))
    return seen


def shortcomings(site: Path) -> list[str]:
    """Return everything that a page fetches from elsewhere, and every link whose file or heading does not exist."""
    pages = {path.resolve(): seen_in(path) for path in sorted(site.rglob("*.html"))}
    found = [
        f"{path.name}: {problem}"
        for path, seen in pages.items()
        for problem in (*_remote(path, seen), *_lost(path, pages))
    ]
    styles = [path for path in site.rglob("*.css") if REMOTE.search(path.read_text(encoding="utf-8"))]
    return found + [f"{path.name} fetches from elsewhere" for path in styles]


def _remote(path: Path, seen: Seen) -> Iterator[str]:
    for address in seen.fetched:
        if urlsplit(address).netloc:
            yield f"fetches {address}"
        elif not urlsplit(address).scheme and not (path.parent / unquote(urlsplit(address).path)).exists():
            yield f"needs {address}, which does not exist"


def _lost(path: Path, pages: dict[Path, Seen]) -> Iterator[str]:
    for link in pages[path].links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.exists():
            yield f"{link} does not exist"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids | {"", "top"}:
            yield f"{link} names no place"
