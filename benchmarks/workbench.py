"""How long the workbench takes to start and to answer, and what it holds in memory: python benchmarks/workbench.py

Start: from the command to the first answered page. Pages: the answer of the server and the whole page, at 200 columns.
Memory: the process when all pages were opened and nothing runs. A file of about 1 GB is opened by its path.
"""

from __future__ import annotations

import argparse
import http.cookiejar
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from sfumato.workbench.project import Project
from sfumato.workbench.views import ledger, table

START = "from sfumato.cli import main; main()"
COLUMNS, ROWS, VISITS = 200, 5000, 9
GOALS = {"start_s": 3.0, "page_ms": 300.0, "memory_mb": 500.0}


def wide(place: Path) -> Path:
    """Write a table of 200 columns."""
    rng = np.random.default_rng(1)
    made = {f"q{i}": rng.integers(0, 9, ROWS) if i % 2 else rng.choice(["a", "b", "c"], ROWS) for i in range(COLUMNS)}
    pd.DataFrame(made).to_csv(place, index=False)
    return place


def long(place: Path, megabytes: int) -> Path:
    """Write a table of so many megabytes: ten columns, one piece again and again."""
    rng = np.random.default_rng(2)
    piece = pd.DataFrame({f"c{i}": rng.integers(0, 100_000, 200_000) for i in range(10)})
    first = piece.to_csv(index=False).encode()
    body = first.split(b"\n", 1)[1]
    with place.open("wb") as file:
        file.write(first)
        while file.tell() < megabytes * 10**6:
            file.write(body)
    return place


def prepared(folder: Path, data: Path) -> None:
    """Make a project whose table is described, and whose account is open."""
    project = Project(folder)
    project.keep_draft(table.draft(str(data), {}), str(data), {})
    project.change(rest_source="code book", whose="rows", by="benchmark", about_rows=str(ROWS))
    ledger.open_account(project, table.confirm(project).name)
    project.close()


def measured(folder: Path) -> dict[str, object]:
    """Start the workbench on a project, and open every page."""
    begun = time.perf_counter()
    words = [sys.executable, "-c", START, "workbench", "--no-open", "--project", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        try:
            address = process.stdout.readline().partition("workbench: ")[2].strip()
            said = time.perf_counter() - begun
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
            with opener.open(address) as answer:
                answer.read()
                home = answer.url
            first = time.perf_counter() - begun
            pages = {
                name or "table": visits(opener, home + name) for name in ("", "plan", "release", "ledger", "script")
            }
            memory = psutil.Process(process.pid).memory_info().rss / 1e6
        finally:
            process.terminate()
    return {"address_s": said, "start_s": first, "pages_ms": pages, "memory_mb": memory}


def visits(opener: urllib.request.OpenerDirector, url: str) -> dict[str, float]:
    """Return the first and the median time of an answer, in milliseconds."""
    taken = []
    for _ in range(VISITS):
        begun = time.perf_counter()
        with opener.open(url) as answer:
            answer.read()
        taken.append(1000 * (time.perf_counter() - begun))
    return {"first": taken[0], "median": float(np.median(taken))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the large file; 0 leaves it out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepared(folder / "project", wide(folder / "wide.csv"))
        found = measured(folder / "project")
        if options.megabytes:
            data = long(folder / "long.csv", options.megabytes)
            begun = time.perf_counter()
            draft = table.draft(str(data), {})
            found["large_file"] = {
                "megabytes": data.stat().st_size / 1e6,
                "draft_s": time.perf_counter() - begun,
                "columns": len(draft.columns),
                "memory_mb": psutil.Process().memory_info().rss / 1e6,
            }
    print(json.dumps({**found, "goals": GOALS}, indent=1))


if __name__ == "__main__":
    main()
