"""The verb sfumato export: write the rows of a bundle in another file format."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import Bundle, Force


def export(
    console: Console,
    bundle: Bundle,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="File for the rows: .sav, .dta, .xlsx, .jsonl, .sqlite, .parquet, .csv, .tsv."
        ),
    ],
    copy: Annotated[int, typer.Option(help="Number of the copy, if the bundle holds several.")] = 1,
    force: Force = False,
) -> None:
    """Write a bundle's rows in another file format.

    Includes labels of columns and values if the format can hold them. Nothing is spent, and the private table is not
    needed.
    """
    from sfumato.bundle.read import export as write

    with console.progress("writing the rows"):
        written = write(bundle, out, copy, force)
    if written.stamp:
        console.say(f"warning: {written.stamp}: the release was made with a seed", style="yellow")
    console.say(f"{written.rows:,} rows: {out}", style="bold")
    console.print_json({"file": out, "rows": written.rows, "copy": copy, "stamp": written.stamp})
