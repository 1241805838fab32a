"""How to load synthetic rows in pandas, polars, R and SQL: lines that run in the folder of the bundle."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.report.users.parts import Listing
from sfumato.report.users.quoting import in_r, lines, python, python_list, r_vector, select
from sfumato.report.users.subject import Subject
from sfumato.table.sources.plain import quoted, quoted_name

BACKEND = 'dtype_backend="numpy_nullable"'
LISTED = 'listed = json.loads(Path("release.json").read_text(encoding="utf-8"))["tables"]'
SEVERAL = ("import json", "from pathlib import Path", "")
R_FILES = 'files <- list.files("tables", "[.]parquet$", full.names = TRUE)'
"""Several files: their names stand in release.json, and R can do without a reader of JSON."""


def row_listings(subject: Subject) -> Iterator[Listing]:
    """Yield the lines of each language for one table of rows, or for several copies of it."""
    yield Listing("pandas", "python", _pandas(subject))
    yield Listing("polars", "python", _polars(subject))
    yield Listing("R, with the package arrow", "r", _arrow(subject))
    yield Listing("SQL, with DuckDB", "sql", _sql(subject))


def _pandas(subject: Subject) -> str:
    dates = subject.kinds("date")
    path = "path" if subject.is_copied else python(subject.first.parquet)
    body = lines(
        f"rows = pd.read_parquet({path}, {BACKEND})",
        [f"for name in {python_list(dates)}:", "    rows[name] = pd.to_datetime(rows[name])"] if dates else None,
        [
            f"order = {python_list(c.levels)}\n"
            f"rows[{python(c.name)}] = pd.Categorical(rows[{python(c.name)}], order, ordered=True)"
            for c in subject.text_orders
        ],
    )
    return _loaded(subject, "pandas as pd", body, "pd.Series")


def _loaded(subject: Subject, library: str, body: str, series: str) -> str:
    """Return lines that load one table, or a function that does and the copies that it loads."""
    if not subject.is_copied:
        return lines(f"import {library}", "", body)
    return lines(
        [*SEVERAL, f"import {library}", "", "def load(path):"],
        [f"    {line}" for line in f"{body}\nreturn rows".splitlines()],
        ["", LISTED, 'copies = [load(each["parquet"]) for each in listed]'],
        _each_copy(subject, series),
    )


def _each_copy(subject: Subject, series: str) -> list[str]:
    """Return how a number is computed from several copies."""
    if subject.measured is None:
        return []
    return [
        f"means = {series}([copy[{python(subject.measured)}].mean() for copy in copies])",
        "print(means.mean(), means.std())  # the estimate, and how far the copies lie apart",
    ]


def _polars(subject: Subject) -> str:
    path = "path" if subject.is_copied else python(subject.first.parquet)
    orders = [
        f"order = {python_list(c.levels)}\nrows = rows.with_columns(pl.col({python(c.name)}).cast(pl.Enum(order)))"
        for c in subject.text_orders
    ]
    return _loaded(subject, "polars as pl", lines(f"rows = pl.read_parquet({path})", orders), "pl.Series")


def _arrow(subject: Subject) -> str:
    """Return the lines for R; dates are Dates there, and a missing value is NA."""
    orders = [
        f"order <- {r_vector(map(str, c.levels))}\n"
        f"rows[[{in_r(c.name)}]] <- factor(rows[[{in_r(c.name)}]], levels = order, ordered = TRUE)"
        for c in subject.text_orders
    ]
    if not subject.is_copied:
        read = f"rows <- as.data.frame(read_parquet({in_r(subject.first.parquet)}))"
        return lines("library(arrow)", "", read, orders)
    read = ["copies <- lapply(files, function(path) as.data.frame(read_parquet(path)))"]
    name = in_r(subject.measured or "")
    means = [f"means <- sapply(copies, function(rows) mean(rows[[{name}]], na.rm = TRUE))", "c(mean(means), sd(means))"]
    return lines("library(arrow)", "", R_FILES, read, means if subject.measured else None)


def _sql(subject: Subject) -> str:
    """Return SQL that opens the file where it lies, and a first question."""
    file = "read_parquet('tables/*.parquet', filename = true)"
    source = file if subject.is_copied else f"read_parquet({quoted(subject.first.parquet)})"
    named = [quoted_name(subject.grouping)] if subject.grouping else []
    named += ["filename"] if subject.is_copied else []
    mean = [f"avg({quoted_name(subject.measured)}) AS mean"] if subject.measured else []
    asked = ", ".join([*named, "count(*) AS n", *mean])
    group = " GROUP BY ALL ORDER BY ALL" if named else ""
    return lines(
        f"CREATE VIEW released AS {select('*', source)}",
        select(asked, "released", group),
    )
