"""Options shared by verbs, declared once as objects and expanded into parameters."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from sfumato.errors import NoLedgerError, PlanError, SchemaError, SfumatoError, TableError

if TYPE_CHECKING:
    from sfumato.core.method import Method
    from sfumato.schema import Schema
    from sfumato.schema.dialect import Dialect
    from sfumato.table import Table

Keyword = inspect.Parameter.KEYWORD_ONLY
LAST = ("json",)
"""What the help lists last."""


def expand_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Return the verb with one parameter for each field of its option objects; the verb is called with the objects.

    An option object is a dataclass whose fields are annotated as Typer annotates parameters.
    """
    signature = inspect.signature(verb, eval_str=True)
    annotations = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    groups: dict[str, Any] = {name: group for name, group in annotations.items() if dataclasses.is_dataclass(group)}
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        group = groups.get(parameter.name)
        parameters += [parameter.replace(kind=Keyword)] if group is None else _field_parameters(group)
    parameters.sort(key=lambda parameter: parameter.name in LAST)

    @wraps(verb)
    def expanded(**values: Any) -> Any:
        objects = {
            name: group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        return verb(**values, **objects)

    command: Any = expanded
    command.__signature__ = signature.replace(parameters=parameters)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def _field_parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(field.name, Keyword, default=_default(field), annotation=hints[field.name])
        for field in dataclasses.fields(group)
    ]


def _default(field: dataclasses.Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default


Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A file (CSV, Parquet, Excel, SPSS, Stata, SAS, ...), or a quoted glob."),
]
LedgerPath = Annotated[str | None, typer.Option("--ledger", "-l", help="Ledger file, or a postgresql:// URL.")]
Seed = Annotated[int | None, typer.Option(help="Repeatable run for tests; everything is stamped 'not for release'.")]
Repeat = Annotated[int | None, typer.Option("--seed", help="Repeat the same random choices.")]
NumericColumns = Annotated[
    str | None, typer.Option(help="Columns of numbers or dates, such as age,income; default: all of both.")
]
SameOrder = Annotated[
    bool, typer.Option("--same-order", help="Row i corresponds to row i of DATA: also compare row by row.")
]
NewTableName = Annotated[str | None, typer.Option("--name", help="Name of the table; default: that of the file.")]
AllowWeak = Annotated[
    bool, typer.Option("--allow-weak", help="Allow epsilon above 20 or delta above 0.1; the guarantee will say so.")
]
AboutRows = Annotated[
    int | None,
    typer.Option(min=1, help="Public or guessed number of rows, for the forecast; no released number depends on it."),
]
Plan = Annotated[bool, typer.Option("--plan", help="Only print cost and accuracy; nothing is spent.")]
Bundle = Annotated[str, typer.Argument(metavar="BUNDLE", help="Folder of a release.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Confidence = Annotated[float, typer.Option(help="Confidence level of the intervals.")]

FILE_FORMAT = "File format"
"""The panel of the options that say how a file is written."""
READERS = "For the readers of the release"
TABS = ("tab", "\\t", "TAB")
"""How a tab can be typed."""
CUSTODIAN_NOTICE = (
    "Measured on confidential rows: for the custodian's eyes, and no guarantee. Nothing was released or spent."
)
CREATE_LEDGER = (
    "create one with 'sfumato ledger init budget.db --schema SCHEMA --epsilon 5 --delta 1e-6' and add --ledger "
    "budget.db"
)


def _format_option(words: str) -> Any:
    return typer.Option(help=words, rich_help_panel=FILE_FORMAT)


@dataclass(frozen=True, kw_only=True)
class DialectOptions:
    """How a file is written. What is not stated is taken from the schema, or recognised."""

    delimiter: Annotated[str | None, _format_option("Field delimiter of a CSV file; default: a comma.")] = None
    decimal: Annotated[
        str | None, _format_option("Decimal mark of numbers: '.' or ','. Signs such as % and € are dropped.")
    ] = None
    thousands: Annotated[str | None, _format_option("Thousands separator: '.', ',', ' ' or \"'\".")] = None
    date_format: Annotated[str | None, _format_option("Format of dates, such as %d.%m.%Y; default: ISO.")] = None
    missing: Annotated[list[str] | None, _format_option("A marker of missing values, such as N/A; repeatable.")] = None
    encoding: Annotated[str | None, _format_option("Encoding of the text, such as cp1252; default: recognised.")] = None
    sheet: Annotated[str | None, _format_option("Sheet of a workbook, table of a database, file of a zip archive.")] = (
        None
    )

    @cached_property
    def dialect(self) -> Dialect:
        """The options as a dialect; what is wrong is reported all at once."""
        from sfumato.schema.dialect import Dialect

        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(DialectOptions)}
        stated = {key: value for key, value in values.items() if value is not None}
        if stated.get("delimiter") in TABS:
            stated["delimiter"] = "\t"
        return Dialect.of(stated)

    def stated(self) -> dict[str, Any]:
        """Return what was stated, by key.

        >>> DialectOptions(delimiter="tab", missing=["N/A"]).stated()
        {'delimiter': '\\t', 'missing': ['N/A']}
        """
        return self.dialect.stated()


@dataclass(frozen=True, kw_only=True)
class FileOptions(DialectOptions):
    """A file with rows."""

    data: Data


@dataclass(frozen=True, kw_only=True)
class OptionalTableOptions(DialectOptions):
    """A table and its schema, where public facts may answer without them."""

    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="A file, or a quoted glob; not needed if public facts answer."),
    ] = None
    schema: Annotated[
        str | None, typer.Option("--schema", "-s", help="The table's public schema (TOML); required with DATA.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class PersonOptions:
    """Whom the guarantee protects: a row, or all rows of a person."""

    person: Annotated[str | None, typer.Option(help="The column that identifies a person.")] = None
    rows_per_person: Annotated[int | None, typer.Option(help="Maximum number of rows of one person that count.")] = None
    no_person: Annotated[bool, typer.Option("--no-person", help="Each person has one row.")] = False

    def answer(self) -> str | Literal[False] | None:
        """Return the column, False for one row per person, or None where nothing was said."""
        if self.no_person and self.person is not None:
            raise PlanError("--person and --no-person contradict each other", next_step="give one of them")
        return False if self.no_person else self.person


@dataclass(frozen=True, kw_only=True)
class SchemaOptions:
    """The public schema of a table."""

    schema: Annotated[str, typer.Option("--schema", "-s", help="The table's public schema (TOML).")]

    @cached_property
    def facts(self) -> Schema:
        """The schema, read from its file."""
        from sfumato.schema import Schema

        return Schema.load(self.schema)


@dataclass(frozen=True, kw_only=True)
class TableOptions(SchemaOptions, FileOptions):
    """A confidential table: its file, how it is written, and its public schema."""

    def read(self, schema: Schema | None = None) -> Table:
        """Open the table under its schema, or another version of it."""
        from sfumato.table import read

        return read(self.data, schema or self.facts, **self.stated())


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(DialectOptions):
    """Synthetic rows and the confidential table that they are measured against."""

    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="Folder of a release, or any file of synthetic rows.")]
    data: Data
    schema: Annotated[
        str | None, typer.Option("--schema", "-s", help="The table's schema; default: that of the bundle.")
    ] = None

    @cached_property
    def facts(self) -> Schema:
        """The schema that was named, or that of the bundle."""
        from sfumato.metrics.evaluation_input import open_evaluation_input
        from sfumato.schema import Schema

        schema = Schema.load(self.schema) if self.schema is not None else open_evaluation_input(self.bundle).schema
        if schema is not None:
            return schema
        raise SchemaError(
            f"{self.bundle!r} is not a bundle, so its columns are not described",
            next_step="add --schema SCHEMA, or name a bundle",
        )

    def read(self, path: str | None = None) -> Table:
        """Open the confidential table, or another file of the same columns."""
        from sfumato.table import read

        return read(path or self.data, self.facts, **self.stated())


@dataclass(frozen=True, kw_only=True)
class HoldoutOptions(EvaluationOptions):
    """Synthetic rows, the confidential table, and other real rows."""

    holdout: Annotated[
        str | None,
        typer.Option(help="Real rows that are not in DATA, as yardstick, control group or test rows."),
    ] = None

    def read_holdout(self) -> Table | None:
        """Open the other real rows, if there are any."""
        return None if self.holdout is None else self.read(self.holdout)


@dataclass(frozen=True, kw_only=True)
class PrivatePageOptions:
    """A page for the custodian alone."""

    out: Annotated[str | None, typer.Option("--out", "-o", help="Write a page that only its owner can read.")] = None

    def require_free(self, what: str) -> None:
        """Refuse a page that cannot be written, before minutes are spent on it."""
        from sfumato.bundle.target_folder import require_free_path
        from sfumato.cli.output_page import require_html

        if self.out is not None:
            require_html(Path(self.out), TableError)
            require_free_path(self.out, what)


@dataclass(frozen=True, kw_only=True)
class MethodSettings:
    """A method and its parameters, without the budget."""

    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="Release method; 'sfumato methods' lists them. Default: aim (synthetic rows) for two or more columns.",
        ),
    ] = None
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Use the method as its paper printed it: an exposure, without a proof."),
    ] = False
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A parameter of the method, such as columns=age,sex or workload=3-way. Repeat columns for several "
            "tables, or give JSON.",
        ),
    ] = None
    delta: Annotated[
        str | None,
        typer.Option(help="Delta of this release, such as 1e-6; default: the method's own, which the plan prints."),
    ] = None
    rows: Annotated[
        int | None, typer.Option(help="Number of synthetic rows; default: the noisy total of the table.")
    ] = None

    def choose(self, schema: Schema, epsilon: str | None) -> tuple[Method, str | None]:
        """Return the method, and why it was chosen where none was named."""
        from sfumato.core.build_method import method_from_settings

        settings = self.settings or []
        return method_from_settings(self.method, schema, settings, epsilon, self.delta, self.as_published)


@dataclass(frozen=True, kw_only=True)
class MethodOptions(MethodSettings):
    """A method, its parameters and its budget."""

    epsilon: Annotated[str | None, typer.Option(help="Privacy budget of this release, such as 1 or 0.5.")] = None

    def choose(self, schema: Schema, epsilon: str | None = None) -> tuple[Method, str | None]:
        """Return the method, and why it was chosen where none was named."""
        return super().choose(schema, epsilon or self.epsilon)


@dataclass(frozen=True, kw_only=True)
class LedgerOptions:
    """The ledger that records what is spent, or the decision against one."""

    ledger: LedgerPath = None
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Do not record the cost: no cap protects the table.")
    ] = False

    def require_choice(self, how: str = CREATE_LEDGER) -> str | Literal[False]:
        """Return the ledger that was named, or False for none; refuse where neither was chosen."""
        if self.ledger is not None and self.no_ledger:
            raise NoLedgerError("--ledger and --no-ledger were both given", next_step="give one of them")
        if self.ledger is None and not self.no_ledger:
            raise NoLedgerError(
                "no ledger was given: nothing would add up the cost of this table's releases, and no cap would "
                "protect it",
                next_step=f"{how}; to release without one, add --no-ledger",
            )
        return False if self.ledger is None else self.ledger


@dataclass(frozen=True, kw_only=True)
class ReadersOptions:
    """What the readers of a release are told beside the data."""

    custodian: Annotated[
        str | None, typer.Option(help="Who publishes the release; default: the schema's.", rich_help_panel=READERS)
    ] = None
    use: Annotated[str | None, typer.Option(help="Intended use; default: the schema's.", rich_help_panel=READERS)] = (
        None
    )
    region: Annotated[
        str | None, typer.Option(help="Region that it describes; default: the schema's.", rich_help_panel=READERS)
    ] = None

    def words(self) -> dict[str, str | None]:
        """Return the texts by their key in the schema."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class OutputPageOptions:
    """A page and its JSON file."""

    out: Annotated[
        str | None, typer.Option("--out", "-o", help="File of the page (.html); default: named after the table.")
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class SchemaOutput:
    """A file for a schema."""

    out: Annotated[str | None, typer.Option("--out", "-o", help="Write to this file instead of standard output.")] = (
        None
    )
    force: Force = False
    name: NewTableName = None

    def require_free(self) -> None:
        """Refuse a file that exists, before any work is done."""
        from sfumato.atomic_files import check_target

        if self.out is not None:
            check_target(Path(self.out), self.force, SchemaError)


def stated_options(group: Any) -> list[str]:
    """Return the options of a group that are not at their defaults.

    >>> stated_options(MethodOptions(settings=["column=age"], as_published=True))
    ['--as-published', '--set']
    """
    names = {"settings": "set"}
    stated = [field.name for field in dataclasses.fields(group) if getattr(group, field.name) != field.default]
    return [f"--{names.get(name, name).replace('_', '-')}" for name in stated]


def parse_numbers(text: str, option: str, example: str, error_class: type[SfumatoError] = PlanError) -> list[float]:
    """Read numbers separated by commas.

    >>> parse_numbers("0.1, 1,3", "--grid", "0.1,0.3")
    [0.1, 1.0, 3.0]
    """
    try:
        return [float(value) for value in text.split(",") if value.strip()]
    except ValueError as error:
        raise error_class(
            f"{option} {text!r} is not a list of numbers", next_step=f"write {option} {example}"
        ) from error


def parse_range(
    text: str, option: str, example: str, error_class: type[SfumatoError] = PlanError
) -> tuple[float, float]:
    """Read a range.

    >>> parse_range("0.01:30", "--range", "0.01:30")
    (0.01, 30.0)
    """
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError as error:
        raise error_class(
            f"{option} {text!r} is not of the form low:high", next_step=f"write {option} {example}"
        ) from error


def split_names(texts: str | Sequence[str] | None) -> list[str] | None:
    """Return the names of an option that takes a list, is repeated, or both.

    >>> split_names(["age, sex", "region"]), split_names(None)
    (['age', 'sex', 'region'], None)
    """
    if texts is None:
        return None
    listed = [texts] if isinstance(texts, str) else texts
    return [part.strip() for text in listed for part in text.split(",") if part.strip()]
