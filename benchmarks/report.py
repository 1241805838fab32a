"""How heavy is a report of many columns, and how long does a browser take to open it? The limits are 5 MB and 2 s.

    .venv/bin/python benchmarks/report.py

The time is that of a start of Chromium with the page, less that of a start with an empty page; the best of five.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import sfumato
from sfumato import Marginals, Schema
from sfumato.schema.column import Column

COLUMNS, ROWS, STARTS = (13, 80, 200), 2_000, 5
HEAVIEST, LONGEST = 5.0, 2.0
"""Megabytes and seconds."""
QUIET = "headless no-sandbox disable-gpu no-first-run disable-background-networking disable-component-update"


def table(columns: int) -> sfumato.Table:
    """Return made-up rows: numbers with gaps and levels by turns."""
    generator = np.random.default_rng(3)
    facts, values = list[Column](), dict[str, np.ndarray]()
    for i in range(columns):
        name = f"column {i}"
        if i % 3:
            facts.append(Column(name, "number", bounds=(0, 100), bins=40, missing=True))
            values[name] = np.where(generator.random(ROWS) < 0.1, np.nan, generator.gamma(3, 9, ROWS).clip(0, 99))
        else:
            levels = tuple(f"level {j}" for j in range(3 + i))
            facts.append(Column(name, "category", values=levels))
            values[name] = generator.choice(levels, ROWS)
    return sfumato.read(pd.DataFrame(values), Schema("wide", tuple(facts)))


def seconds(page: Path, folder: Path, browser: str) -> float:
    """Return how long one start of the browser takes with a page."""
    command = [browser, *(f"--{each}" for each in QUIET.split()), f"--user-data-dir={folder / 'p'}", "--dump-dom"]
    start = time.perf_counter()
    subprocess.run([*command, page.as_uri()], capture_output=True, check=True, timeout=120)
    return time.perf_counter() - start


def main() -> None:
    """Print size and time of reports, as shares of the limits."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        empty = folder / "empty.html"
        empty.write_text("<!DOCTYPE html><html><title>empty</title></html>", encoding="utf-8")
        for columns in COLUMNS:
            made = sfumato.release(table(columns), Marginals(3.0, pairs=[]), rows=ROWS, ledger=False)
            page = made.save(folder / str(columns)) / "report.html"
            size = page.stat().st_size / 1e6
            told = f"{columns:4} columns: {size:.2f} MB ({size / HEAVIEST:.2f} of the limit)"
            if browser is not None:
                both = [min(seconds(each, folder, browser) for _ in range(STARTS)) for each in (page, empty)]
                spent = both[0] - both[1]
                told += f", opened in {spent:.2f} s ({spent / LONGEST:.2f} of the limit; an empty page {both[1]:.2f} s)"
            print(told)


if __name__ == "__main__":
    main()
