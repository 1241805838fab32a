"""One Chromium looks at many pages: on a phone and on a desk, in light and in dark.

A start takes seconds, so one start opens every page at every width and tells what is wrong with each (look.js):
words that are cut or lie over others, pages and tables that are wider than their place, pictures that are not drawn or
have no words, colours without contrast, headings out of order, controls without a label, and anything that is loaded.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

WIDTHS = (390, 1280)
LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")
QUIET = "headless no-sandbox disable-gpu no-first-run disable-background-networking disable-component-update"
SCHEMES = {"dark": 0, "light": 1}


@dataclass(frozen=True)
class Seen:
    """What one page looks like at one width."""

    name: str
    width: int
    dark: bool
    pictures: int
    words: int
    wrong: tuple[str, ...]
    left: tuple[str, ...]
    """Addresses that the page loaded something from."""
    took: float
    used: dict[str, Any] | None
    """What search, order and index did; None where a page has none."""


def chromium() -> str:
    """Return where Chromium is; skip the test where there is none."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return found or pytest.skip("no Chromium here: install it to see the page drawn")


def started(address: str, folder: Path, options: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run Chromium once, without a window, on one address."""
    wanted = [*QUIET.split(), "disable-sync", f"user-data-dir={folder / 'profile'}", *options]
    command = [chromium(), *(f"--{option}" for option in wanted), address]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


def looked_at(pages: Mapping[str, Path], folder: Path, scheme: str, widths: Iterable[int] = WIDTHS) -> list[Seen]:
    """Open every page at every width, in one start; what the browser logs is a failure."""
    asked = {"pages": {name: path.resolve().as_uri() for name, path in pages.items()}, "widths": list(widths)}
    text = json.dumps(asked).replace("<", "\\u003c")
    place = folder / f"look-{scheme}.html"
    data = f'<script type="application/json" id="asked">{text}</script>'
    place.write_text(f'<!DOCTYPE html><body>{data}<script type="module">{LOOK}</script></body>', encoding="utf-8")
    options = ["allow-file-access-from-files", "enable-logging=stderr", "virtual-time-budget=100000000", "dump-dom"]
    done = started(place.as_uri(), folder, [*options, f"blink-settings=preferredColorScheme={SCHEMES[scheme]}"])
    logged = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert logged == [], "\n".join(logged)
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told, f"the look did not end: {done.stderr[-2000:]}"
    return [_seen(each, scheme) for each in json.loads(html.unescape(told.group(1)))]


def _seen(told: dict[str, Any], scheme: str) -> Seen:
    assert told.get("dark", scheme == "dark") == (scheme == "dark"), "the browser shows another scheme"
    return Seen(
        told["name"],
        told["width"],
        scheme == "dark",
        told["pictures"],
        told["words"],
        tuple(told["wrong"]),
        tuple(told["left"]),
        told.get("took", 0.0),
        told["used"],
    )
