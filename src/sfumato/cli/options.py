"""Options shared by verbs, declared once as objects and expanded into parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import typer

from sfumato.core.build_method import build_method, method_from_settings, parse_settings, registered_name
from sfumato.errors import NoLedgerError, PlanError
from sfumato.evaluate.uncertainty.main_numbers import checked_reruns, planned_reruns
from sfumato.schema.dialect import DEFAULT_DIALECT, Dialect

__all__ = [
    "DEFAULT_DIALECT",
    "Dialect",
    "Reruns",
    "build_method",
    "checked_reruns",
    "method_from_settings",
    "parse_settings",
    "planned_reruns",
    "registered_name",
    "with_options",
]

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


def parse_numbers(text: str, option: str, example: str) -> list[float]:
    """Read numbers with commas between them.

    >>> parse_numbers("0.1, 1,3", "--grid", "0.1,0.3")
    [0.1, 1.0, 3.0]
    """
    try:
        return [float(value) for value in text.split(",") if value.strip()]
    except ValueError as error:
        raise PlanError(f"{option} {text!r} is not a list of numbers", next_step=f"write {option} {example}") from error


def split_names(texts: Sequence[str] | None) -> list[str] | None:
    """Return the columns of an option that takes a list, is repeated, or both.

    >>> split_names(["age, sex", "region"]), split_names(None)
    (['age', 'sex', 'region'], None)
    """
    return None if texts is None else [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _option(words: str) -> Any:
    return typer.Option(help=words, rich_help_panel=WRITTEN)


OPTIONS: dict[str, Any] = {
    "delimiter": Delimiter,
    "decimal": Annotated[
        str | None, _option("Decimal mark of numbers: '.' or ','. Signs such as % and € are dropped.")
    ],
    "thousands": Annotated[str | None, _option("Mark between thousands: '.', ',', ' ' or \"'\".")],
    "date_format": Annotated[str | None, _option("How dates are written, such as %d.%m.%Y; ISO unless said.")],
    "missing": Annotated[
        list[str] | None, _option("A text that stands for no value, such as N/A; repeat for several.")
    ],
    "encoding": Annotated[str | None, _option("Encoding of the text, such as cp1252; recognised unless said.")],
    "sheet": Annotated[str | None, _option("Sheet of a workbook, table of a database, file of a zip archive.")],
}

"""The options by the key of ``[source]`` that each of them says."""

TABS = ("tab", "\\t", "TAB")

"""How a tab can be typed."""


def with_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Return a verb that takes the options in the place of its parameter ``dialect``, which it is given whole."""
    signature = inspect.signature(verb, eval_str=True)

    @functools.wraps(verb)
    def reading(*first: Any, **given: Any) -> Any:
        said = {key: given.pop(key, None) for key in OPTIONS}
        return verb(*first, **given, dialect=spoken(said))

    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += _options() if parameter.name == "dialect" else [parameter]
    changed: Any = reading
    changed.__signature__ = signature.replace(parameters=parameters)
    changed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return reading


def _options() -> list[inspect.Parameter]:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [inspect.Parameter(key, kind, default=None, annotation=option) for key, option in OPTIONS.items()]


def spoken(said: dict[str, Any]) -> Dialect:
    """Return what options say; what was not given is left to the schema.

    >>> spoken({"delimiter": "tab", "missing": ["N/A"], "decimal": None}).stated()
    {'delimiter': '\\t', 'missing': ['N/A']}
    """
    given = {key: value for key, value in said.items() if value is not None}
    if given.get("delimiter") in TABS:
        given["delimiter"] = "\t"
    return Dialect.of(given)


Reruns = Annotated[
    int | None,
    typer.Option(
        help="Runs of the method on the released rows, for expected errors in the report: free, but slow. 0 leaves "
        "them out; as many as fit into a minute, at most 8, unless said."
    ),
]
