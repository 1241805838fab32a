"""``sfumato reproduce``: what a paper printed, what we compute, and why they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.arguments import AsJson
from sfumato.cli.console import Voice
from sfumato.errors import BundleError

PAGE, RESULTS = "page.html", "results.json"


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Name of the paper, such as homogeneity-attack.")],
    out: Annotated[str | None, typer.Option("--out", "-o", help="Folder; 'PAPER-reproduction' unless said.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an earlier reproduction.")] = False,
    json: AsJson = False,
) -> None:
    """Recompute a paper's figures of merit on its public data: a page and a JSON file, printed beside exact.

    The data are read from the folder in SFUMATO_DATA, or from ../shared/data.
    """
    from sfumato.papers import paper as find_paper
    from sfumato.report.reproduction_page import render

    voice, module = Voice(json), find_paper(paper)
    folder = Path(out or f"{paper}-reproduction")
    _refuse_overwrite(folder, force)
    voice.say(f"recomputing {paper}; this takes a minute at most")
    results = module.reproduce()
    paths = _write(folder, {PAGE: render(module.page_of(results)), RESULTS: results.model_dump_json(indent=1) + "\n"})
    table = module.summary(results)
    voice.table(table.title, table.header, table.rows)
    voice.say(f"values: {paths[RESULTS]}")
    voice.say(f"open {paths[PAGE]}", style="bold")
    rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
    voice.document({"paper": paper, "page": str(paths[PAGE]), "results": str(paths[RESULTS]), "summary": rows})


def _refuse_overwrite(folder: Path, force: bool) -> None:
    present = [name for name in (PAGE, RESULTS) if (folder / name).exists()]
    if present and not force:
        raise BundleError(f"{folder} already holds {' and '.join(present)}",
                          next_step="choose another folder with --out, or add --force")  # fmt: skip


def _write(folder: Path, files: dict[str, str]) -> dict[str, Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BundleError(f"cannot write {folder}: {error.strerror}", next_step="choose another --out") from error
    return {name: folder / name for name in files}
