"""Sensitivity by brute force: whatever one neighbour changes, every count moves by no more than its event says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from sfumato.dp_schema.domains import histogram_edges, year_edges
from sfumato.dp_schema.run import NoisyCounter
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Column, Schema
from sfumato.table.sources import open_source

STILL = EventPart(stage="x", cells=1, scale=0.01, threshold=1)
"""Noise so small that it is always 0: these tests look at the counts."""
EDGES = histogram_edges((0.0, 100.0), False, 50)
ODD = ["7", "7.0", "-3.25", "1e9", "2020-05-01", "true", "word", "", None, "007", "99999999999"]


def table(rows: list[tuple[str, str | None]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["who", "x"]).astype("string")


def counted(frame: pd.DataFrame, rows_per_person: int | None) -> dict[str, dict[object, int]]:
    """All counts of column x, by name of the count and of the cell."""
    people = {} if rows_per_person is None else {"person": "who", "rows_per_person": rows_per_person}
    header = Schema("t", tuple(Column(name, "category", role="identifier") for name in ("who", "x")), **people)
    counter = NoisyCounter(open_source(frame).engine, header, Randomness.of(1))
    found = {
        "forms": counter.forms({"x": STILL})["x"],
        "values": counter.values({"x": STILL}, {"x": EDGES})["x"],
        "years": counter.years({"x": STILL}, year_edges())["x"],
    }
    cells = {name: dict(enumerate(counts.tolist())) for name, counts in found.items()}
    return cells | {"texts": text_counts(counter)}


def text_counts(counter: NoisyCounter) -> dict[object, int]:
    """Counts of texts, read off by thresholds: those of no more than five rows here."""
    limits = [dataclasses.replace(counter).texts("x", STILL.model_copy(update={"threshold": t})) for t in range(1, 7)]
    return {text: sum(text in shown for shown in limits) for text in limits[0]}


def moves(before: dict[object, int], after: dict[object, int]) -> list[int]:
    keys = before.keys() | after.keys()
    return [abs(after.get(key, 0) - before.get(key, 0)) for key in keys]


BASE = [(f"p{i % 4}", ODD[i]) for i in range(len(ODD))]


@pytest.mark.parametrize("value", ODD)
def test_one_row_moves_one_cell_of_each_count_by_one(value: str | None):
    before, after = counted(table(BASE), None), counted(table([*BASE, ("p9", value)]), None)
    for name in before:
        assert sum(moves(before[name], after[name])) <= 1
    assert sum(sum(moves(before[name], after[name])) for name in before) >= 1  # every row is counted somewhere


def test_a_replaced_row_moves_two_cells_of_each_count_by_one():
    before = counted(table(BASE), None)
    for value in ("50", "other"):
        after = counted(table([("p0", value), *BASE[1:]]), None)
        for name in before:
            moved = moves(before[name], after[name])
            assert sum(n * n for n in moved) <= 2
            assert max(moved) <= 1


@pytest.mark.parametrize("rows_per_person", [1, 2])
def test_a_person_moves_each_count_by_the_rows_that_count_at_most(rows_per_person: int):
    many = [("new", value) for value in ("7", "8", "word", "phrase", "2020-05-01")]
    before, after = (counted(table(rows), rows_per_person) for rows in (BASE, BASE + many))
    for name in before:
        assert sum(moves(before[name], after[name])) <= rows_per_person


def test_the_mutant_that_forgets_the_bound_of_people_is_caught():
    before, after = (counted(table(rows), None) for rows in (BASE, BASE + [("new", "word")] * 4))
    assert sum(moves(before["texts"], after["texts"])) > 2


def test_texts_come_in_the_order_of_the_alphabet_and_below_the_threshold_not_at_all():
    frame = table([("a", "zebra")] * 5 + [("a", "ant")] * 7 + [("a", "rare")])
    header = Schema("t", (Column("x", "category", role="identifier"),))
    counter = NoisyCounter(open_source(frame).engine, header, Randomness.of(1))
    assert counter.texts("x", STILL.model_copy(update={"threshold": 5})) == ("ant", "zebra")
    with pytest.raises(AssertionError, match="threshold"):
        counter.texts("x", STILL.model_copy(update={"threshold": None}))


def test_the_noise_is_that_of_the_event():
    """sigma 30 on 143 empty cells: the standard deviation lies within 5 standard errors (alpha 1e-6)."""
    header = Schema("t", (Column("x", "category", role="identifier"),))
    counter = NoisyCounter(open_source(table([("a", None)])).engine, header, Randomness(7))
    noisy = counter.forms({"x": STILL.model_copy(update={"scale": 30.0})})["x"][1:]
    assert abs(np.std(noisy) / 30 - 1) < 5 / np.sqrt(2 * len(noisy))
