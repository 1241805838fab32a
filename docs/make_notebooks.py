"""Run the notebooks and keep what they show: ``.venv/bin/python docs/make_notebooks.py [NAME ...]``.

Two of them need the folder of real tables that ``SFUMATO_DATA`` names. Tests run all of them again and hold what they
print against what is kept.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
NOTEBOOKS = HERE / "notebooks"
MOST_SECONDS = 600


def ran(notebook: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a run in an empty folder."""
    made = nbformat.read(notebook, as_version=4)
    os.environ.setdefault("SFUMATO_DATA", str(HERE.parents[1] / "shared" / "data"))
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            made,
            timeout=MOST_SECONDS,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        ).execute()
    made.metadata = {"kernelspec": made.metadata.kernelspec, "language_info": {"name": "python"}}
    return made


def main(names: list[str]) -> int:
    """Run the named notebooks, or all, and write them in their place."""
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not names or notebook.stem in names:
            nbformat.write(ran(notebook), notebook)
            print(f"wrote {notebook.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
