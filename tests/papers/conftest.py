"""What the tests of every reproduction share: a page drawn by a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.papers.reproduction_page import ReproductionPage, render

QUIET = (
    "headless no-sandbox disable-gpu no-first-run disable-background-networking disable-component-update disable-sync"
)


@pytest.fixture
def require_drawn(tmp_path: Path) -> Callable[[ReproductionPage, int], None]:
    """Draw a page in headless Chromium: as many charts as stated, and not a word on the console."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium here: install it to see the page drawn")

    def check(page: ReproductionPage, charts: int) -> None:
        file = tmp_path / "page.html"
        file.write_text(render(page), encoding="utf-8")
        wanted = [*QUIET.split(), "enable-logging=stderr", "virtual-time-budget=15000", "dump-dom"]
        options = [f"--{option}" for option in (*wanted, f"user-data-dir={tmp_path / 'profile'}")]
        done = subprocess.run(
            [chromium, *options, file.as_uri()], capture_output=True, text=True, timeout=120, check=False
        )
        assert len(re.findall(r'<svg[^>]*class="marks"', done.stdout)) == charts
        assert "CONSOLE" not in done.stderr, done.stderr

    return check
