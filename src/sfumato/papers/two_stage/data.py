"""Data of the paper: simulated table, prices and sales, five public tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from sfumato.arrays import FloatArray
from sfumato.errors import TableError
from sfumato.papers.data import OTHER_FILE
from sfumato.report.texts import text_file

Sample = tuple[FloatArray, FloatArray]
ELASTICITIES = (-1.5, -1.7, -2.01, -1.98, -1.9)
"""From the printed optimal mark-ups 200.00, 142.86, 99.01, 102.04 and 111.11 %."""
PRICES = (1.0, 3.0)
"""Own range: the paper takes its prices from elsewhere and does not print them."""
NOISE_VARIANCE = 0.5


@dataclass(frozen=True)
class RealTable:
    """One row of table 7: the file, its columns, how its rows are dealt, and what is required."""

    name: str
    file: str
    target: str
    numeric: tuple[str, ...]
    """Inputs that are anonymised."""
    rows: tuple[int, int, int]
    """Provider, public, test."""
    max_lid: tuple[float, float]
    """On inputs and on the output."""
    least_gain: float
    kept: tuple[str, ...] = ()
    """Inputs that are released as they are, one-hot in the regression."""


TABLES = TypeAdapter(tuple[RealTable, ...]).validate_python(text_file("printed", "sfumato.papers.two_stage")["tables"])
FILES = tuple(each.file for each in TABLES)


def target_function(inputs: FloatArray) -> FloatArray:
    """Return g of section 5: a bump at the origin and a fifth of the squared length.

    >>> target_function(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]])).tolist()
    [1.0, 0.8]
    """
    length = np.linalg.norm(inputs, axis=1)
    return np.clip(1 - length, 0, None) ** 5 * (1 + 5 * length) + length**2 / 5


def simulated_table(rows: int, generator: np.random.Generator, spread: float = 0.1, noise: float = 0.1) -> Sample:
    """Return inputs and targets; ``spread`` is the sd around x1^2 + x2^2 in the third input, ``noise`` that of y.

    The paper prints N(0, 1) for both, with which its errors below 8e-4 are out of reach; 0.1 gives them.
    """
    inputs = generator.random((rows, 3))
    inputs[:, 2] = inputs[:, 0] ** 2 + inputs[:, 1] ** 2 + generator.normal(0.0, spread, rows)
    return inputs, target_function(inputs) + generator.normal(0.0, noise, rows)


def price_sales(rows: int, beta: float, generator: np.random.Generator, noisy: bool = True) -> Sample:
    """Return log prices and log sales without the brand's and the customer's own level."""
    inputs = np.log(generator.uniform(*PRICES, rows))
    error = generator.normal(0.0, np.sqrt(NOISE_VARIANCE), rows) if noisy else 0.0
    return inputs[:, None], beta * inputs + error


def read_table(table: RealTable, folder: Path) -> tuple[FloatArray, FloatArray]:
    """Return inputs (anonymised ones first, then one-hot) and targets of all complete rows."""
    wanted = [*table.numeric, *table.kept, table.target]
    try:
        frame = pd.read_csv(folder / table.file, usecols=wanted).dropna()
        numbers = frame[[*table.numeric, table.target]].to_numpy(float)
    except ValueError as error:
        raise TableError(f"{table.file} cannot be read", [str(error)], OTHER_FILE) from error
    if len(numbers) < sum(table.rows):
        raise TableError(
            f"{table.file} is too short",
            [f"{len(numbers)} complete rows; {sum(table.rows)} are needed"],
            OTHER_FILE,
        )
    parts = [numbers[:, :-1]]
    if table.kept:
        parts.append(pd.get_dummies(frame[list(table.kept)].astype(str)).to_numpy(float))
    return np.hstack(parts), numbers[:, -1]
