"""README: code that loads released rows, marginals and values in pandas, polars, R and SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sfumato.bundle.description import PublicRelease
from sfumato.bundle.document import ReleasedTable
from sfumato.report.blocks import CodeBlock
from sfumato.report.readme.code_literals import lines, python_list, python_literal, r_literal, r_vector, sql_select
from sfumato.table.sources.normalise_text import sql_identifier, sql_string
from sfumato.table.writing.frames import count_name

BACKEND = 'dtype_backend="numpy_nullable"'
LISTED = 'listed = json.loads(Path("release.json").read_text(encoding="utf-8"))["tables"]'
SEVERAL = ("import json", "from pathlib import Path", "")
R_FILES = 'files <- list.files("tables", "[.]parquet$", full.names = TRUE)'
"""Several files: their names stand in release.json, and R can do without a reader of JSON."""


def row_loading_code(subject: PublicRelease) -> Iterator[CodeBlock]:
    """Yield the lines of each language for one table of rows, or for several copies of it."""
    yield CodeBlock("pandas", "python", _pandas(subject))
    yield CodeBlock("polars", "python", _polars(subject))
    yield CodeBlock("R, with the package arrow", "r", _load_rows_arrow(subject))
    yield CodeBlock("SQL, with DuckDB", "sql", _load_rows_sql(subject))


def _pandas(subject: PublicRelease) -> str:
    dates = subject.kinds("date")
    path = "path" if subject.is_copied else python_literal(subject.first.parquet)
    body = lines(
        f"rows = pd.read_parquet({path}, {BACKEND})",
        [f"for name in {python_list(dates)}:", "    rows[name] = pd.to_datetime(rows[name])"] if dates else None,
        [
            f"order = {python_list(c.levels)}\n"
            f"rows[{python_literal(c.name)}] = pd.Categorical(rows[{python_literal(c.name)}], order, ordered=True)"
            for c in subject.text_orders
        ],
    )
    return _loaded(subject, "pandas as pd", body, "pd.Series")


def _loaded(subject: PublicRelease, library: str, body: str, series: str) -> str:
    """Return lines that load one table, or a function that does and the copies that it loads."""
    if not subject.is_copied:
        return lines(f"import {library}", "", body)
    return lines(
        [*SEVERAL, f"import {library}", "", "def load(path):"],
        [f"    {line}" for line in f"{body}\nreturn rows".splitlines()],
        ["", LISTED, 'copies = [load(each["parquet"]) for each in listed]'],
        _over_copies(subject, series),
    )


def _over_copies(subject: PublicRelease, series: str) -> list[str]:
    """Return how a number is computed from several copies."""
    if subject.measured is None:
        return []
    return [
        f"means = {series}([copy[{python_literal(subject.measured)}].mean() for copy in copies])",
        "print(means.mean(), means.std())  # the estimate, and how far the copies lie apart",
    ]


def _polars(subject: PublicRelease) -> str:
    path = "path" if subject.is_copied else python_literal(subject.first.parquet)
    orders = [
        f"order = {python_list(c.levels)}\nrows = "
        f"rows.with_columns(pl.col({python_literal(c.name)}).cast(pl.Enum(order)))"
        for c in subject.text_orders
    ]
    return _loaded(subject, "polars as pl", lines(f"rows = pl.read_parquet({path})", orders), "pl.Series")


def _load_rows_arrow(subject: PublicRelease) -> str:
    """Return the lines for R; dates are Dates there, and a missing value is NA."""
    orders = [
        f"order <- {r_vector(map(str, c.levels))}\n"
        f"rows[[{r_literal(c.name)}]] <- factor(rows[[{r_literal(c.name)}]], levels = order, ordered = TRUE)"
        for c in subject.text_orders
    ]
    if not subject.is_copied:
        read = f"rows <- as.data.frame(read_parquet({r_literal(subject.first.parquet)}))"
        return lines("library(arrow)", "", read, orders)
    read = ["copies <- lapply(files, function(path) as.data.frame(read_parquet(path)))"]
    name = r_literal(subject.measured or "")
    means = [f"means <- sapply(copies, function(rows) mean(rows[[{name}]], na.rm = TRUE))", "c(mean(means), sd(means))"]
    return lines("library(arrow)", "", R_FILES, read, means if subject.measured else None)


def _load_rows_sql(subject: PublicRelease) -> str:
    """Return SQL that opens the file where it lies, and a first question."""
    file = "read_parquet('tables/*.parquet', filename = true)"
    source = file if subject.is_copied else f"read_parquet({sql_string(subject.first.parquet)})"
    named = [sql_identifier(subject.grouping)] if subject.grouping else []
    named += ["filename"] if subject.is_copied else []
    mean = [f"avg({sql_identifier(subject.measured)}) AS mean"] if subject.measured else []
    asked = ", ".join([*named, "count(*) AS n", *mean])
    group = " GROUP BY ALL ORDER BY ALL" if named else ""
    return lines(
        f"CREATE VIEW released AS {sql_select('*', source)}",
        sql_select(asked, "released", group),
    )


MOST_VIEWS = 8
"""Tables that the SQL names one by one."""
ARROW = ["library(arrow)", ""]


def marginal_loading_code(subject: PublicRelease) -> Iterator[CodeBlock]:
    """Yield the lines of each language for one table of counts, or for several."""
    yield CodeBlock("pandas", "python", _python(subject, "pandas", "pd", _pandas_sums))
    yield CodeBlock("polars", "python", _python(subject, "polars", "pl", _polars_sums))
    yield CodeBlock("R, with the package arrow", "r", _arrow(subject))
    yield CodeBlock("SQL, with DuckDB", "sql", _sql(subject))


def _shown(subject: PublicRelease) -> ReleasedTable:
    """Return the table of the example: the first that has several columns, if one has."""
    return next((table for table in subject.tables if len(table.columns) > 1), subject.first)


def _python(subject: PublicRelease, library: str, short: str, sums: Callable[[Sequence[str], str], list[str]]) -> str:
    table, names = _shown(subject), _shown(subject).columns
    summed = sums(names, count_name(names))
    if len(subject.tables) == 1:
        read = f"counts = {short}.read_parquet({python_literal(table.parquet)})"
        return lines(f"import {library} as {short}", "", read, summed)
    opened = f'tables = {{tuple(each["columns"]): {short}.read_parquet(each["parquet"]) for each in listed}}'
    picked = f"counts = tables[{', '.join(python_literal(name) for name in names)},]"
    return lines([*SEVERAL, f"import {library} as {short}", "", LISTED, opened], picked, summed)


def _pandas_sums(names: Sequence[str], count: str) -> list[str]:
    if len(names) == 1:
        return [f"shares = counts[{python_literal(count)}] / counts[{python_literal(count)}].sum()"]
    keys = python_list(names[:1])
    return [f"sums = counts.groupby({keys}, dropna=False, sort=False)[{python_literal(count)}].sum()"]


def _polars_sums(names: Sequence[str], count: str) -> list[str]:
    if len(names) == 1:
        return [f"shares = counts[{python_literal(count)}] / counts[{python_literal(count)}].sum()"]
    return [
        f"sums = counts.group_by({python_literal(names[0])}, "
        f"maintain_order=True).agg(pl.col({python_literal(count)}).sum())"
    ]


def _arrow(subject: PublicRelease) -> str:
    table = _shown(subject)
    count, name = r_literal(count_name(table.columns)), r_literal(table.columns[0])
    read = f"counts <- as.data.frame(read_parquet({r_literal(table.parquet)}))"
    several = [
        R_FILES,
        "tables <- lapply(files, function(path) as.data.frame(read_parquet(path)))",
        "names(tables) <- files",
    ]
    if len(subject.tables) > 1:
        read = f"counts <- tables[[{r_literal(table.parquet)}]]"
    cells = f"cells <- addNA(factor(counts[[{name}]], unique(counts[[{name}]])))  # missing is a cell"
    sums = f"sums <- tapply(counts[[{count}]], cells, sum)"
    return lines(ARROW, several if len(subject.tables) > 1 else None, read, cells, sums)


def _sql(subject: PublicRelease) -> str:
    table = _shown(subject)
    count, name = sql_identifier(count_name(table.columns)), sql_identifier(table.columns[0])
    asked, grouped = f"{name}, sum({count}) AS n", " GROUP BY ALL"
    if len(subject.tables) == 1:
        return sql_select(asked, f"read_parquet({sql_string(table.parquet)})", grouped)
    views = [
        f"CREATE VIEW {sql_identifier(' x '.join(each.columns))} AS "
        f"{sql_select('*', f'read_parquet({sql_string(each.parquet)})')}"
        for each in dict.fromkeys([table, *subject.tables[:MOST_VIEWS]])
    ]
    return lines(views, sql_select(asked, sql_identifier(" x ".join(table.columns)), grouped))


def value_loading_code(subject: PublicRelease) -> Iterator[CodeBlock]:
    """Yield the lines of each language for released numbers, with 95 % of the noise around them."""
    path, names = subject.first.parquet, subject.first.columns
    noisy = _noisy(names)
    band = [
        f"values[{python_literal(end)}] = values[{python_literal(noisy)}] {sign} 1.96 * values['noise_sd']"
        for end, sign in ENDS
    ]
    yield CodeBlock(
        "pandas",
        "python",
        lines("import pandas as pd", "", f"values = pd.read_parquet({python_literal(path)})", band if noisy else None),
    )
    ends = ", ".join(f"{end}=pl.col({python_literal(noisy)}) {sign} 1.96 * pl.col('noise_sd')" for end, sign in ENDS)
    added = f".with_columns({ends})" if noisy else ""
    read = f"values = pl.read_parquet({python_literal(path)}){added}"
    yield CodeBlock("polars", "python", lines("import polars as pl", "", read))
    r_band = [f"values${end} <- values[[{r_literal(noisy)}]] {sign} 1.96 * values$noise_sd" for end, sign in ENDS]
    r_read = f"values <- as.data.frame(read_parquet({r_literal(path)}))"
    yield CodeBlock("R, with the package arrow", "r", lines(ARROW, r_read, r_band if noisy else None))
    asked = ", ".join(f"{sql_identifier(noisy)} {sign} 1.96 * noise_sd AS {end}" for end, sign in ENDS)
    source = f"read_parquet({sql_string(path)})"
    yield CodeBlock("SQL, with DuckDB", "sql", sql_select(f"*, {asked}" if noisy else "*", source))


ENDS = (("low", "-"), ("high", "+"))


def _noisy(names: Sequence[str]) -> str:
    """Return the column whose noise is told in the column behind it; empty where none is."""
    place = names.index("noise_sd") if "noise_sd" in names else 0
    return names[place - 1] if place else ""
