"""``sfumato sample``: more rows from a fitted model, for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.arguments import AsJson, Rows
from sfumato.cli.console import Voice
from sfumato.release.plan import sound_rows

if TYPE_CHECKING:
    from sfumato.methods.graphical.saved.model import FittedModel
    from sfumato.methods.graphical.saved.sample import Written

ModelPath = Annotated[
    str, typer.Argument(metavar="MODEL", help="A fitted model (model.sfumato), or the bundle that holds one.")
]
Out = Annotated[
    str,
    typer.Option("--out", "-o", help="File for the rows: .parquet, .csv, .csv.gz, .tsv, .xlsx, .sav, .dta, .jsonl."),
]
RowSeed = Annotated[
    int | None, typer.Option("--seed", help="Repeat the same rows. Harmless here: the noise is already in the model.")
]
Independent = Annotated[
    bool, typer.Option("--independent", help="Draw each row on its own, not counts rounded to the model's.")
]


def sample(
    model: ModelPath,
    out: Out,
    rows: Rows = None,
    seed: RowSeed = None,
    independent: Independent = False,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Draw synthetic rows from a fitted model. Nothing is spent, however many and however often.

    The model was computed from noisy answers that were paid for when it was fitted; the private table is not needed
    again. The rows have the guarantee of the release that the model came from.
    """
    from sfumato.methods.graphical.saved.model import FittedModel
    from sfumato.methods.graphical.saved.sample import format_of, write_rows
    from sfumato.rows.atomic import refuse_place

    sound_rows(rows)
    voice, kind = Voice(json), format_of(out)
    refuse_place(Path(out).absolute(), force)
    fitted = FittedModel.load(model)
    with voice.counting("drawing rows"):
        batches = fitted.draws(rows, seed=seed, rounding=not independent)
        written = write_rows(fitted, out, kind, batches, force)
    _show(voice, fitted, written, out)


def _show(voice: Voice, fitted: FittedModel, written: Written, out: str) -> None:
    from sfumato.methods.graphical.saved.model import FREE

    guarantee = fitted.require_guarantee()
    voice.panel("What is promised", guarantee.statement(), "yellow" if fitted.stamp else "green")
    voice.say(FREE)
    if fitted.stamp:
        voice.say(f"warning: {fitted.stamp}: the model was fitted with a seed", style="yellow")
    for rule, count in written.repaired.items():
        voice.say(f"rows mended to keep {rule!r}: {count:,}")
    voice.say(f"rows replaced to keep the rules: {written.replaced:,}")
    for note in written.notes:
        voice.say(f"note: {note}", style="yellow")
    voice.say(f"{written.rows:,} rows of {len(fitted.names)} columns: {out}", style="bold")
    voice.document(
        {
            "file": out,
            "rows": written.rows,
            "columns": list(fitted.names),
            "method": fitted.method,
            "repaired": dict(written.repaired),
            "replaced": written.replaced,
            "notes": list(written.notes),
            "spent_epsilon": "0",
            "why": FREE,
            "guarantee": guarantee.model_dump(mode="json"),
            "statement": guarantee.statement(),
            "stamp": fitted.stamp,
        }
    )
