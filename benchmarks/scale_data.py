"""Tables of any number of rows and columns, written by DuckDB from a formula: the same values wherever it runs.

Row i of column k comes from ``hash(i, k)``, so that no row depends on how many there are or in which file it lies. Ten
columns are a mixture of kinds; wider tables repeat them. A hidden number of each row moves most columns, so that pairs
depend on each other and AIM has something to find.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROWS_A_FILE = 5_000_000
GROUP_ROWS = 500_000


@dataclass(frozen=True)
class Kind:
    """How a column is described in a schema, and computed in SQL from ``u``, a number between 0 and 1."""

    name: str
    facts: str
    sql: str
    missing: float = 0.0


def _levels(prefix: str, count: int) -> list[str]:
    return [f"{prefix}_{i:02d}" for i in range(count)]


def _pick(levels: list[str]) -> str:
    listed = ", ".join(f"'{level}'" for level in levels)
    return f"[{listed}][1 + least({len(levels) - 1}, floor(u * u * {len(levels)})::INTEGER)]"


def _listed(levels: list[str]) -> str:
    return f'kind = "category"\nvalues = {levels}'


SCHOOLING = ["none", "primary", "lower secondary", "upper secondary", "bachelor", "graduate"]
YEARS = ", ".join(str(dt.date(year, 1, 1)) for year in range(2000, 2025))
KINDS = (
    Kind("sex", _listed(["female", "male"]), _pick(["female", "male"])),
    Kind("age", 'kind = "integer"\nbounds = [0, 110]', "floor(u * 111)::INTEGER"),
    Kind("work", _listed(_levels("employment_status", 9)), _pick(_levels("employment_status", 9))),
    Kind(
        "income",
        'kind = "number"\nbounds = [0.0, 1e6]\nedges = [0.0, 1e4, 2e4, 5e4, 1e5, 1e6]\nmissing = true',
        "round(u * u * u * 400000, 2)",
        0.05,
    ),
    Kind("state", _listed(_levels("State", 50)), _pick(_levels("State", 50))),
    Kind("hours", 'kind = "integer"\nbounds = [0, 99]\nmissing = true', "floor(u * 100)::INTEGER", 0.2),
    Kind("insured", 'kind = "boolean"', "u < 0.3"),
    Kind("score", f'kind = "number"\nbounds = [0, 100]\nedges = {[3.125 * i for i in range(33)]}', "round(u * 100, 1)"),
    Kind("schooling", f'kind = "ordinal"\nvalues = {SCHOOLING}', _pick(SCHOOLING)),
    Kind(
        "day",
        f'kind = "date"\nbounds = [2000-01-01, 2024-12-31]\nedges = [{YEARS}]',
        "DATE '2000-01-01' + floor(u * 9131)::INTEGER",
    ),
)


def named_kinds(columns: int) -> list[tuple[str, Kind]]:
    """Return so many columns: the kinds in turn, from the second round on with a number behind their name."""
    return [
        (kind.name if place < len(KINDS) else f"{kind.name}_{place // len(KINDS)}", kind)
        for place in range(columns)
        for kind in [KINDS[place % len(KINDS)]]
    ]


def schema_text(columns: int) -> str:
    """Return the public facts of a table of so many columns."""
    head = "[table]\nname = 'scale'\n[confirmed]\nby = 'a benchmark'\non = 2026-01-01\n"
    return head + "\n".join(f"[columns.{name}]\n{kind.facts}" for name, kind in named_kinds(columns))


def _uniform(place: int) -> str:
    # Hashed twice: the hash of a pair is that of one, turned by that of the other, so that columns would be alike.
    return f"((hash(hash(i, {place})) >> 11)::DOUBLE / 9007199254740992.0)"


def _value(place: int, kind: Kind) -> str:
    """Return a column in SQL: its own number with three parts, the row's hidden number with two, folded into 0 to 1."""
    mixed = f"(0.6 * {_uniform(place)} + 0.4 * h)" if place % 3 else _uniform(place)
    value = re.sub(r"\bu\b", mixed, kind.sql)
    return (
        f"CASE WHEN {_uniform(place + 100_000)} < {kind.missing} THEN NULL ELSE {value} END" if kind.missing else value
    )


def query(first: int, last: int, columns: int) -> str:
    """Return the SQL of the rows from ``first`` up to ``last``."""
    made = ", ".join(f'{_value(place, kind)} AS "{name}"' for place, (name, kind) in enumerate(named_kinds(columns)))
    hidden = _uniform(999_999)
    return (
        f"SELECT {made} FROM (SELECT range AS i, {hidden.replace('(i,', '(range,')} AS h FROM range({first}, {last}))"
    )


def files(folder: Path, rows: int, columns: int, form: str) -> Iterator[tuple[Path, int, int]]:
    """Yield the files of a table, each with its first and last row."""
    for number, first in enumerate(range(0, rows, ROWS_A_FILE)):
        name = f"{rows}x{columns}-{number:04d}.{form}"
        yield folder / name, first, min(rows, first + ROWS_A_FILE)


def write(folder: Path, rows: int, columns: int, form: str, tell: Callable[[str], None] = lambda _: None) -> str:
    """Write the files that are absent, and return the glob that names them all."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    how = (
        f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {GROUP_ROWS}" if form == "parquet" else "FORMAT csv, HEADER"
    )
    connection = duckdb.connect(config={"memory_limit": "2GB"})
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")
    for path, first, last in files(folder, rows, columns, form):
        if path.exists():
            continue
        tell(path.name)
        unfinished, there = path.with_suffix(f".{form}.part"), path.with_suffix(".parquet")
        made = f"FROM '{there}'" if there.exists() else query(first, last, columns)
        connection.execute(f"COPY ({made}) TO '{unfinished}' ({how})")
        unfinished.rename(path)
    return str(folder / f"{rows}x{columns}-*.{form}")
