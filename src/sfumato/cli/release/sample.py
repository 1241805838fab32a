"""The verb sfumato sample: draw more rows from a fitted model at no cost."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import AsJson, Rows
from sfumato.core.plan import check_row_count

if TYPE_CHECKING:
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel
    from sfumato.mechanisms.graphical.fitted_model.sample_files import WrittenSample

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
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel

    voice, how = Voice(json), SampleOptions(rows, seed, not independent, force)
    in_parts = folder or spark is not None or part_rows is not None or processes is not None
    _refuse_out(out, in_parts, how)
    fitted = FittedModel.load(model)
    with voice.counting("drawing rows"):
        written = _in_parts(fitted, out, how, part_rows, processes, spark) if in_parts else _in_one(fitted, out, how)
    _show(voice, fitted, written, out)


@dataclass(frozen=True)
class SampleOptions:
    """How rows are drawn, whatever they are written to."""

    rows: int | None
    seed: int | None
    rounding: bool
    overwrite: bool


def _refuse_out(out: str, in_parts: bool, how: SampleOptions) -> None:
    """Refuse a wrong place before the model is read."""
    from sfumato.atomic_files import check_target
    from sfumato.mechanisms.graphical.fitted_model.sample_files import format_from_name
    from sfumato.mechanisms.graphical.fitted_model.sample_folder import refuse_folder

    if in_parts:
        refuse_folder(Path(out).absolute(), how.overwrite)
        return
    check_row_count(how.rows)
    format_from_name(out)
    check_target(Path(out).absolute(), how.overwrite)


def _in_one(fitted: FittedModel, out: str, how: SampleOptions) -> WrittenSample:
    from sfumato.mechanisms.graphical.fitted_model.sample_files import format_from_name, write_rows

    batches = fitted.draws(how.rows, seed=how.seed, rounding=how.rounding)
    return write_rows(fitted, out, format_from_name(out), batches, how.overwrite)


def _in_parts(
    fitted: FittedModel, out: str, how: SampleOptions, part_rows: int | None, processes: int | None, spark: str | None
) -> WrittenSample:
    from sfumato.mechanisms.graphical.fitted_model.sample_folder import choose_runner, write_folder

    cut = fitted.parts(how.rows, how.seed, how.rounding, part_rows)
    with _session(spark) as session:
        return write_folder(fitted, out, cut, choose_runner(session, processes or 1), how.overwrite)


@contextmanager
def _session(master: str | None) -> Generator[Any]:
    """Open a session on a cluster, and stop it at the end; nothing where none is asked for."""
    if master is None:
        yield None
        return
    from sfumato.mechanisms.graphical.fitted_model.spark_sampling import open_session

    session = open_session(master)
    try:
        yield session
    finally:
        session.stop()


def _show(voice: Voice, fitted: FittedModel, written: WrittenSample, out: str) -> None:
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FREE

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
