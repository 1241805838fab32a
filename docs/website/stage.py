"""Lay out what Sphinx reads: every page at its place in the site, with links that lead to places in the site.

Pages link to each other as files of the repository, so that code hosts can follow. In the site all of them stand side
by side, and what they link to beside pages and pictures (a module, a licence) is copied to ``files``.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from website.api import write_api
from website.cli import write_cli
from website.notebooks import page_of
from website.pages import DOCS, IMAGES, ROOT, Page, sections

LINK = re.compile(r"(?<=\]\()[^()\s]+(?=\))")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
GENERATED = {"api": write_api, "cli": write_cli}
"""Pages that the build goes on with: what is written beside them, and listed at their end."""


def lay_out(pages: dict[Path, Page], folder: Path) -> None:
    """Write the sources of the site into an empty folder."""
    shutil.copytree(IMAGES, folder / "images")
    for page in pages.values():
        target = folder / f"{page.place}.md"
        target.parent.mkdir(exist_ok=True)
        text = page.text
        if page.path.suffix == ".ipynb":
            text = page_of(page.path, target.parent / "pictures")
            _copy(page.path, folder / "files" / page.path.name)
        target.write_text(_relinked(page, text, pages, folder) + _more(page, pages, folder), encoding="utf-8")


def _more(page: Page, pages: dict[Path, Page], folder: Path) -> str:
    if page.path == DOCS / "index.md":
        return navigation(pages)
    if page.path.parent == DOCS and page.path.stem in GENERATED:
        written = GENERATED[page.path.stem](folder / page.path.stem)
        return "\n" + _toctree("", [f"{page.path.stem}/{name}" for name in written])
    return ""


def navigation(pages: dict[Path, Page]) -> str:
    """Return the trees of contents that follow from the sections of docs/index.md."""
    trees = (
        _toctree(section.title, [f"{title} <{page.place}>" for title, page in section.entries])
        for section in sections(pages)
    )
    return "\n" + "\n".join(trees)


def _toctree(caption: str, entries: list[str]) -> str:
    head = [f":caption: {caption}"] if caption else []
    return "\n".join(["```{toctree}", ":hidden:", *head, "", *entries, "```", ""])


def _relinked(page: Page, text: str, pages: dict[Path, Page], folder: Path) -> str:
    """Return a text whose links lead to places in the site; what stands in fences is left alone."""

    def place(found: re.Match[str]) -> str:
        return _place(page, found[0], pages, folder)

    return "".join(line if fenced else LINK.sub(place, line) for line, fenced in _lines(text))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it belongs to a fence."""
    fence = ""
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        if found and not fence:
            fence = found[1]
            yield line, True
        else:
            yield line, bool(fence)
            if found and found[1].startswith(fence) and line.strip() == found[1]:
                fence = ""


def _place(page: Page, link: str, pages: dict[Path, Page], folder: Path) -> str:
    parts = urlsplit(link)
    if parts.scheme or not parts.path:
        return link
    path, anchor = page.target(link)
    if not path.exists():  # written by the build itself: a picture or a file of a notebook
        return link
    if path in pages:
        target = f"{pages[path].place}.md"
    elif path.is_relative_to(IMAGES):
        target = path.relative_to(DOCS).as_posix()
    else:
        target = f"files/{path.relative_to(ROOT).as_posix()}"
        _copy(path, folder / target)
    start = Path(page.place).parent.as_posix()
    return Path(os.path.relpath(target, start)).as_posix() + (f"#{anchor}" if anchor else "")


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True)
    else:
        shutil.copy(path, target)
