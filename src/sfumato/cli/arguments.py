"""Arguments that several verbs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from sfumato.errors import NoLedgerError, PlanError
from sfumato.release.settings import build_method, choose_or_build, read_settings, registered_name

__all__ = ["build_method", "choose_or_build", "read_settings", "registered_name"]

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A file (CSV, Parquet, Excel, SPSS, Stata, SAS, ...), or a quoted glob.")
]
OptionalData = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, Parquet, ...), or a quoted glob; not needed where the answer follows from public facts.",
    ),
]
OptionalSchema = Annotated[
    str | None,
    typer.Option("--schema", "-s", help="The table's public schema (TOML); may be left out where it decides nothing."),
]
SchemaPath = Annotated[str, typer.Option("--schema", "-s", help="The table's public schema (TOML).")]
WRITTEN = "How the file is written"
"""The part of a verb's help that holds the options of reading."""
Delimiter = Annotated[
    str | None, typer.Option(help="Field delimiter of a CSV file; a comma unless said.", rich_help_panel=WRITTEN)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]
MethodName = Annotated[str, typer.Option("--method", "-m", help="How to release; 'sfumato methods' lists them.")]
OptionalMethod = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="How to release; 'sfumato methods' lists them. Unless said: aim (synthetic rows) for two columns or more.",
    ),
]
AsPublished = Annotated[
    bool,
    typer.Option(
        "--as-published",
        help="Take the method as its paper printed it: an exposure, beside the form with a proof that --method names.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A parameter of the method, such as columns=age,sex or workload=3-way. Repeat columns for several tables, "
        "or give JSON.",
    ),
]
Epsilon = Annotated[str | None, typer.Option(help="Privacy budget of this release, such as 1 or 0.5.")]
Delta = Annotated[
    str | None,
    typer.Option(help="Delta of this release, such as 1e-6. The method's own unless said, which the plan shows."),
]
LedgerUrl = Annotated[str | None, typer.Option("--ledger", "-l", help="Ledger file, or a postgresql:// URL.")]
NoLedger = Annotated[
    bool, typer.Option("--no-ledger", help="Release without recording the cost: no cap protects the table.")
]
READERS = "What readers are told"
"""The part of a verb's help that holds words for the readers of a release."""
Custodian = Annotated[
    str | None,
    typer.Option(
        help="Who publishes the release; as the schema says unless given.",
        rich_help_panel=READERS,
    ),
]
Use = Annotated[
    str | None,
    typer.Option(help="What it is meant for; as the schema says unless given.", rich_help_panel=READERS),
]
Region = Annotated[
    str | None,
    typer.Option(help="Which region it describes; as the schema says unless given.", rich_help_panel=READERS),
]
Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also", help="Rows in this format, too: sav (SPSS), dta (Stata), xlsx, jsonl or sqlite; repeat for several."
    ),
]
Rows = Annotated[int | None, typer.Option(help="Rows of a synthetic table; the noisy total unless said.")]
AboutRows = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="About how many rows the private table has, public or guessed: for the forecast alone, it enters nothing.",
    ),
]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Release even where the forecast says that noise will drown the rows.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Also print how the model came about, as the report has it.")]
Seed = Annotated[int | None, typer.Option(help="Repeatable run for tests: everything is stamped 'not for release'.")]
AllowWeak = Annotated[
    bool,
    typer.Option("--allow-weak", help="Allow epsilon above 20 or delta above 0.1; the guarantee will say so."),
]

MAKE_ONE = (
    "make one with 'sfumato ledger init budget.db --schema SCHEMA --epsilon 5 --delta 1e-6' and give --ledger budget.db"
)


def wanted_ledger(ledger: str | None, no_ledger: bool, how: str = MAKE_ONE) -> str | Literal[False]:
    """Return the ledger that was named, or False where none is wanted; refuse where nobody said which."""
    if ledger is not None and no_ledger:
        raise NoLedgerError("--ledger and --no-ledger were both given", next_step="give one of them")
    if ledger is None and not no_ledger:
        raise NoLedgerError(
            "no ledger was given: nobody would add up what releases of this table cost, and no cap would protect it",
            next_step=f"{how}; to release without one, say --no-ledger",
        )
    return False if ledger is None else ledger


def read_numbers(text: str, option: str, example: str) -> list[float]:
    """Read numbers with commas between them.

    >>> read_numbers("0.1, 1,3", "--grid", "0.1,0.3")
    [0.1, 1.0, 3.0]
    """
    try:
        return [float(value) for value in text.split(",") if value.strip()]
    except ValueError as error:
        raise PlanError(f"{option} {text!r} is not a list of numbers", next_step=f"write {option} {example}") from error


def names_of(texts: Sequence[str] | None) -> list[str] | None:
    """Return the columns of an option that takes a list, is repeated, or both.

    >>> names_of(["age, sex", "region"]), names_of(None)
    (['age', 'sex', 'region'], None)
    """
    return None if texts is None else [part.strip() for text in texts for part in text.split(",") if part.strip()]
