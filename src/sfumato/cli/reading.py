"""The options that say how a file is written, on every verb that reads one: declared once, handed over as one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from sfumato.cli.arguments import WRITTEN, Delimiter
from sfumato.schema.dialect import PLAIN, Dialect

__all__ = ["PLAIN", "Dialect", "reads"]


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


def reads(verb: Callable[..., Any]) -> Callable[..., Any]:
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
