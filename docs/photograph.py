"""Photographs of pages for the documentation: a part of a page, as Chromium shows it. Needs Pillow beside Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH, TALL = 1280, 3600
PHONE = (390, 844)
EDGE, GAP, MARGIN = 160, 24, 24
"""Chromium leaves a white foot below what it draws; between pictures, and below the last thing in one."""
COLOURS = 256
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = "headless no-sandbox disable-gpu no-first-run disable-background-networking hide-scrollbars"
MAIN = re.compile(r"<main\b[^>]*>")
ALONE = "<style>header.top, nav.sections { display: none } main { padding-top: 8px }</style></head>"
BETWEEN = "#b8bec8"


def browser() -> str | None:
    """Return the browser of this machine, if it has one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def hindrance() -> str:
    """Return what is missing here for a photograph, or nothing."""
    if browser() is None:
        return "no Chromium here"
    return "" if find_spec("PIL") else "no Pillow here (pip install pillow)"


def photograph(page: str, part: str, until: str, picture: str) -> None:
    """Write a picture of a page from its top, or from a part on and without header, to where ``until`` begins."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(_cut(page, part, until), encoding="utf-8")
        keep(_trimmed(_seen(file, WIDTH, TALL)), picture)


def phones(page: str, places: tuple[str, ...], picture: str) -> None:
    """Write a picture of a page on phones side by side, each at one of its places."""
    wide, high = PHONE
    frames = "".join(f'<iframe src="page.html#{at}" width="{wide}" height="{high}"></iframe>' for at in places)
    style = f"body {{ margin: 0; display: flex; gap: {GAP}px; background: {BETWEEN} }} iframe {{ border: 0 }}"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.html").write_text(page, encoding="utf-8")
        file = Path(folder) / "phones.html"
        file.write_text(f"<!doctype html><style>{style}</style>{frames}", encoding="utf-8")
        all_wide = len(places) * (wide + GAP) - GAP
        keep(_seen(file, all_wide, high + EDGE).crop((0, 0, all_wide, high)), picture)


def printed(page: str, file: Path) -> None:
    """Write a page as the document that a printer makes of it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "page.html"
        place.write_text(page, encoding="utf-8")
        _run(place, f"print-to-pdf={file}", "no-pdf-header-footer")


def keep(picture: Image, name: str) -> None:
    """Write a picture in few colours: a page has no more, and the file is half as large."""
    from PIL.Image import Dither, Quantize

    few = picture.convert("RGB").quantize(COLOURS, Quantize.MAXCOVERAGE, dither=Dither.NONE)
    few.save(IMAGES / name, optimize=True)


def _seen(page: Path, width: int, height: int) -> Image:
    from PIL.Image import open as opened

    shot = page.parent / "shot.png"
    _run(page, f"window-size={width},{height}", f"screenshot={shot}")
    with opened(shot) as seen:
        return seen.convert("RGB")


def _run(page: Path, *wanted: str) -> None:
    options = [*QUIET.split(), *wanted, f"user-data-dir={page.parent / 'profile'}", "virtual-time-budget=5000"]
    command = [browser() or BROWSERS[0], *(f"--{option}" for option in options), page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603  a page that was just written


def _trimmed(seen: Image) -> Image:
    """Return a picture without the empty ground below its last thing."""
    from PIL import Image, ImageChops

    body = seen.crop((0, 0, seen.width, seen.height - EDGE))
    ground = Image.new("RGB", body.size, body.getpixel((0, body.height - 1)))
    box = ImageChops.difference(body, ground).getbbox()
    return body if box is None else body.crop((0, 0, body.width, min(box[3] + MARGIN, body.height)))


def _cut(page: str, part: str, until: str) -> str:
    """Return a page without what stands before a part of it and after another; its script stays."""
    start = MAIN.search(page)
    assert start is not None
    end = page.index(until, start.end())
    script = page[page.rindex("<script") :]
    if not part:
        return f"{page[:end]}{script}"
    head = page[: start.end()].replace("</head>", ALONE, 1)
    return f"{head}{page[page.index(part, start.end()) : end]}{script}"
