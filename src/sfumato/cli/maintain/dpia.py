"""The verb sfumato dpia: fill in an impact assessment from a release."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import Bundle, LedgerPath

BLANKS = "Dots mark answers that only people know. This is not legal advice."


def dpia(
    console: Console,
    bundle: Bundle,
    ledger: LedgerPath = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Write to this file (.md or .html) instead of standard output.")
    ] = None,
) -> None:
    """Fill in an impact assessment (DPIA) from a release.

    Description, necessity, facts and their sources, the guarantee in words, frequencies and numbers, residual risks,
    measures and signature lines; what only people know stays blank. --ledger adds the account and all releases of the
    table. The bundle is verified first. No confidential row is read; nothing is spent.
    """
    from sfumato.report.impact_assessment import dpia as fill_in
    from sfumato.report.impact_assessment import output_path

    if out is not None:
        output_path(out)
    with console.progress("verifying and filling in"):
        assessment = fill_in(bundle, ledger)
    if out is None:
        console.text(assessment.to_markdown())
        console.print_json({"markdown": assessment.to_markdown(), "blanks": assessment.blanks})
        return
    path = assessment.save(out)
    console.say(f"impact assessment: {path} ({len(assessment.blanks)} blanks)", style="bold")
    console.say(BLANKS)
    console.print_json({"path": str(path), "blanks": assessment.blanks})
