"""The verb sfumato risk attack: attack an existing release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import HoldoutOptions, PrivatePageOptions, Repeat, split_names

if TYPE_CHECKING:
    from sfumato.risk.on_release.result import ReleaseAttackReport, ReleaseAttackResult

HEADERS = ("attack", "on members", "on others", "guessing", "ceiling", "")
FINE = ("nothing found", "within its guarantee")
MOST_SHOWN = 10
"""Worst records that are named."""


def attack(
    rows: HoldoutOptions,
    page: PrivatePageOptions,
    console: Console,
    secret: Annotated[
        list[str] | None, typer.Option(help="Columns to guess; default: the sensitive ones, or some.")
    ] = None,
    known: Annotated[
        list[str] | None, typer.Option(help="Columns the attacker knows; default: the quasi-identifiers, or all.")
    ] = None,
    targets: Annotated[int, typer.Option(help="Maximum number of people to attack on each side.")] = 1000,
    shadows: Annotated[
        int | None, typer.Option(min=0, help="Runs of the method on people of the holdout; default: as time allows.")
    ] = None,
    seed: Repeat = 0,
) -> None:
    """Attack a release: membership, singling out, linkage, inference.

    Each attack is tried on people of DATA and on people of the holdout, who are not in the release: the difference is
    what the release discloses. Beside it are the success without the release and the most that the guarantee allows.
    For the custodian's eyes only, so it costs nothing.
    """
    from sfumato.risk.on_release.run import attack_release

    page.require_free("the page of attacks")
    with console.progress("attacking"):
        report = attack_release(
            rows.bundle,
            rows.read(),
            rows.read_holdout(),
            secret=split_names(secret),
            known=split_names(known),
            targets=targets,
            shadows=shadows,
            seed=seed or 0,
        )
    saved = None if page.out is None else report.save(page.out)
    _show(console, report)
    if saved is not None:
        console.say(f"page: {saved} (custodian's copy, do not publish)", style="bold")
    console.say(report.notice, style="yellow")
    console.print_json({**report.to_dict(), **({} if saved is None else {"page": str(saved)})})


def _show(console: Console, report: ReleaseAttackReport) -> None:
    console.panel(f"{report.table}: {report.grade}", report.verdict, "green" if report.grade in FINE else "red")
    console.table("Success in per cent", HEADERS, [_line(each) for each in report.results])
    for row, by in report.worst_records[:MOST_SHOWN]:
        console.say(f"Row {row:,}: {'; '.join(by)}.")
    for each in report.results:
        if each.criterion == "overfitting":
            console.say(f"{each.attack}: {each.notes[0]}")
    for line in report.left_out:
        console.say(line)
    for note in report.notes:
        console.say(f"Note: {note}.")


def _line(result: ReleaseAttackResult) -> list[str]:
    from sfumato.risk.on_release.result import shares_of

    word = "BREAKS THE GUARANTEE" if result.refutes_claim else "works" if result.succeeds else ""
    return [result.attack, *shares_of(result), word]
