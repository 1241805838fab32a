"""SVG elements as text, with titles for screen readers, and grey images inside one.

Colours come from the page's stylesheet by class, so that one drawing serves light, dark and print.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

LETTER = 6.7
"""Width of a letter of an axis, for keeping words inside a picture."""
LONGEST_LABEL = 11
HEAD = b"\x89PNG\r\n\x1a\n"


def svg(width: int, height: int, drawn: Sequence[str], words: str, kind: str = "") -> Markup:
    """Return an SVG element with its text alternative; what is drawn has been escaped."""
    name = f' class="{kind}"' if kind else ""
    start = f'<svg{name} viewBox="0 0 {width} {height}" role="img" aria-label="{escape(words)}">'
    return Markup(f"{start}{''.join(drawn)}</svg>")  # noqa: S704  numbers, and words that are escaped


def diamond(x: float, y: float, size: float = 5.5) -> str:
    """Return the mark of a true value."""
    return f'<path class="mark" d="M{x:.1f} {y - size:g}l{size:g} {size:g}l-{size:g} {size:g}l-{size:g} -{size:g}Z"/>'


def dot(x: float, y: float, hint: str = "") -> str:
    """Return the mark of a synthetic value."""
    title = f"<title>{escape(hint)}</title>" if hint else ""
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.4g}" r="4.5">{title}</circle>'


def truncate(label: str, most: int = LONGEST_LABEL) -> Markup:
    """Return a label that fits; the whole of it shows when the pointer rests on it."""
    if text_width(label) <= most:
        return escape(label)
    kept = ""
    for letter in label:
        if text_width(kept + letter) > most - 1:
            break
        kept += letter
    return Markup("{}…<title>{}</title>").format(kept, label)


def text_width(label: str) -> int:
    """Return how many letters of usual width a label takes; those of some scripts are twice as wide."""
    return sum(1 if ord(letter) < 0x1100 else 2 for letter in label)


@dataclass(frozen=True)
class ImageMark:
    """A picture of as many rows as columns, values from 0 (black) to 255 (white), row by row."""

    values: Sequence[float]

    @property
    def side(self) -> int:
        """Pixels of a row."""
        return round(len(self.values) ** 0.5)

    def entries(self) -> Iterator[tuple[str, str]]:
        """Yield nothing: a picture needs no legend."""
        yield from ()

    def spoken(self) -> str:
        """Return its size in words."""
        return f"{self.side} x {self.side} grey pixels."

    def picture(self, words: str, width: int, height: int, hints: bool = True) -> Markup:
        """Return the SVG, as high as it is wide; its pixels stay sharp."""
        shown = base64.b64encode(self._png()).decode()
        drawn = f'<image class="pixels" width="{width}" height="{width}" href="data:image/png;base64,{shown}"/>'
        return svg(width, width, [drawn], words, "slender")

    def _png(self) -> bytes:
        """Return the smallest PNG file: eight bits of grey, a row after another."""
        grey = bytes(min(max(int(value), 0), 255) for value in self.values)
        rows = b"".join(b"\0" + grey[start : start + self.side] for start in range(0, self.side**2, self.side))
        size = struct.pack(">2I5B", self.side, self.side, 8, 0, 0, 0, 0)
        return HEAD + _part(b"IHDR", size) + _part(b"IDAT", zlib.compress(rows, 9)) + _part(b"IEND", b"")


def _part(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
