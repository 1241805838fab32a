"""A notebook with the outputs that it holds, as a page: nothing is run here."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FENCE = "`" * 4
PICTURES = {"image/png": "png", "image/svg+xml": "svg"}


def words_of(notebook: str) -> str:
    """Return what a notebook says between its code, in Markdown."""
    cells = json.loads(notebook)["cells"]
    return "\n\n".join(joined(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def page_of(notebook: Path, pictures: Path) -> str:
    """Return a notebook as Markdown for the site: words, code, outputs; its pictures go to a folder beside the page."""
    parts = [f"[Download this notebook](../files/{notebook.name}) to run it yourself."]
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "markdown":
            parts.append(joined(cell["source"]))
        elif cell["cell_type"] == "code":
            parts.append(_fenced("python", joined(cell["source"])))
            parts.extend(_outputs(cell["outputs"], f"{notebook.stem}-{number}", pictures))
    # The title stays first: whatever leads to the page is called by it.
    title, _, rest = parts[1].partition("\n")
    return "\n\n".join([title, parts[0], rest, *parts[2:]]) + "\n"


def _outputs(outputs: list[dict[str, Any]], name: str, pictures: Path) -> Iterator[str]:
    for count, output in enumerate(outputs):
        if output["output_type"] == "stream":
            yield _fenced("text", joined(output["text"]))
            continue
        data = output.get("data", {})
        kind = next((kind for kind in PICTURES if kind in data), None)
        if kind is not None:
            yield _picture(kind, data[kind], f"{name}-{count}.{PICTURES[kind]}", pictures)
        elif "text/html" in data:
            yield _fenced("{raw} html", f'<div class="shown">{joined(data["text/html"])}</div>')
        elif "text/plain" in data:
            yield _fenced("text", joined(data["text/plain"]))


def _picture(kind: str, content: Any, name: str, pictures: Path) -> str:
    pictures.mkdir(parents=True, exist_ok=True)
    written = base64.b64decode(joined(content)) if kind == "image/png" else joined(content).encode()
    (pictures / name).write_bytes(written)
    return f"![What the cell above shows]({pictures.name}/{name})"


def _fenced(language: str, text: str) -> str:
    return f"{FENCE}{language}\n{text.rstrip()}\n{FENCE}"


def joined(text: str | list[str]) -> str:
    """Return a text that notebooks hold whole, or line by line."""
    return text if isinstance(text, str) else "".join(text)
