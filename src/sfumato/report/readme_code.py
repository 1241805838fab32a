"""README: code that loads the released files in pandas, polars, R and SQL; the code itself stands in templates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import jinja2

from sfumato.bundle.description import PublicRelease
from sfumato.report.blocks import Block, CodeBlock, Paragraphs
from sfumato.report.page import template_environment
from sfumato.report.texts import Texts
from sfumato.schema.column import Column
from sfumato.table.sources.normalise_text import sql_identifier, sql_string
from sfumato.table.writing.delimited import ISO, delimiter_of, missing_marker, output_encoding
from sfumato.table.writing.frames import count_name

WIDTH = 88
"""Letters of a line to copy, about."""
LANGUAGES = {
    "pandas": ("pandas", "python"),
    "polars": ("polars", "python"),
    "arrow": ("R, with the package arrow", "r"),
    "duckdb": ("SQL, with DuckDB", "sql"),
}
"""Macros of the templates: title and language of the code that each writes."""
CSV_LANGUAGES = {"pandas": ("data.csv in pandas", "python"), "base_r": ("data.csv in R, without packages", "r")}
MOST_VIEWS = 8
"""Tables that the SQL names one by one."""
say = Texts("readme")


def python_code(value: object) -> str:
    r"""Return a value as Python writes it.

    >>> print(python_code('say "hi"\n'), python_code(["a", 1]))
    'say "hi"\n' ["a", 1]
    """
    if isinstance(value, list | tuple):
        return _listed("[", [python_code(each) for each in value], "]")
    if not isinstance(value, str):
        return repr(value)
    plain = "'" not in value and '"' not in value and value.isprintable() and "\\" not in value
    return f'"{value}"' if plain else repr(value)


def r_code(value: object) -> str:
    r"""Return a text, or a vector of texts, as R writes it.

    >>> print(r_code('tab\t "x"'), r_code(["a", "b"]), r_code([]))
    "tab\t \"x\"" c("a", "b") character(0)
    """
    if isinstance(value, list | tuple):
        return _listed("c(", [r_code(each) for each in value], ")") if value else "character(0)"
    return json.dumps(str(value), ensure_ascii=False)


def _listed(start: str, items: Sequence[str], end: str) -> str:
    """Return items between brackets, on as many lines as they need."""
    rows = [""]
    for item in items:
        if len(rows[-1]) + len(item) > WIDTH:
            rows.append("")
        rows[-1] += f"{item}, "
    body = "\n    ".join(row.rstrip() for row in rows).removesuffix(",")
    return f"{start}{body}{end}" if len(rows) == 1 else f"{start}\n    {body}\n{end}"


@cache
def _environment() -> jinja2.Environment:
    """Return the environment of code: nothing is escaped for HTML, and every name is quoted by its language."""
    environment = template_environment(autoescape=False)
    filters: dict[str, Callable[[Any], str]] = {
        "py": python_code,
        "r": r_code,
        "name": sql_identifier,
        "text": sql_string,
    }
    environment.filters.update(filters)
    return environment


def _listings(template: str, languages: Mapping[str, tuple[str, str]] = LANGUAGES, **facts: Any) -> Iterator[CodeBlock]:
    """Yield what the macros of a template write."""
    macros = _environment().get_template(template).make_module(facts)
    for macro, (title, language) in languages.items():
        yield CodeBlock(title, language, getattr(macros, macro)().strip("\n"))


def row_loading_code(subject: PublicRelease) -> Iterator[CodeBlock]:
    """Yield the code of each language for one table of rows, or for several copies of it."""
    yield from _listings(
        "load_rows.txt.j2",
        copied=subject.is_copied,
        path=subject.first.parquet,
        dates=subject.kinds("date"),
        orders=subject.text_orders,
        measured=subject.measured,
        grouping=subject.grouping,
    )


def marginal_loading_code(subject: PublicRelease) -> Iterator[CodeBlock]:
    """Yield the code of each language for one table of counts, or for several; the example has several columns."""
    table = next((table for table in subject.tables if len(table.columns) > 1), subject.first)
    yield from _listings(
        "load_counts.txt.j2",
        several=len(subject.tables) > 1,
        path=table.parquet,
        names=table.columns,
        count=count_name(table.columns),
        views=tuple(dict.fromkeys([table, *subject.tables[:MOST_VIEWS]])),
    )


def value_loading_code(subject: PublicRelease) -> Iterator[CodeBlock]:
    """Yield the code of each language for released numbers, with 95 % of the noise around them."""
    names = subject.first.columns
    place = names.index("noise_sd") if "noise_sd" in names else 0
    yield from _listings("load_values.txt.j2", path=subject.first.parquet, noisy=names[place - 1] if place else "")


def csv_loading_code(subject: PublicRelease) -> Iterator[Block]:
    """Yield how data.csv is read, where it is in the dialect of the schema.

    Everything is read as text first. Then nothing is guessed: a postcode keeps its zeros, and what stands around a
    number is taken off by name.
    """
    schema, columns = subject.schema, subject.columns
    if not set(subject.first.columns) <= set(schema.names):
        return
    missing = sorted({missing_marker(schema, column.name) for column in columns if column.missing})
    levels = {str(level) for column in columns if column.kind in ("category", "ordinal") for level in column.levels}
    if levels & set(missing):
        yield Paragraphs((say("csv.ambiguous"),))
        return
    yield Paragraphs((say("csv.prefer"),))
    yield from _listings(
        "load_csv.txt.j2",
        CSV_LANGUAGES,
        path=subject.first.csv,
        delimiter=delimiter_of(schema),
        encoding=output_encoding(schema),
        missing=missing,
        numbers=_grouped(subject, _is_numeric, lambda column: _signs(subject, column)),
        dates=_grouped(
            subject,
            lambda column: column.kind == "date",
            lambda column: column.date_format or schema.source.date_format or ISO,
        ),
        booleans=_grouped(
            subject,
            lambda column: column.kind == "boolean",
            lambda column: (column.true or "true", column.false or "false"),
        ),
    )


def _grouped(
    subject: PublicRelease, which: Callable[[Column], bool], form: Callable[[Column], Any]
) -> list[tuple[Any, list[str]]]:
    """Return some of the columns by the form in which their values are written."""
    by_form: dict[Any, list[str]] = {}
    for column in filter(which, subject.columns):
        by_form.setdefault(form(column), []).append(column.name)
    return list(by_form.items())


def _is_numeric(column: Column) -> bool:
    return column.kind in ("integer", "number") or column.has_integer_levels


def _signs(subject: PublicRelease, column: Column) -> tuple[tuple[str, str], ...]:
    """Return what is replaced, in order, before a text is a number."""
    source = subject.schema.source
    pairs = [(column.prefix, ""), (column.suffix, "")]
    pairs += [(source.thousands if column.grouped else None, ""), (source.decimal, ".")]
    return tuple((old, new) for old, new in pairs if old and old != new)
