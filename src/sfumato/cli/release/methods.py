"""The verb sfumato methods: list the methods, or explain one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sfumato.cli.console import Console
from sfumato.core.method import MethodInfo, method_class, published_methods
from sfumato.core.method import methods as all_methods
from sfumato.core.registry import AS_PUBLISHED

HEADERS = ("method", "what it releases", "guarantee", "parameters")


def methods(
    console: Console,
    name: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="Explain this method in full.")] = None,
) -> None:
    """List the methods, or explain one.

    Shows what a method releases, its kind of guarantee and its parameters.
    """
    printed = published_methods()
    if name is not None:
        method_class(name)  # refuses what is not a method
    known = all_methods() if name not in printed else printed
    chosen = {key: info for key, info in known.items() if name in (None, key)}
    console.table("Methods", HEADERS, [_method_cells(info, printed) for info in chosen.values()])
    for info in chosen.values():
        if name is not None:
            _explain(console, info, printed.get(info.name + AS_PUBLISHED))
    siblings = {key: _facts(printed[key + AS_PUBLISHED]) for key in chosen if key + AS_PUBLISHED in printed}
    console.print_json([{**_facts(info), "as_published": siblings.get(key)} for key, info in chosen.items()])


def _method_cells(info: MethodInfo, printed: Mapping[str, MethodInfo]) -> list[str]:
    also = "; --as-published: exposure" if info.name + AS_PUBLISHED in printed else ""
    return [info.name, info.summary, _standing(info.formal) + also, _parameters(info.parameters)]


def _explain(console: Console, info: MethodInfo, printed: MethodInfo | None) -> None:
    """Print the documentation of a method, and that of its published form."""
    console.say(_plain_docstring(info.cls))
    if printed is not None:
        console.say("")
        rows = [[f"{info.name} --as-published", *_method_cells(printed, {})[1:]]]
        console.table("As published", HEADERS, rows)
        console.say(_plain_docstring(printed.cls))


def _facts(info: MethodInfo) -> dict[str, Any]:
    return {key: getattr(info, key) for key in ("name", "summary", "formal", "makes", "parameters")}


def _plain_docstring(cls: type) -> str:
    """Return a docstring without its examples and markup."""
    text = inspect.cleandoc(cls.__doc__ or "").split(">>>")[0].rstrip()
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")


def _parameters(parameters: Any) -> str:
    return ", ".join(key if default == "required" else f"{key}={default}" for key, default in parameters.items())


def _standing(formal: bool | None) -> str:
    return {True: "formal", False: "exposure", None: "formal or exposure"}[formal]
