"""A workbench in a process of its own, as a custodian starts it, and a browser that looks at it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
START = "import sys; from sfumato.cli import main; main()"


@dataclass
class Served:
    """Where a workbench answers."""

    address: str
    folder: Path
    process: subprocess.Popen[str]

    @property
    def origin(self) -> str:
        return re.match(r"(http://[^/]+)/", self.address)[1]

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])


@contextmanager
def served(folder: Path, *more: str, browser: str | None = None) -> Iterator[Served]:
    """Start a workbench on a free port, and stop it at the end."""
    quiet = ["--no-open"] if browser is None else []
    words = [sys.executable, "-c", START, "workbench", *quiet, "--project", str(folder), *more]
    env = {**os.environ, "SFUMATO_RERUNS": "0", "NO_COLOR": "1", "BROWSER": browser or ""}
    with (folder.parent / f"{folder.name}.log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True, env=env)
        try:
            line = process.stdout.readline()
            yield Served(line.partition("workbench: ")[2].strip(), folder, process)
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()


@contextmanager
def browsing() -> Iterator[object]:
    """Open the browser of this machine."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
