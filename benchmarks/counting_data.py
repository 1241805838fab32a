"""The benchmark's table: 15 columns of every kind, as a schema and as seeded Parquet files.

Chunk k of every file is drawn from the seed (SEED, k), so the file of 1,000,000 rows is the beginning of the file of
10,000,000. Run as a script it writes one file: ``python counting_data.py ROWS``.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

OUT = Path(__file__).parent / "out"
SEED = 12345
GROUP_ROWS = 1_000_000
"""Rows of a row group: about what pyarrow writes by default."""
WARM_ROWS = 40_000
WARM_GROUP_ROWS = 10_000
"""The warm-up file has several row groups too, so that it goes the same way as the large ones."""


@dataclass(frozen=True)
class Field:
    """One column: its kind, its public domain, and the share of its values that is missing."""

    name: str
    kind: str
    levels: tuple[str | int, ...] = ()
    bounds: tuple[Any, Any] | None = None
    edges: tuple[Any, ...] = ()
    missing: float = 0.0

    @property
    def present(self) -> int:
        """Number of codes without the missing level."""
        if self.kind == "boolean":
            return 2
        if self.bounds and not self.edges:
            return self.bounds[1] - self.bounds[0] + 1
        return len(self.levels) or len(self.edges) - (self.kind == "number")

    @property
    def size(self) -> int:
        """Number of codes; the missing level, where there is one, is the last."""
        return self.present + (self.missing > 0)

    @property
    def is_text(self) -> bool:
        """Whether the column lists texts."""
        return bool(self.levels) and isinstance(self.levels[0], str)


def _numbered(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}_{i:02d}" for i in range(count))


SCHOOLING = ("none", "primary", "lower secondary", "upper secondary", "bachelor", "graduate")
YEARS = tuple(dt.date(year, 1, 1) for year in range(2000, 2025))
FIELDS = (
    Field("sex", "category", ("female", "male")),
    Field("area", "category", ("urban", "suburban", "rural")),
    Field("origin", "category", ("white", "black", "asian", "native", "other"), missing=0.03),
    Field("work", "category", _numbered("employment_status", 9)),
    Field("degree", "category", _numbered("edu", 16)),
    Field("state", "category", _numbered("State", 50)),
    Field("tariff", "category", (1, 2, 3, 5, 8, 13, 99)),
    Field("insured", "boolean"),
    Field("schooling", "ordinal", SCHOOLING),
    Field("age", "integer", bounds=(0, 110)),
    Field("household", "integer", bounds=(1, 12)),
    Field("hours", "integer", bounds=(0, 99), missing=0.2),
    Field("income", "number", bounds=(0.0, 1e6), edges=(0.0, 1e4, 2e4, 5e4, 1e5, 1e6), missing=0.05),
    Field("score", "number", bounds=(0.0, 100.0), edges=tuple(3.125 * i for i in range(33))),
    Field("day", "date", bounds=(dt.date(2000, 1, 1), dt.date(2024, 12, 31)), edges=YEARS),
)
NAMES = tuple(field.name for field in FIELDS)
SIZES = tuple(field.size for field in FIELDS)
PAIRS = tuple(combinations(range(len(FIELDS)), 2))
"""All 105 pairs of columns, by position."""


def schema_text() -> str:
    """Return the table's schema as Sfumato's TOML."""
    lines = ["[table]", 'name = "counting"']
    for field in FIELDS:
        lines += [f"[columns.{field.name}]", f'kind = "{field.kind}"']
        lines += [f"values = {list(field.levels)}"] if field.levels else []
        lines += [f"bounds = {_toml_list(field.bounds)}"] if field.bounds else []
        lines += [f"edges = {_toml_list(field.edges)}"] if field.edges else []
        lines += ["missing = true"] if field.missing else []
    return "\n".join(lines)


def _toml_list(values: tuple[Any, ...]) -> str:
    return f"[{', '.join(str(value) for value in values)}]"


Draw = Callable[[np.random.Generator, int], np.ndarray]
DRAWS: dict[str, Draw] = {
    "insured": lambda rng, n: rng.random(n) < 0.3,
    "age": lambda rng, n: np.clip(rng.normal(42, 22, n), 0, 110).astype(np.int64),
    "household": lambda rng, n: np.clip(rng.poisson(2.5, n), 1, 12).astype(np.int64),
    "hours": lambda rng, n: np.where(rng.random(n) < 0.4, 40, rng.integers(0, 100, n)),
    "income": lambda rng, n: np.minimum(np.round(rng.lognormal(10.3, 1.0, n), 2), 1e6),
    "score": lambda rng, n: np.clip(rng.normal(60, 18, n), 0, 100),
    "day": lambda rng, n: rng.integers(10957, 20089, n).astype(np.int32),
}
"""Values of the columns that list no levels; days count from 1970-01-01."""


def _column(field: Field, rng: np.random.Generator, rows: int) -> pa.Array:
    import pyarrow as pa

    missing = rng.random(rows) < field.missing if field.missing else None
    if not field.levels:
        array = pa.array(DRAWS[field.name](rng, rows), mask=missing)
        return array.cast(pa.date32()) if field.kind == "date" else array
    weights = 1 / np.arange(1, len(field.levels) + 1)
    codes = rng.choice(len(field.levels), size=rows, p=weights / weights.sum()).astype(np.int32)
    return pa.array(field.levels).take(pa.array(codes, mask=missing))


def write(path: Path, rows: int, group_rows: int = GROUP_ROWS) -> None:
    """Write a Parquet file chunk by chunk; it takes its name only when it is complete."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    unfinished = path.with_suffix(".part")
    writer = None
    for chunk, first in enumerate(range(0, rows, group_rows)):
        rng = np.random.default_rng((SEED, chunk))
        count = min(group_rows, rows - first)
        table = pa.table({field.name: _column(field, rng, count) for field in FIELDS})
        writer = writer or pq.ParquetWriter(unfinished, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=group_rows)
    if writer is not None:
        writer.close()
    unfinished.rename(path)


def path_of(rows: int) -> Path:
    """Return where the file with so many rows lies."""
    return OUT / f"counting-{rows}.parquet"


if __name__ == "__main__":
    wanted = int(sys.argv[1])
    write(path_of(wanted), wanted, WARM_GROUP_ROWS if wanted == WARM_ROWS else GROUP_ROWS)
