"""The tables of the graphical benchmark: rows split 80/20, the public schema of each, and the cells of the measures.

Adult is the coded table with its five numeric columns cut to 32 equal-width bins over the range of its domain file.
The other five keep their original values. Their schemas (graphical_schemas.py) were written by hand: round bounds as a
code book would give them, values beyond them clamped. Every measure is taken on the same cells: one for each listed
value, one for each whole number up to 32 of them, else 32 equal-width bins over the public bounds; one more for
missing.

The split is ``numpy.random.default_rng(0).permutation(rows)``, the first 80 % (rounded down) to train: 39,073 of
Adult's 48,842 rows. Data are read from ../shared/data, or from the folder that SFUMATO_DATA names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import graphical_schemas as schemas
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.schema import Schema
from sfumato.schema.column import Column

OUT = Path(__file__).parent / "out" / "graphical"
BINS = 32
SPLIT_SEED = 0
ADULT = "adult"
BINNED = ("age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week")
OTHERS = tuple(schemas.TABLES)
TABLES = (ADULT, *OTHERS)


@dataclass(frozen=True)
class Prepared:
    """A table ready for the benchmark: public schema, train and holdout rows, and what is predicted."""

    name: str
    schema: Schema
    train: pd.DataFrame
    holdout: pd.DataFrame
    target: str
    positive: Any = None
    """The value of the target whose ranking is measured; None where the target is a number."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each column, the missing one included."""
        return tuple(_present_cells(column) + int(column.missing) for column in self.schema)

    def codes(self, frame: pd.DataFrame) -> NDArray[np.int32]:
        """Return the cell of each value, columns in the order of the schema."""
        return np.column_stack([cells_of(column, frame[column.name]) for column in self.schema])

    def decode(self, codes: NDArray[Any], seed: int = 0) -> pd.DataFrame:
        """Turn cells back into values, drawn evenly within each bin: how a peer's codes are read."""
        rng = np.random.default_rng(seed)
        columns = {
            column.name: _values_of(column, codes[:, i].astype(int), rng) for i, column in enumerate(self.schema)
        }
        return pd.DataFrame(columns)


@lru_cache
def prepare(name: str) -> Prepared:
    """Read, cut and split one table by its name."""
    return _adult() if name == ADULT else _other(name)


def split(frame: pd.DataFrame, seed: int = SPLIT_SEED) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 80 % of the rows (rounded down) and the rest."""
    order = np.random.default_rng(seed).permutation(len(frame))
    kept = int(0.8 * len(frame))
    return tuple(frame.iloc[part].reset_index(drop=True) for part in (order[:kept], order[kept:]))


def _adult() -> Prepared:
    folder = schemas.data_folder()
    sizes: dict[str, int] = json.loads((folder / "adult_coded_domain.json").read_text(encoding="utf-8"))
    frame = pd.read_csv(folder / "adult_coded.csv.gz")[list(sizes)]
    for name in BINNED:
        frame[name] = frame[name] * BINS // sizes[name]
    columns = [_adult_column(name, BINS if name in BINNED else size) for name, size in sizes.items()]
    train, holdout = split(frame)
    if len(train) != 39_073:
        raise SystemExit(f"Adult should give 39,073 train rows, found {len(train):,}: is the file complete?")
    return Prepared(ADULT, Schema("adult_coded", tuple(columns)), train, holdout, "income>50K", 1)


def _adult_column(name: str, size: int) -> Column:
    """Return the schema's column: bins are whole numbers, years of education are ranked, the rest are categories."""
    if name in BINNED:
        return Column(name, "integer", bounds=(0, size - 1))
    return Column(name, "ordinal" if name == "education-num" else "category", values=tuple(range(size)))


def _other(name: str) -> Prepared:
    facts = schemas.TABLES[name]
    schema = Schema.parse(facts.codebook, origin=name)
    read = pd.read_csv(schemas.data_folder() / facts.file, keep_default_na=False, na_values=list(facts.missing))
    frame = pd.DataFrame({column.name: _typed(column, read[column.name]) for column in schema})
    return Prepared(name, schema, *split(frame), facts.target, facts.positive)


def _typed(column: Column, series: pd.Series) -> pd.Series:
    """Whole numbers stay whole beside missing ones; texts become plain objects."""
    if column.kind == "integer" or column.has_integer_levels:
        return series.astype("Int64")
    return series.astype(float) if column.kind == "number" else series.astype(object)


def _present_cells(column: Column) -> int:
    if not column.is_ordered:
        return len(column.levels)
    low, high = column.numeric_bounds
    return min(BINS, int(high - low) + 1) if column.is_discrete else BINS


def cells_of(column: Column, series: pd.Series | Sequence[Any]) -> NDArray[np.int32]:
    """Return the cell of each value of a column; values beyond the public bounds fall into the outermost bins."""
    values, last = pd.Series(series), _present_cells(column)
    absent = values.isna().to_numpy()
    if column.is_ordered:
        low, high = column.numeric_bounds
        numbers = values.astype(float).to_numpy(float, na_value=low)
        found = np.clip(np.floor((numbers - low) / (high + column.is_discrete - low) * last), 0, last - 1)
    else:
        found = pd.Index(column.levels).get_indexer(values.where(~absent, column.levels[0]))
        if (found < 0).any():
            raise SystemExit(f"column {column.name} holds values that its schema does not list")
    return np.where(absent, last, found).astype(np.int32)


def _values_of(column: Column, codes: NDArray[Any], rng: np.random.Generator) -> pd.Series:
    last = _present_cells(column)
    absent = codes >= last
    if not column.is_ordered:
        levels = np.append(np.array(column.levels, dtype=object), None)
        return _typed(column, pd.Series(levels[np.minimum(codes, last)]))
    low, high = column.numeric_bounds
    edges = low + np.arange(last + 1) * (high + column.is_discrete - low) / last
    # A whole number lies in the bin that holds it, so the bins of whole numbers begin at the next whole edge.
    edges = np.ceil(edges - 1e-9) if column.is_discrete else edges
    cell = np.minimum(codes, last - 1)
    drawn = edges[cell] + rng.random(len(codes)) * (edges[cell + 1] - edges[cell])
    numbers = pd.Series(np.floor(drawn) if column.is_discrete else drawn).mask(absent)
    return numbers.astype("Int64") if column.is_discrete else numbers
