"""The verb sfumato demo: complete releases of invented households."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import Seed
from sfumato.cli.release.screen import release_document, show_model, show_plan, show_statistics
from sfumato.core.method import Method
from sfumato.core.release import check_seed
from sfumato.core.release import plan as plan_release
from sfumato.core.release import release as run_release
from sfumato.errors import BundleError
from sfumato.example import ROWS, codebook, write_households
from sfumato.privacy.ledger import Ledger
from sfumato.schema import Schema
from sfumato.table import read

MARK = ".sfumato-demo"
MOST_ROWS = 10_000_000
CAP, DELTA = 4, "1e-6"
CROSS_TABLES = (("region",), ("sex",), ("age", "sex"), ("region", "education"), ("region", "sex", "education"))


def demo(
    console: Console,
    out: Annotated[str, typer.Option("--out", "-o", help="Folder for everything that the demo writes.")] = "demo-out",
    rows: Annotated[int, typer.Option(min=1, max=MOST_ROWS, help="Number of households.")] = ROWS,
    seed: Seed = None,
) -> None:
    """Release invented households in three ways.

    Makes a synthetic table, a histogram and contingency tables of 20,000 households, all under one budget.
    """
    check_seed(seed)  # before an earlier demo is cleared away
    folder = _fresh_folder(Path(out))
    data = write_households(folder / "households.csv", rows)
    console.say(f"1. invented {rows:,} households: {data}")
    schema = _schema(console, data, folder)
    ledger = Ledger(folder / "ledger.db")
    ledger.open_table(schema.name, epsilon=CAP, delta=DELTA, adjacency=schema.adjacency)
    console.say(f"3. opened a ledger for table 'households' with a cap of epsilon {CAP} and delta {DELTA}")
    bundles = _release_all(console, data, schema, ledger, folder, seed, rows)
    console.say("")
    console.say(
        f"ledger: {folder / 'ledger.db'} ({'holds' if ledger.verify() else 'DAMAGED'}); spent "
        f"{ledger.account(schema.name).spent_epsilon} of {CAP}"
    )
    for name in bundles:
        console.say(f"open {folder / name / 'report.html'}", style="bold")
    console.print_json(
        {"folder": str(folder), "releases": bundles, "account": ledger.account(schema.name).model_dump(mode="json")}
    )


def _fresh_folder(folder: Path) -> Path:
    """Return an empty folder; only the folder of an earlier demo is cleared."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise BundleError(
            f"{folder} exists and was not written by the demo", next_step="choose another folder with --out"
        )
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / MARK).touch()
    except OSError as error:
        raise BundleError(f"cannot write {folder}: {error.strerror}", next_step="choose another --out") from error
    return folder


def _schema(console: Console, data: Path, folder: Path) -> Schema:
    """Draft a schema from the rows, then replace it by the public code book, as a custodian would by hand."""
    draft = Schema.draft(data, name="households")
    draft.save(folder / "households.draft.toml")
    confirmed = codebook().confirm(sources={"*": "code book 2024"}, by="sfumato demo")
    confirmed.save(folder / "households.toml")
    console.say(
        f"2. drafted a schema ({len(draft.columns)} columns), replaced what it learned from the rows by the public "
        f"code book, and confirmed it: {folder / 'households.toml'}"
    )
    return confirmed


def _releases() -> dict[str, Method]:
    from sfumato.mechanisms.counts.contingency import Contingency
    from sfumato.mechanisms.counts.histogram import Histogram
    from sfumato.mechanisms.graphical.aim import AIM

    return {
        "synthetic": AIM(epsilon=2),
        "age-histogram": Histogram("age", epsilon=0.5),
        "contingency": Contingency([list(columns) for columns in CROSS_TABLES], epsilon=1.5),
    }


def _release_all(
    console: Console, data: Path, schema: Schema, ledger: Ledger, folder: Path, seed: int | None, rows: int
) -> dict[str, object]:
    bundles: dict[str, object] = {}
    for step, (name, method) in enumerate(_releases().items(), start=4):
        console.say("")
        console.say(f"{step}. {method.summary}", style="bold cyan")
        planned = plan_release(schema, method, None, ledger, seed, about_rows=rows)
        with console.progress(f"releasing {name}", planned.seconds):
            table = read(data, schema)
            released = run_release(table, method, None, ledger, seed)
            bundle = released.save(folder / name, folder / f"{name}.private.html", table)
        show_plan(console, planned)
        show_statistics(console, released)
        console.say(released.guarantee.statement().splitlines()[0], style="green")
        console.say(f"bundle: {bundle}   custodian's report: {folder / f'{name}.private.html'}")
        show_model(console, released, bundle)
        bundles[name] = release_document(released, bundle)
    return bundles
