"""The command sfumato reproduce: recompute a paper's figures and tables."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import Force
from sfumato.cli.output_page import OutputPage
from sfumato.errors import PlanError
from sfumato.papers import PAPERS, PaperRecord

if TYPE_CHECKING:
    from sfumato.papers import Reproducible

PAGE, RESULTS = "page.html", "results.json"


def reproduce(
    console: Console,
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Name of the paper; an unknown one lists the papers.")],
    figure: Annotated[str | None, typer.Option(metavar="N", help="Only this figure, such as 4 or S1.")] = None,
    table: Annotated[str | None, typer.Option(metavar="N", help="Only this table, such as IV or S3.")] = None,
    repeats: Annotated[
        int | None, typer.Option(metavar="N", help="Number of repetitions of random parts; see the list below.")
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Retrain generative networks (an hour on a CPU); two-stage only.")
    ] = False,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Folder; default: PAPER-reproduction.")] = None,
    force: Force = False,
) -> None:
    """Recompute a paper's figures and tables on its public data.

    Writes a page and a JSON file with the printed value beside the exact one. The data are read from the folder in
    SFUMATO_DATA, or from ../shared/data. With --figure or --table only that part is computed.
    """
    from sfumato.papers import paper as find_paper
    from sfumato.report import to_html

    module = find_paper(paper)
    part = _chosen_part(paper, module, figure, table)
    more = _run_options(paper, module, {"only": part, "repeats": repeats, "deep": deep or None})
    places = OutputPage.in_folder(out, f"{paper}-{part or 'reproduction'}", PAGE, RESULTS, force)
    patience = "minutes or more" if repeats is not None or deep else "a minute or two"
    console.say(f"recomputing {part or 'all'} of {paper}; this takes {patience}")
    with console.progress("recomputing"):
        results = module.reproduce(**more)
    places.write(to_html(module.page_of(results)), results.model_dump_json(indent=1))
    found = module.summary(results)
    console.table(found.title, found.header, found.rows)
    console.say(f"values: {places.json}")
    console.say(f"open {places.page}", style="bold")
    rows = [dict(zip(found.header, row, strict=True)) for row in found.rows]
    paths = {"page": str(places.page), "results": str(places.json)}
    console.print_json({"paper": paper, **({"part": part} if part else {}), **paths, "summary": rows})


def _chosen_part(name: str, module: Reproducible, figure: str | None, table: str | None) -> str | None:
    """Return the figure or table asked for, as the paper names it; None for everything."""
    if figure is None and table is None:
        return None
    known = module.parts()
    if figure is not None and table is not None:
        raise PlanError("--figure and --table were both given", next_step="ask for one part, or for everything")
    kind, number = ("figure", figure) if figure is not None else ("table", table)
    wanted = f"{kind} {number}".casefold()
    found = next((each for each in known if each.casefold() == wanted), None)
    if found is None:
        there = ", ".join(each.removeprefix(f"{kind} ") for each in known if each.startswith(kind))
        raise PlanError(f"the reproduction of {name} has no {kind} {number!r}", next_step=f"use one of: {there}")
    return found


def _run_options(name: str, module: Reproducible, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what was asked for besides the name; refuse all that this paper does not have."""
    chosen = {option: value for option, value in asked.items() if value is not None}
    known = inspect.signature(module.reproduce).parameters
    lacking = [option for option in chosen if option not in known]
    if lacking:
        problems = [f"--{option} is for: {', '.join(_papers_with(option))}" for option in lacking]
        raise PlanError(f"{name} has nothing that could be changed so", problems, "leave it out, or name such a paper")
    return chosen


def _papers_with(option: str) -> list[str]:
    return [name for name, listed in PAPERS.items() if getattr(listed, option)]


def _listing() -> str:
    """Return the papers with their parts, files and what can be repeated, for the help."""
    return "\n\n".join(f"- **{name}**: {_line(listed)}" for name, listed in PAPERS.items())


def _line(listed: PaperRecord) -> str:
    sentences = [
        f"{listed.about}.",
        f"Parts: {listed.parts}.",
        f"Files: {', '.join(listed.files) or 'none, its rows are simulated'}.",
        f"--repeats: {listed.repeats}." if listed.repeats else "",
        f"--deep: {listed.deep}." if listed.deep else "",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


reproduce.__doc__ = f"{inspect.cleandoc(reproduce.__doc__ or '')}\n\nPapers:\n\n{_listing()}"
