"""``sfumato reproduce``: what a paper printed, what we compute, and why they differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.arguments import AsJson
from sfumato.cli.console import Voice
from sfumato.errors import BundleError, PlanError

if TYPE_CHECKING:
    from sfumato.papers import PaperInParts, PaperModule

PAGE, RESULTS = "page.html", "results.json"


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Name of the paper; a wrong one lists what there is.")],
    figure: Annotated[str | None, typer.Option(metavar="N", help="Only this figure, such as 4 or S1.")] = None,
    table: Annotated[str | None, typer.Option(metavar="N", help="Only this table, such as IV or S3.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Folder; 'PAPER-reproduction' unless said.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an earlier reproduction.")] = False,
    json: AsJson = False,
) -> None:
    """Recompute a paper's figures of merit on its public data: a page and a JSON file, printed beside exact.

    The data are read from the folder in SFUMATO_DATA, or from ../shared/data. With --figure or --table only that part
    is computed, for papers that are kept in parts.
    """
    from sfumato.papers import paper as find_paper
    from sfumato.papers.reproduction_page import render

    voice, module = Voice(json), find_paper(paper)
    part = _chosen_part(paper, module, figure, table)
    folder = Path(out or f"{paper}-{part.replace(' ', '-') if part else 'reproduction'}")
    _refuse_overwrite(folder, force)
    voice.say(f"recomputing {part or 'all'} of {paper}; this takes a minute at most")
    results = module.reproduce() if part is None else _in_parts(paper, module).reproduce(only=part)
    paths = _write(folder, {PAGE: render(module.page_of(results)), RESULTS: results.model_dump_json(indent=1) + "\n"})
    found = module.summary(results)
    voice.table(found.title, found.header, found.rows)
    voice.say(f"values: {paths[RESULTS]}")
    voice.say(f"open {paths[PAGE]}", style="bold")
    rows = [dict(zip(found.header, row, strict=True)) for row in found.rows]
    places = {"page": str(paths[PAGE]), "results": str(paths[RESULTS])}
    voice.document({"paper": paper, **({"part": part} if part else {}), **places, "summary": rows})


def _chosen_part(name: str, module: PaperModule, figure: str | None, table: str | None) -> str | None:
    """Return the figure or table asked for, as the paper names it; None for everything."""
    if figure is None and table is None:
        return None
    known = _in_parts(name, module).parts()
    if figure is not None and table is not None:
        raise PlanError("--figure and --table were both given", next_step="ask for one part, or for everything")
    kind, number = ("figure", figure) if figure is not None else ("table", table)
    wanted = f"{kind} {number}".casefold()
    found = next((each for each in known if each.casefold() == wanted), None)
    if found is None:
        there = ", ".join(each.removeprefix(f"{kind} ") for each in known if each.startswith(kind))
        raise PlanError(f"the reproduction of {name} has no {kind} {number!r}", next_step=f"use one of: {there}")
    return found


def _in_parts(name: str, module: PaperModule) -> PaperInParts:
    from sfumato.papers import PaperInParts

    if not isinstance(module, PaperInParts):
        raise PlanError(f"the reproduction of {name} has no parts", next_step="leave --figure and --table out")
    return module


def _refuse_overwrite(folder: Path, force: bool) -> None:
    present = [name for name in (PAGE, RESULTS) if (folder / name).exists()]
    if present and not force:
        raise BundleError(
            f"{folder} already holds {' and '.join(present)}",
            next_step="choose another folder with --out, or add --force",
        )


def _write(folder: Path, files: dict[str, str]) -> dict[str, Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BundleError(f"cannot write {folder}: {error.strerror}", next_step="choose another --out") from error
    return {name: folder / name for name in files}
