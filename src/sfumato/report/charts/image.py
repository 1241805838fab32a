"""Grey images: a PNG file inside an SVG element, whose pixels stay sharp."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sfumato.report.charts.svg import svg

HEAD = b"\x89PNG\r\n\x1a\n"


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
