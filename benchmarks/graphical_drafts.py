"""Tables with the schema that ``Schema.draft`` proposes, confirmed as it stands: what a hurried custodian does.

All rows are used: the measures of graphical_numbers.py compare synthetic rows with the rows that they were made from.
Parity is generated: a label that is the sign of the product of the first k of k + 4 uniform numbers, so that no set of
fewer than k + 1 columns says anything about it. COMPAS has rules: three of its columns are functions of three others.

Data are read from ../shared/data, or from the folder that SFUMATO_DATA names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import graphical_schemas as schemas
import numpy as np
import pandas as pd

from sfumato.schema import Schema

DELTA = 1e-9
FILES = {name: facts.file for name, facts in schemas.TABLES.items()} | {
    "german_credit": "german_credit.csv",
    "house_prices": "house_prices.csv",
    "compas": "compas_two_years.csv",
}
PARITIES = {"parity_2": 2, "parity_3": 3, "parity_4": 4}
PARITY_ROWS = 10_000
IDLE = 4
"""Columns of a parity table that have nothing to do with its label."""
LABEL = "label"
TRAIN_SEED, TEST_SEED = 0, 999
TRUE_WORDS = ("yes", "y", "true", "t", "1")
DETERMINES = {
    "compas": {"decile_score": "score_text", "v_decile_score": "v_score_text", "age": "age_cat"},
}
"""Columns of which others are functions."""


class NotAvailableError(Exception):
    """What was asked for does not exist in this version of the code."""


@dataclass(frozen=True)
class Drafted:
    """A table with its draft, confirmed; ``delta`` is what its releases may spend."""

    name: str
    frame: pd.DataFrame
    schema: Schema
    delta: float = DELTA


@lru_cache
def drafted(name: str) -> Drafted:
    """Read or generate one table, draft its schema and confirm it."""
    if name in PARITIES:
        frame = parity(PARITIES[name], TRAIN_SEED)
        rows = len(frame)
        schema = Schema.draft(frame, name=name).confirm(accept_unchanged=True, person=False)
        return Drafted(name, frame, schema, 1 / (rows * math.log(rows)))
    missing = schemas.TABLES[name].missing if name in schemas.TABLES else ("",)
    frame = pd.read_csv(schemas.data_folder() / FILES[name], keep_default_na=False, na_values=list(missing))
    schema = Schema.draft(frame, name=name).confirm(accept_unchanged=True, person=False)
    return Drafted(name, _with_truths(frame, schema), schema)


def _with_truths(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return the table whose booleans are True and False, as releases have them, whatever words the file has."""
    names = [column.name for column in schema if column.kind == "boolean"]
    return frame.assign(**{name: frame[name].map(_truth, na_action="ignore").astype("boolean") for name in names})


def _truth(value: object) -> bool:
    return str(value).lower() in TRUE_WORDS


def parity(order: int, seed: int, rows: int = PARITY_ROWS) -> pd.DataFrame:
    """Return uniform numbers on [-1, 1], and a label that says whether the product of the first ones is positive."""
    numbers = np.random.default_rng(seed).uniform(-1, 1, (rows, order + IDLE))
    columns = {f"x{place}": numbers[:, place] for place in range(order + IDLE)}
    return pd.DataFrame({**columns, LABEL: numbers[:, :order].prod(axis=1) > 0})


def with_rules(table: Drafted) -> Drafted:
    """Return the table whose schema says which columns are functions of others."""
    from sfumato.errors import SfumatoError
    from sfumato.schema.rules import Rule

    rules = tuple(Rule(f"{cause} determines {effect}") for cause, effect in DETERMINES[table.name].items())
    try:
        return replace(table, schema=replace(table.schema, rules=rules))
    except SfumatoError as error:
        raise NotAvailableError(f"no rule of the kind 'determines': {str(error).splitlines()[0]}") from error
