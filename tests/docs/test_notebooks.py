"""The notebooks are run, and what they print must be what they keep.

Numbers of a cell with the tag ``noisy`` may differ, its words may not. Of a cell with the tag ``varies`` only the kinds
of its outputs count: rows of a release, which follow the platform's arithmetic even where a seed is given.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="needs nbformat: pip install nbformat")
pytest.importorskip("nbclient", reason="needs nbclient: pip install nbclient ipykernel")
pytest.importorskip("ipykernel", reason="needs ipykernel: pip install ipykernel")

from make_notebooks import NOTEBOOKS, ran  # noqa: E402

from page_output import require_shown  # noqa: E402

NEEDS = {"credit": "hmeq.csv", "time-curves": "eia.csv"}
"""Real tables that do not come with a package."""
NAMES = ("credit", "health-survey", "time-curves")
TAGS = {"noisy", "varies"}


def kept(name: str) -> list[dict]:
    return json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


def printed(outputs: list[dict]) -> str:
    """Return what a cell printed and showed, as text."""
    found = (output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)
    return "\n".join(text if isinstance(text, str) else "".join(text) for text in found)


def kinds(outputs: list[dict]) -> list[tuple[str, ...]]:
    return [(output["output_type"], *sorted(output.get("data", {}))) for output in outputs]


def test_all_notebooks_are_here():
    assert tuple(sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_keeps_its_outputs_and_no_paths(name):
    cells = [cell for cell in kept(name) if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in cells) and any(cell["outputs"] for cell in cells)
    assert {tag for cell in cells for tag in cell["metadata"].get("tags", ())} <= TAGS
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
    assert "/home/" not in (text := json.dumps(cells)) and "/tmp/" not in text and "stderr" not in text


@pytest.mark.parametrize("name", NAMES)
def test_what_a_notebook_shows_is_what_happens(name, request, monkeypatch):
    if name in NEEDS:
        folder: Path = request.getfixturevalue("shared_data")
        if not (folder / NEEDS[name]).exists():
            pytest.skip(f"no {NEEDS[name]} in {folder}")
        monkeypatch.setenv("SFUMATO_DATA", str(folder))
    again = ran(NOTEBOOKS / f"{name}.ipynb").cells
    for number, (before, after) in enumerate(zip(kept(name), again, strict=True)):
        if before["cell_type"] != "code":
            continue
        tags = before["metadata"].get("tags", ())
        assert kinds(before["outputs"]) == kinds(after["outputs"]), f"{name}, cell {number}"
        if "varies" not in tags:
            shown, now = printed(before["outputs"]), printed(after["outputs"])
            require_shown(shown, now, f"{name}, cell {number}", "noisy" in tags)
            require_shown(now, shown, f"{name}, cell {number}", "noisy" in tags)
