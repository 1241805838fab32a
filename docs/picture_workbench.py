"""Make the pictures of workbench.md: ``.venv/bin/python docs/picture_workbench.py``. Needs Chromium and playwright.

A browser walks the whole way with the example households, whom nobody has to protect: nobody in them exists.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from photograph import BETWEEN, GAP, PHONE, browser, hindrance, keep

from sfumato.example import households

WIDE, HIGH, ROWS = 1280, 900, 5000
NAMES = ("table", "column", "plan", "release", "ledger", "script", "phone", "dark")
PICTURES = tuple(f"workbench-{name}.png" for name in NAMES)
START = "from sfumato.cli import main; main()"
LONG = 60_000


def main() -> int:
    """Write the pictures, or say why not."""
    missing = hindrance() or ("" if find_spec("playwright") else "no playwright here (pip install playwright)")
    if missing:
        print(f"{missing}: {', '.join(PICTURES)} stay as they are", file=sys.stderr)
        return 0
    folder = Path(tempfile.gettempdir()) / "example"  # its name is in the pictures
    folder.mkdir(exist_ok=True)
    try:
        data = folder / "households.csv"
        households(rows=ROWS).to_pandas().to_csv(data, index=False)
        with _served(folder / "project") as address, _browsing() as made:
            walk(made, address, str(data))
    finally:
        shutil.rmtree(folder)
    print(f"wrote {', '.join(PICTURES)}")
    return 0


def walk(made: Any, address: str, data: str) -> None:
    """Go from the file to the script, and take a picture of each page."""
    page = made.new_context(viewport={"width": WIDE, "height": HIGH}).new_page()
    page.set_default_timeout(LONG)
    page.goto(address)
    _table(page, data)
    _plan(page)
    _release(page)
    page.get_by_role("link", name="4 Ledger").click()
    page.get_by_text("Every entry").wait_for()
    _keep(page, "ledger")
    page.get_by_role("link", name="5 Script").click()
    page.get_by_role("button", name="Download release.py").wait_for()
    page.wait_for_timeout(1500)
    _keep(page, "script", HIGH)
    _others(made, page)


def _table(page: Any, data: str) -> None:
    page.get_by_role("textbox", name="Path of the file", exact=True).fill(data)
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("textbox", name="Search columns").wait_for()
    page.get_by_role("radio", name="Each person has one row").click()
    page.get_by_role("textbox", name="Public source of all other facts", exact=True).fill("code book 2024")
    page.get_by_role("textbox", name="Your name, for the schema", exact=True).fill("Ann Example")
    page.get_by_text("code book 2024").first.wait_for()
    page.wait_for_timeout(1000)
    _keep(page, "table")
    page.locator("[data-column=age]").click()
    page.wait_for_timeout(1500)
    page.evaluate("window.scrollTo(0, 0)")
    _keep(page, "column", HIGH)
    page.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Confirm the schema").click()
    page.get_by_role("button", name="Next: Plan").click()


def _plan(page: Any) -> None:
    page.get_by_role("button", name="Teaching").click()
    page.get_by_role("button", name="Open an account with these caps").click()
    page.get_by_role("button", name="Next: Release").wait_for()
    page.get_by_role("textbox", name="Approximate number of rows of the table", exact=True).fill(str(ROWS))
    page.get_by_text("Expected with about").wait_for()
    page.wait_for_timeout(1000)
    _keep(page, "plan", 1500)
    page.get_by_role("button", name="Next: Release").click()


def _release(page: Any) -> None:
    page.get_by_role("button", name="Release, and record the cost").click()
    page.get_by_text("Released: ").wait_for()
    page.get_by_role("button", name="Verify").click()
    page.get_by_text("verified", exact=True).wait_for()
    page.get_by_role("button", name="Report", exact=True).click()
    page.frame_locator("iframe").get_by_role("heading", name="households").first.wait_for()
    page.wait_for_timeout(1500)
    _keep(page, "release")


def _others(made: Any, page: Any) -> None:
    """Take pictures of two pages on a phone, and of one in dark colours."""
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    shots = []
    for step in ("1 Table", "2 Plan", "4 Ledger"):
        page.get_by_role("link", name=step).click()
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_timeout(1500)
        shots.append(_seen(page))
    keep(_beside(shots), "workbench-phone.png")
    page.set_viewport_size({"width": WIDE, "height": HIGH})
    page.get_by_role("link", name="2 Plan").click()
    page.get_by_role("button", name="Colours").click()
    page.get_by_text("dark", exact=True).click()
    page.wait_for_timeout(1500)
    _keep(page, "dark", HIGH)


def _seen(page: Any, full: bool = False) -> Any:
    from PIL import Image

    page.mouse.move(0, 0)
    return Image.open(io.BytesIO(page.screenshot(full_page=full))).convert("RGB")


def _keep(page: Any, name: str, high: int | None = None) -> None:
    seen = _seen(page, full=high is None or high > HIGH)
    keep(seen if high is None else seen.crop((0, 0, seen.width, min(high, seen.height))), f"workbench-{name}.png")


def _beside(shots: list[Any]) -> Any:
    from PIL import Image

    wide, high = PHONE
    together = Image.new("RGB", (len(shots) * (wide + GAP) - GAP, high), BETWEEN)
    for place, shot in enumerate(shots):
        together.paste(shot, (place * (wide + GAP), 0))
    return together


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    words = [sys.executable, "-c", START, "workbench", "--no-open", "--project", str(folder)]
    env = {**os.environ, "SFUMATO_RERUNS": "0"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:  # noqa: S603  ourselves
        assert process.stdout is not None
        try:
            yield process.stdout.readline().partition("workbench: ")[2].strip()
        finally:
            process.terminate()


@contextmanager
def _browsing() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        yield made
        made.close()


if __name__ == "__main__":
    sys.exit(main())
