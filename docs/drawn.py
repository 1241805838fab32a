"""Drawings of ours as files: panels in rows, one legend above them, and the styles of a page inside.

A page of Markdown shows such a file on a ground that is light or dark, so it brings a white one. Colours are written
out: some readers of SVG know no variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from textwrap import wrap

from markupsafe import Markup, escape

from sfumato.report.charts.plane import KEY_HEIGHT, KEY_WIDTH, Figure
from sfumato.report.charts.svg import text_width

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH, HEIGHT, PAD, GAP = 620, 300, 14, 16
LETTER, LINE, BESIDE = 7.0, 21, 7
"""Of the legend: width of a letter, height of a line, room between a mark and its name."""
BOLD, TITLE = 7.6, 16
"""Of the titles of panels: width of a letter, height of a line."""
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, sans-serif"
OPENING = re.compile(r'<svg(?: class="([^"]*)")? viewBox="0 0 (\d+) (\d+)"[^>]*>')
RULE = re.compile(r"^(svg\S* \.[^{]*)(\{[^}]*\})", re.MULTILINE)
CLASS = re.compile(r"\.([a-z][a-z0-9-]*)")
COLOUR = re.compile(r"var\(--([a-z0-9-]+)\)")
OWN = """
svg .entry { fill: var(--ink); font-size: 12px; }
svg .head { fill: var(--ink); font-size: 12px; font-weight: 600; }
"""
Entry = tuple[str, str]


@dataclass(frozen=True)
class Panel:
    """One drawing of a file: what can be drawn at any width, or an SVG element that has its size."""

    drawing: Figure | Markup
    title: str = ""
    height: int = HEIGHT

    def picture(self, width: int) -> Markup:
        """Return the SVG element."""
        return self.drawing if isinstance(self.drawing, Markup) else self.drawing.picture("", width, self.height, False)

    def entries(self) -> Iterator[Entry]:
        """Yield what the legend says of it."""
        if not isinstance(self.drawing, Markup):
            yield from self.drawing.entries()


def write(name: str, words: str, *rows: Sequence[Panel], legend: Sequence[Entry] | None = None) -> None:
    """Write rows of panels as a picture of the documentation."""
    IMAGES.joinpath(name).write_text(sheet(words, *rows, legend=legend), encoding="utf-8")


def alone(name: str, words: str, drawing: Figure, height: int = HEIGHT) -> None:
    """Write one drawing as a picture of the documentation."""
    write(name, words, [Panel(drawing, height=height)])


def sheet(words: str, *rows: Sequence[Panel], legend: Sequence[Entry] | None = None) -> str:
    """Return a whole SVG file; ``words`` are its text alternative.

    The legend names what is in the panels, each name once, unless it is given; a thing alone needs none.
    """
    found = {name: mark for row in rows for panel in row for mark, name in panel.entries()}
    entries = [(mark, name) for name, mark in found.items()] if legend is None else list(legend)
    drawn, y = _legend(entries) if len(entries) > 1 else ([], PAD)
    for row in rows:
        parts, high = _row(row, y)
        drawn, y = drawn + parts, y + high + GAP
    width, height = WIDTH + 2 * PAD, y - GAP + PAD
    body = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="{FONT}">\n<title>{escape(words)}</title>\n<style>\n{_styles(body)}</style>\n'
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="#fff" stroke="#dfe3e9"/>\n'
        f"{body}\n</svg>\n"
    )


def _legend(entries: Sequence[Entry]) -> tuple[list[str], int]:
    """Return the names with their marks in as many lines as they need, and where the next thing begins."""
    drawn: list[str] = []
    x, y = PAD, PAD
    for mark, name in entries:
        width = KEY_WIDTH + BESIDE + round(LETTER * text_width(name))
        if x > PAD and x + width > PAD + WIDTH:
            x, y = PAD, y + LINE
        said = f'<text class="entry" x="{KEY_WIDTH + BESIDE}" y="11">{escape(name)}</text>'
        drawn.append(f'<g transform="translate({x} {y})">{mark}{said}</g>')
        x += width + GAP
    return drawn, y + KEY_HEIGHT + GAP


def _row(row: Sequence[Panel], y: int) -> tuple[list[str], int]:
    """Return panels side by side, with the height that they take."""
    room = (WIDTH - GAP * (len(row) - 1)) // len(row)
    heads = [wrap(panel.title, int(room / BOLD)) for panel in row]
    head = max((TITLE * len(lines) + 6 for lines in heads if lines), default=0)
    drawn: list[str] = []
    highest = 0
    for place, panel in enumerate(row):
        left = PAD + place * (room + GAP)
        drawn += [
            f'<text class="head" x="{left + 2}" y="{y + head - TITLE * below + 5}">{escape(line)}</text>'
            for below, line in zip(range(len(heads[place]), 0, -1), heads[place], strict=True)
        ]
        placed, high = _placed(panel.picture(room), left, y + head, room)
        drawn.append(placed)
        highest = max(highest, high)
    return drawn, head + highest


def _placed(picture: Markup, left: int, y: int, room: int) -> tuple[str, int]:
    """Return an SVG element at its place inside another one, in the middle of its room, and its height."""
    opening = OPENING.match(picture)
    assert opening is not None
    kind, width, height = opening.group(1) or "", int(opening.group(2)), int(opening.group(3))
    place = f'x="{left + (room - width) / 2:g}" y="{y}" width="{width}" height="{height}"'
    start = f'<svg class="{kind}" {place} viewBox="0 0 {width} {height}" overflow="visible">'
    return f"{start}{picture[opening.end() :]}", height


def _styles(body: str) -> str:
    """Return the rules of the page's stylesheet that the body needs, in the colours of a light page."""
    used = {name for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
    text = _stylesheet()
    colours = dict(re.findall(r"--([a-z0-9-]+): ([^;]+);", text[: text.index("@media")]))
    kept = [
        f"{selector}{rule}\n"
        for selector, rule in RULE.findall(text + OWN)
        if any(set(CLASS.findall(part)) <= used for part in selector.split(","))
    ]
    return COLOUR.sub(lambda found: colours[found[1]], "".join(kept))


@cache
def _stylesheet() -> str:
    return resources.files("sfumato.report").joinpath("templates", "style.css").read_text(encoding="utf-8")
