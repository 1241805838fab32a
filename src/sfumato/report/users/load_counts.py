"""How to load released counts and numbers in pandas, polars, R and SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sfumato.report.document import ReleasedTable
from sfumato.report.users.load_rows import LISTED, R_FILES, SEVERAL
from sfumato.report.users.parts import Listing
from sfumato.report.users.quoting import in_r, lines, python, python_list, select
from sfumato.report.users.subject import Subject
from sfumato.table.frames import count_name
from sfumato.table.sources.plain import quoted, quoted_name

MOST_VIEWS = 8
"""Tables that the SQL names one by one."""
ARROW = ["library(arrow)", ""]


def count_listings(subject: Subject) -> Iterator[Listing]:
    """Yield the lines of each language for one table of counts, or for several."""
    yield Listing("pandas", "python", _python(subject, "pandas", "pd", _pandas_sums))
    yield Listing("polars", "python", _python(subject, "polars", "pl", _polars_sums))
    yield Listing("R, with the package arrow", "r", _arrow(subject))
    yield Listing("SQL, with DuckDB", "sql", _sql(subject))


def _shown(subject: Subject) -> ReleasedTable:
    """Return the table of the example: the first that has several columns, if one has."""
    return next((table for table in subject.tables if len(table.columns) > 1), subject.first)


def _python(subject: Subject, library: str, short: str, sums: Callable[[Sequence[str], str], list[str]]) -> str:
    table, names = _shown(subject), _shown(subject).columns
    summed = sums(names, count_name(names))
    if len(subject.tables) == 1:
        read = f"counts = {short}.read_parquet({python(table.parquet)})"
        return lines(f"import {library} as {short}", "", read, summed)
    opened = f'tables = {{tuple(each["columns"]): {short}.read_parquet(each["parquet"]) for each in listed}}'
    picked = f"counts = tables[{', '.join(python(name) for name in names)},]"
    return lines([*SEVERAL, f"import {library} as {short}", "", LISTED, opened], picked, summed)


def _pandas_sums(names: Sequence[str], count: str) -> list[str]:
    if len(names) == 1:
        return [f"shares = counts[{python(count)}] / counts[{python(count)}].sum()"]
    keys = python_list(names[:1])
    return [f"sums = counts.groupby({keys}, dropna=False, sort=False)[{python(count)}].sum()"]


def _polars_sums(names: Sequence[str], count: str) -> list[str]:
    if len(names) == 1:
        return [f"shares = counts[{python(count)}] / counts[{python(count)}].sum()"]
    return [f"sums = counts.group_by({python(names[0])}, maintain_order=True).agg(pl.col({python(count)}).sum())"]


def _arrow(subject: Subject) -> str:
    table = _shown(subject)
    count, name = in_r(count_name(table.columns)), in_r(table.columns[0])
    read = f"counts <- as.data.frame(read_parquet({in_r(table.parquet)}))"
    several = [
        R_FILES,
        "tables <- lapply(files, function(path) as.data.frame(read_parquet(path)))",
        "names(tables) <- files",
    ]
    if len(subject.tables) > 1:
        read = f"counts <- tables[[{in_r(table.parquet)}]]"
    cells = f"cells <- addNA(factor(counts[[{name}]], unique(counts[[{name}]])))  # missing is a cell"
    sums = f"sums <- tapply(counts[[{count}]], cells, sum)"
    return lines(ARROW, several if len(subject.tables) > 1 else None, read, cells, sums)


def _sql(subject: Subject) -> str:
    table = _shown(subject)
    count, name = quoted_name(count_name(table.columns)), quoted_name(table.columns[0])
    asked, grouped = f"{name}, sum({count}) AS n", " GROUP BY ALL"
    if len(subject.tables) == 1:
        return select(asked, f"read_parquet({quoted(table.parquet)})", grouped)
    views = [
        f"CREATE VIEW {quoted_name(' x '.join(each.columns))} AS {select('*', f'read_parquet({quoted(each.parquet)})')}"
        for each in dict.fromkeys([table, *subject.tables[:MOST_VIEWS]])
    ]
    return lines(views, select(asked, quoted_name(" x ".join(table.columns)), grouped))


def value_listings(subject: Subject) -> Iterator[Listing]:
    """Yield the lines of each language for released numbers, with 95 % of the noise around them."""
    path, names = subject.first.parquet, subject.first.columns
    noisy = _noisy(names)
    band = [f"values[{python(end)}] = values[{python(noisy)}] {sign} 1.96 * values['noise_sd']" for end, sign in ENDS]
    yield Listing(
        "pandas",
        "python",
        lines("import pandas as pd", "", f"values = pd.read_parquet({python(path)})", band if noisy else None),
    )
    ends = ", ".join(f"{end}=pl.col({python(noisy)}) {sign} 1.96 * pl.col('noise_sd')" for end, sign in ENDS)
    added = f".with_columns({ends})" if noisy else ""
    read = f"values = pl.read_parquet({python(path)}){added}"
    yield Listing("polars", "python", lines("import polars as pl", "", read))
    r_band = [f"values${end} <- values[[{in_r(noisy)}]] {sign} 1.96 * values$noise_sd" for end, sign in ENDS]
    r_read = f"values <- as.data.frame(read_parquet({in_r(path)}))"
    yield Listing("R, with the package arrow", "r", lines(ARROW, r_read, r_band if noisy else None))
    asked = ", ".join(f"{quoted_name(noisy)} {sign} 1.96 * noise_sd AS {end}" for end, sign in ENDS)
    source = f"read_parquet({quoted(path)})"
    yield Listing("SQL, with DuckDB", "sql", select(f"*, {asked}" if noisy else "*", source))


ENDS = (("low", "-"), ("high", "+"))


def _noisy(names: Sequence[str]) -> str:
    """Return the column whose noise is told in the column behind it; empty where none is."""
    place = names.index("noise_sd") if "noise_sd" in names else 0
    return names[place - 1] if place else ""
