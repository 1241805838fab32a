"""The verb sfumato sample: draw more rows from a fitted model at no cost."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import Force
from sfumato.core.plan import check_row_count

if TYPE_CHECKING:
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel
    from sfumato.mechanisms.graphical.fitted_model.sample_files import WrittenSample

FOLDER = "Folder of Parquet files"
"""The panel of the options for writing in parts."""


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """Which rows are drawn."""

    rows: Annotated[int | None, typer.Option(help="Number of rows; default: the noisy total of the table.")] = None
    seed: Annotated[
        int | None, typer.Option(help="Repeat the same rows. Harmless here: the model holds the noise already.")
    ] = None
    independent: Annotated[
        bool, typer.Option("--independent", help="Draw each row independently instead of rounding the model's counts.")
    ] = False
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class PartsOptions:
    """How rows are written in parts, and who draws them."""

    folder: Annotated[
        bool,
        typer.Option("--folder", help="Write a folder of Parquet files with a manifest.", rich_help_panel=FOLDER),
    ] = False
    part_rows: Annotated[
        int | None, typer.Option(min=1, help="Rows of each file; default: one million.", rich_help_panel=FOLDER)
    ] = None
    processes: Annotated[
        int | None, typer.Option(min=1, help="Number of processes on this machine.", rich_help_panel=FOLDER)
    ] = None
    spark: Annotated[
        str | None,
        typer.Option(
            "--spark",
            metavar="MASTER",
            help="Draw on the workers of a Spark cluster, such as spark://master:7077 or 'local[4]'; all must see "
            "--out.",
            rich_help_panel=FOLDER,
        ),
    ] = None

    @property
    def in_parts(self) -> bool:
        """Whether a folder is written."""
        return self != PartsOptions()


def sample(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A fitted model (model.sfumato), or a bundle that holds one.")
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="File for the rows: .parquet, .csv, .csv.gz, .tsv, .xlsx, .sav, .dta, .jsonl; or a folder, see "
            "--folder.",
        ),
    ],
    draw: DrawOptions,
    parts: PartsOptions,
    console: Console,
) -> None:
    """Draw more rows from a fitted model at no cost.

    The model was fitted to noisy answers whose cost was recorded then; the private table is not needed. The rows have
    the guarantee of the release that the model came from.
    """
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel

    _refuse_out(out, parts.in_parts, draw)
    fitted = FittedModel.load(model)
    with console.progress("drawing rows"):
        written = _write_parts(fitted, out, draw, parts) if parts.in_parts else _write_file(fitted, out, draw)
    _show(console, fitted, written, out)


def _refuse_out(out: str, in_parts: bool, draw: DrawOptions) -> None:
    """Refuse a path that cannot be written, before the model is read."""
    from sfumato.atomic_files import check_target
    from sfumato.mechanisms.graphical.fitted_model.sample_files import format_from_name
    from sfumato.mechanisms.graphical.fitted_model.sample_folder import refuse_folder

    if in_parts:
        refuse_folder(Path(out).absolute(), draw.force)
        return
    check_row_count(draw.rows)
    format_from_name(out)
    check_target(Path(out).absolute(), draw.force)


def _write_file(fitted: FittedModel, out: str, draw: DrawOptions) -> WrittenSample:
    from sfumato.mechanisms.graphical.fitted_model.sample_files import format_from_name, write_rows

    batches = fitted.draws(draw.rows, seed=draw.seed, rounding=not draw.independent)
    return write_rows(fitted, out, format_from_name(out), batches, draw.force)


def _write_parts(fitted: FittedModel, out: str, draw: DrawOptions, parts: PartsOptions) -> WrittenSample:
    from sfumato.mechanisms.graphical.fitted_model.sample_folder import choose_runner, write_folder

    ranges = fitted.parts(draw.rows, draw.seed, not draw.independent, parts.part_rows)
    with _spark_session(parts.spark) as session:
        return write_folder(fitted, out, ranges, choose_runner(session, parts.processes or 1), draw.force)


@contextmanager
def _spark_session(master: str | None) -> Generator[Any]:
    """Open a session on a cluster and stop it at the end; without a master, yield None."""
    if master is None:
        yield None
        return
    from sfumato.mechanisms.graphical.fitted_model.spark_sampling import open_session

    session = open_session(master)
    try:
        yield session
    finally:
        session.stop()


def _show(console: Console, fitted: FittedModel, written: WrittenSample, out: str) -> None:
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FREE

    guarantee = fitted.require_guarantee()
    console.panel("What is promised", guarantee.statement(), "yellow" if fitted.stamp else "green")
    console.say(FREE)
    if fitted.stamp:
        console.say(f"warning: {fitted.stamp}: the model was fitted with a seed", style="yellow")
    for rule, count in written.repaired.items():
        console.say(f"rows repaired to keep {rule!r}: {count:,}")
    console.say(f"rows replaced to keep the rules: {written.replaced:,}")
    for note in written.notes:
        console.say(f"note: {note}", style="yellow")
    console.say(f"{written.rows:,} rows of {len(fitted.names)} columns: {out}", style="bold")
    console.print_json(
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
