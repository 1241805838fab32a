"""``sfumato sample``: more rows from a fitted model, for nothing."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    typer.Option(
        "--out",
        "-o",
        help="File for the rows: .parquet, .csv, .csv.gz, .tsv, .xlsx, .sav, .dta, .jsonl; or a folder, see --folder.",
    ),
]
RowSeed = Annotated[
    int | None, typer.Option("--seed", help="Repeat the same rows. Harmless here: the noise is already in the model.")
]
Independent = Annotated[
    bool, typer.Option("--independent", help="Draw each row on its own, not counts rounded to the model's.")
]

FOLDER = "A folder of Parquet files"
"""The part of the help that holds the options of writing in parts."""
InFolder = Annotated[
    bool,
    typer.Option("--folder", help="Write a folder of Parquet files with a manifest.", rich_help_panel=FOLDER),
]
PartRows = Annotated[
    int | None,
    typer.Option("--part-rows", min=1, help="Rows of each file, a million unless said.", rich_help_panel=FOLDER),
]
Processes = Annotated[
    int | None,
    typer.Option("--processes", min=1, help="Draw with so many processes of this machine.", rich_help_panel=FOLDER),
]
SparkMaster = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="MASTER",
        help="Let the workers of a Spark cluster draw, such as spark://master:7077 or 'local[4]'; all must see --out.",
        rich_help_panel=FOLDER,
    ),
]


def sample(
    model: ModelPath,
    out: Out,
    rows: Rows = None,
    seed: RowSeed = None,
    independent: Independent = False,
    folder: InFolder = False,
    part_rows: PartRows = None,
    processes: Processes = None,
    spark: SparkMaster = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file, or folder of rows.")] = False,
    json: AsJson = False,
) -> None:
    """Draw synthetic rows from a fitted model. Nothing is spent, however many and however often.

    The model was computed from noisy answers that were paid for when it was fitted; the private table is not needed
    again. The rows have the guarantee of the release that the model came from.
    """
    from sfumato.methods.graphical.saved.model import FittedModel

    voice, how = Voice(json), How(rows, seed, not independent, force)
    in_parts = folder or spark is not None or part_rows is not None or processes is not None
    _refuse_out(out, in_parts, how)
    fitted = FittedModel.load(model)
    with voice.counting("drawing rows"):
        written = _in_parts(fitted, out, how, part_rows, processes, spark) if in_parts else _in_one(fitted, out, how)
    _show(voice, fitted, written, out)


@dataclass(frozen=True)
class How:
    """How rows are drawn, whatever they are written to."""

    rows: int | None
    seed: int | None
    rounding: bool
    overwrite: bool


def _refuse_out(out: str, in_parts: bool, how: How) -> None:
    """Refuse a wrong place before the model is read."""
    from sfumato.methods.graphical.saved.folder import refuse_folder
    from sfumato.methods.graphical.saved.sample import format_of
    from sfumato.rows.atomic import refuse_place

    if in_parts:
        refuse_folder(Path(out).absolute(), how.overwrite)
        return
    sound_rows(how.rows)
    format_of(out)
    refuse_place(Path(out).absolute(), how.overwrite)


def _in_one(fitted: FittedModel, out: str, how: How) -> Written:
    from sfumato.methods.graphical.saved.sample import format_of, write_rows

    batches = fitted.draws(how.rows, seed=how.seed, rounding=how.rounding)
    return write_rows(fitted, out, format_of(out), batches, how.overwrite)


def _in_parts(
    fitted: FittedModel, out: str, how: How, part_rows: int | None, processes: int | None, spark: str | None
) -> Written:
    from sfumato.methods.graphical.saved.folder import runner, write_folder

    cut = fitted.parts(how.rows, how.seed, how.rounding, part_rows)
    with _session(spark) as session:
        return write_folder(fitted, out, cut, runner(session, processes or 1), how.overwrite)


@contextmanager
def _session(master: str | None) -> Generator[Any]:
    """Open a session on a cluster, and stop it at the end; nothing where none is asked for."""
    if master is None:
        yield None
        return
    from sfumato.methods.graphical.saved.on_spark import opened_session

    session = opened_session(master)
    try:
        yield session
    finally:
        session.stop()


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
