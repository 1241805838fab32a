"""The verb sfumato dpia: fill in an impact assessment from a release."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import AsJson

LEFT = "Dots stand where only people know the answer. This is no legal advice."


def dpia(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="Folder of a release.")],
    ledger: Annotated[
        str | None, typer.Option(help="The ledger that recorded it: adds the account and all releases of the table.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Write here (.md or .html) instead of standard output.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Fill in an impact assessment (DPIA) from a release; what only people know stays a named blank.

    Description, necessity, facts and who vouched for them, the promise in words, frequencies and numbers, residual
    risks, measures and lines to sign. The bundle is verified first. No confidential row is read; nothing is spent.
    """
    from sfumato.report.impact_assessment.form import dpia as filled
    from sfumato.report.impact_assessment.form import output_path

    voice = Voice(json)
    if out is not None:
        output_path(out)
    with voice.counting("verifying and filling in"):
        found = filled(bundle, ledger)
    if out is None:
        voice.text(found.to_markdown())
        voice.document({"markdown": found.to_markdown(), "blanks": found.blanks})
        return
    place = found.save(out)
    voice.say(f"impact assessment: {place} ({len(found.blanks)} blanks)", style="bold")
    voice.say(LEFT)
    voice.document({"path": str(place), "blanks": found.blanks})
