"""The verb sfumato export: write the rows of a bundle in another file format."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import AsJson

Bundle = Annotated[str, typer.Argument(metavar="BUNDLE", help="Folder of a release of rows.")]
Out = Annotated[
    str,
    typer.Option("--out", "-o", help="File for the rows: .sav, .dta, .xlsx, .jsonl, .sqlite, .parquet, .csv, .tsv."),
]
Copy = Annotated[int, typer.Option(help="Which copy of the rows, where the bundle holds several.")]


def export(
    bundle: Bundle,
    out: Out,
    copy: Copy = 1,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Write the rows of a bundle in another format, with labels of columns and values where it has a place for them.

    Nothing is spent, and the private table is not needed.
    """
    from sfumato.bundle.export import export as write

    voice = Voice(json)
    with voice.counting("writing the rows"):
        written = write(bundle, out, copy, force)
    if written.stamp:
        voice.say(f"warning: {written.stamp}: the release was made with a seed", style="yellow")
    voice.say(f"{written.rows:,} rows: {out}", style="bold")
    voice.document({"file": out, "rows": written.rows, "copy": copy, "stamp": written.stamp})
