"""Arguments that several verbs share, and ``--set name=value`` turned into a method."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

import typer

from sfumato.errors import NoLedgerError, PlanError
from sfumato.registry import AS_PUBLISHED, PUBLISHED
from sfumato.release.default import choose_method
from sfumato.release.method import Method, method_class
from sfumato.release.release import WRONG_SETTINGS
from sfumato.schema import Schema

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
NUMBERS = ("epsilon", "delta")
LISTS = ("columns", "pairs", "shares", "predictors", "positions", "inputs", "default")
ONE_OR_LISTS = ("brackets", "column", "target", "ranges", "workload")
"""Parameters that are a list only where commas say so."""
SETS = ("pairs", "workload")
"""Parameters that are a list of column sets; one set may be written alone."""


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


def registered_name(method: str | None, as_published: bool) -> str | None:
    """Return the name under which a method is registered: with ``--as-published``, that of what its paper printed."""
    if not as_published:
        return method
    printed = [name.removesuffix(AS_PUBLISHED) for name in PUBLISHED]
    next_step = f"use --as-published with one of: {', '.join(printed) or 'none, at present'}; otherwise leave it out"
    if method is None:
        raise PlanError("--as-published was given without a method", next_step=next_step)
    method_class(method)  # refuses what is no method at all
    if method not in printed:
        raise PlanError(f"{method} has no form as published: it is itself what is released", next_step=next_step)
    return method + AS_PUBLISHED


def build_method(name: str, settings: Sequence[str], epsilon: str | None, delta: str | None) -> Method:
    """Return the method that the command line describes; all wrong settings are reported at once."""
    return _build(name, read_settings(settings), epsilon, delta)


def choose_or_build(
    method: str | None,
    schema: Schema,
    settings: Sequence[str],
    epsilon: str | None,
    delta: str | None,
    as_published: bool = False,
) -> tuple[Method, str | None]:
    """Return the method that was named, or the one to take where none was, with the sentence that says why."""
    name = registered_name(method, as_published)
    if name is not None:
        return build_method(name, settings, epsilon, delta), None
    choice = choose_method(schema, read_settings(settings))
    try:
        return _build(choice.method, choice.settings, epsilon, delta), choice.reason
    except PlanError as error:
        told = f"{error.next_step}; {choice.method} was taken because no --method was given"
        raise PlanError(error.headline, error.problems, told) from error


def _build(name: str, settings: Mapping[str, Any], epsilon: str | None, delta: str | None) -> Method:
    cls = method_class(name)
    fields = {f.name: f for f in dataclasses.fields(cls)}  # pyright: ignore[reportArgumentType]
    given = {key: value for key, value in (("epsilon", epsilon), ("delta", delta)) if value is not None}
    values = {**settings, **given}
    problems = [f"{name} has no parameter {key!r}; it has {', '.join(fields)}" for key in values if key not in fields]
    problems += [
        f"{name} needs {key}: {_how_to_give(key)}"
        for key, parameter in fields.items()
        if parameter.default is dataclasses.MISSING and key not in values
    ]
    if problems:
        raise PlanError(f"cannot build the method {name!r}", problems, f"see 'sfumato methods {name}'")
    try:
        return cls(**{key: _shape(fields[key], value) for key, value in values.items()})
    except WRONG_SETTINGS as error:
        given_words = ", ".join(f"{key}={value!r}" for key, value in values.items())
        raise PlanError(
            f"cannot build the method {name!r} from {given_words}",
            [f"{type(error).__name__}: {error}"],
            f"compare the settings with 'sfumato methods {name}'",
        ) from error


def _how_to_give(key: str) -> str:
    if key == "epsilon":
        return "add --epsilon 1 (the most that this release may cost; less is more private, and there is no default)"
    return f"add --{key} 1e-6" if key in NUMBERS else f"add --set {key}=..."


def read_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs; a name given several times collects a list.

    >>> read_settings(["columns=age,sex", "columns=age"])
    {'columns': [['age', 'sex'], ['age']]}
    """
    collected: dict[str, list[Any]] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise PlanError(f"--set {setting!r} is not of the form name=value", next_step="write --set columns=age,sex")
        collected.setdefault(key.strip(), []).append(_read_value(key.strip(), value.strip()))
    return {key: values[0] if len(values) == 1 else values for key, values in collected.items()}


def read_numbers(text: str, option: str, example: str) -> list[float]:
    """Read numbers with commas between them.

    >>> read_numbers("0.1, 1,3", "--grid", "0.1,0.3")
    [0.1, 1.0, 3.0]
    """
    try:
        return [float(value) for value in text.split(",") if value.strip()]
    except ValueError as error:
        raise PlanError(f"{option} {text!r} is not a list of numbers", next_step=f"write {option} {example}") from error


def _read_value(key: str, value: str) -> Any:
    if value[:1] in "[{" and value:
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise PlanError(
                f"--set {key}: {value!r} is not valid JSON", next_step='write [["age"], ["age", "sex"]]'
            ) from error
    if (key in LISTS and value not in ("all", "none")) or (key in ONE_OR_LISTS and "," in value):
        return [part.strip() for part in value.split(",")]
    return {"true": True, "false": False}.get(value.lower(), value)


def _shape(parameter: Any, value: Any) -> Any:
    """Give a value the shape that the parameter wants: whole numbers as such, one flat set as a list of sets."""
    if parameter.name in SETS and isinstance(value, list | dict):
        return _as_sets(cast("list[Any] | dict[str, Any]", value))
    if isinstance(value, str) and str(parameter.type) == "bool":
        headline = f"{parameter.name} must be true or false, found {value!r}"
        raise PlanError(headline, next_step=f"write --set {parameter.name}=true")
    if isinstance(value, str) and str(parameter.type).startswith("int"):
        try:
            return int(value)
        except ValueError as error:
            headline = f"{parameter.name} must be a whole number, found {value!r}"
            raise PlanError(headline, next_step=f"write --set {parameter.name}=5") from error
    return value


def _as_sets(value: list[Any] | dict[str, Any]) -> list[Any]:
    """Return a list of column sets, from one flat set, from sets of which some are single names, or with weights.

    >>> _as_sets({"age, sex": 2, "income": 1})
    [[['age', 'sex'], 2], [['income'], 1]]
    """
    if isinstance(value, dict):  # JSON has no lists as keys
        return [[[part.strip() for part in key.split(",")], weight] for key, weight in value.items()]
    if all(isinstance(item, str) for item in value):
        return [value]
    return [[item] if isinstance(item, str) else item for item in value]


def names_of(texts: Sequence[str] | None) -> list[str] | None:
    """Return the columns of an option that takes a list, is repeated, or both.

    >>> names_of(["age, sex", "region"]), names_of(None)
    (['age', 'sex', 'region'], None)
    """
    return None if texts is None else [part.strip() for text in texts for part in text.split(",") if part.strip()]
