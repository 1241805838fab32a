"""``sfumato doctor``: whether a release can be made securely on this machine, and by which sampler."""

from __future__ import annotations

import typer

from sfumato.cli.arguments import AsJson
from sfumato.cli.console import EXIT_ERROR, Voice
from sfumato.errors import PlanError


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(doctor)


def doctor(json: AsJson = False) -> None:
    """Say which sampler draws the noise and why, run its self-test, and show what is installed.

    Ends with 0 where a release can be made securely, OpenDP's slower sampler included, and with 2 where not. Needs no
    network and touches no data.
    """
    from sfumato.doctor import diagnose

    voice, found = Voice(json), diagnose()
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
