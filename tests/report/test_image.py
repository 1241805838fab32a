"""A grey picture is a PNG inside the page that any reader can open."""

from __future__ import annotations

import base64
import re
import struct
import zlib

from sfumato.report.charts.svg import ImageMark


def test_pixels_come_back_from_the_file():
    values = [0.0, 255.0, 128.4, 300.0]
    shown = re.search(r'href="data:image/png;base64,([^"]*)"', ImageMark(values).picture("w", 320, 320))
    assert shown is not None
    file = base64.b64decode(shown[1])
    assert file.startswith(b"\x89PNG") and struct.unpack(">2I", file[16:24]) == (2, 2)
    start = file.index(b"IDAT") + 4
    (size,) = struct.unpack(">I", file[start - 8 : start - 4])
    assert zlib.decompress(file[start : start + size]) == bytes([0, 0, 255, 0, 128, 255])
    assert ImageMark(values).spoken() == "2 x 2 grey pixels."
