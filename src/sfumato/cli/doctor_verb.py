"""``sfumato doctor``: whether a release can be made securely on this machine, and what killed runs left in a folder."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.arguments import AsJson, LedgerUrl
from sfumato.cli.console import EXIT_ERROR, Voice
from sfumato.errors import PlanError

Folder = Annotated[
    str | None, typer.Argument(metavar="[FOLDER]", help="Also look for what killed runs left in this folder.")
]
Clean = Annotated[bool, typer.Option("--clean", help="Remove partial folders that are no complete bundle.")]


def doctor(folder: Folder = None, ledger: LedgerUrl = None, clean: Clean = False, json: AsJson = False) -> None:
    """Say which sampler draws the noise and why, run its self-test, and show what is installed.

    With FOLDER it looks for partial folders of killed runs instead: one that is a complete bundle is finished, others
    are listed, and removed with --clean. With --ledger the bundles in FOLDER that the ledger does not know are marked.

    Ends with 0 where a release can be made securely, OpenDP's slower sampler included, and with 2 where not. Needs no
    network and touches no private data.
    """
    voice = Voice(json)
    if folder is not None:
        _tidy(voice, folder, ledger, clean)
    elif ledger is not None or clean:
        raise PlanError("--ledger and --clean need a folder", next_step="write 'sfumato doctor FOLDER --ledger LEDGER'")
    else:
        _machine(voice)


def _tidy(voice: Voice, folder: str, ledger: str | None, clean: bool) -> None:
    from sfumato.report.leftovers import tidy

    found = tidy(folder, ledger, clean)
    voice.document({"folder": folder, "leftovers": [each.model_dump(mode="json") for each in found]})
    if not found:
        voice.say(f"{folder}: nothing was left behind", style="green")
        return
    voice.table("Left behind", ("path", "state", "more"), [[each.path, each.state, each.detail] for each in found])


def _machine(voice: Voice) -> None:
    from sfumato.cli.machine import diagnose

    found = diagnose()
    voice.document({**found.model_dump(mode="json"), "warnings": [check.detail for check in found.warnings]})
    voice.say(f"noise is drawn by {found.sampler}: {found.why}", style="bold")
    voice.table(
        "Checks", ("part", "what", "state", "more"), [[c.part, c.name, c.state, c.detail] for c in found.checks]
    )
    voice.table("Versions", ("of", "version"), list(found.versions.items()))
    try:
        found.require_secure()
    except PlanError as error:
        Voice().fail(error)  # to standard error alone: with --json the document above is the only one
        raise typer.Exit(EXIT_ERROR) from error
    for check in found.warnings:
        voice.say(f"warning: {check.name}, {check.detail}", style="yellow")
    voice.say("a release can be made securely here", style="green")
