"""The verb sfumato risk attack: attack an existing release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import DEFAULT_DIALECT, AsJson, Data, Dialect, split_names, with_options
from sfumato.cli.released import MadeRows, OwnSchema, PrivatePage, facts_of, require_free

if TYPE_CHECKING:
    from sfumato.risk.on_release.result import ReleaseAttackReport, ReleaseAttackResult

WHAT = "the page of attacks"
HEADERS = ("attack", "on members", "on others", "guessing", "ceiling", "")
FINE = ("nothing found", "within its guarantee")
MOST_SHOWN = 10
"""Worst records that are named."""


@with_options
def attack(
    bundle: MadeRows,
    data: Data,
    holdout: Annotated[
        str | None, typer.Option(help="Real rows that had no part in the release: the control of every attack.")
    ] = None,
    schema: OwnSchema = None,
    secret: Annotated[
        list[str] | None, typer.Option(help="A column to be guessed; the sensitive ones, or some, unless said.")
    ] = None,
    known: Annotated[
        list[str] | None, typer.Option(help="A column the attacker knows; quasi-identifiers, or all, unless said.")
    ] = None,
    targets: Annotated[int, typer.Option(help="People to attack on each side, at most.")] = 1000,
    shadows: Annotated[
        int | None, typer.Option(min=0, help="Runs of the method on people of the holdout; as time allows unless said.")
    ] = None,
    out: PrivatePage = None,
    seed: Annotated[int, typer.Option(help="Repeat the same attacks.")] = 0,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Attack a release: membership, singling out, linkage, inference, beside people not in it. For your eyes.

    Each attack is tried on people of DATA and on people of the holdout, who had no part in the release: the difference
    is what the release gives away. Beside it stand what is reached without the release, and what the guarantee allows
    at most. Costs nothing, because nothing of it may be published.
    """
    from sfumato.risk.on_release.run import attack_release
    from sfumato.table import read

    voice, facts = Voice(json), facts_of(bundle, schema)
    require_free(out, WHAT)
    with voice.counting("attacking"):
        table = read(data, facts, **dialect.stated())
        apart = None if holdout is None else read(holdout, facts, **dialect.stated())
        found = attack_release(
            bundle,
            table,
            apart,
            secret=split_names(secret),
            known=split_names(known),
            targets=targets,
            shadows=shadows,
            seed=seed,
        )
    page = None if out is None else found.save(out)
    _show(voice, found)
    if page is not None:
        voice.say(f"page: {page} (custodian's copy, do not publish)", style="bold")
    voice.say(found.notice, style="yellow")
    voice.document({**found.to_dict(), **({} if page is None else {"page": str(page)})})


def _show(voice: Voice, found: ReleaseAttackReport) -> None:
    voice.panel(f"{found.table}: {found.grade}", found.verdict, "green" if found.grade in FINE else "red")
    voice.table("Success in per cent", HEADERS, [_line(each) for each in found.results])
    for row, by in found.worst_records[:MOST_SHOWN]:
        voice.say(f"Row {row:,}: {'; '.join(by)}.")
    for each in found.results:
        if each.criterion == "overfitting":
            voice.say(f"{each.attack}: {each.notes[0]}")
    for line in found.left_out:
        voice.say(line)
    for note in found.notes:
        voice.say(f"Note: {note}.")


def _line(result: ReleaseAttackResult) -> list[str]:
    from sfumato.risk.on_release.result import shares_of

    word = "BREAKS THE GUARANTEE" if result.refutes_claim else "works" if result.succeeds else ""
    return [result.attack, *shares_of(result), word]
