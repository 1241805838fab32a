"""What the rows leave in a bundle is noise and choices, and nothing else: every method x adjacency x origin of schema.

All noisy answers on a table are recorded and forced on a neighbour with a canary in every column (:mod:`replay`). The
two bundles must then be equal byte by byte, and the privacy loss of the run within what its events charge. Every
registered method with a formal guarantee takes part by its own example.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import replay
import sfumato
from sfumato import Ledger, Schema
from sfumato.buying import buy_schema
from sfumato.errors import DraftSchemaError, PlanError, SfumatoError
from sfumato.privacy import noise
from sfumato.schema.vouched import Vouched

ROWS = 240
CANARY = {"age": 7777, "spend": 913131.4142135, "visits": 4444, "since": dt.date(1931, 3, 7), "city": "CANARYTOWN"}
FORMAL = {name: info for name, info in sfumato.methods().items() if info.formal is not False}
ADJACENCIES = ("rows", "replace", "persons")
ORIGINS = ("stated", "file", "bought", "drafted")
PERSON_ROWS = 2
"""Rows of one person that count; the canary person brings one more."""

STATED = """
[columns.age]
kind = "integer"
bounds = [0, 99]
outside = "clamp"
[columns.spend]
kind = "number"
bounds = [0, 400]
outside = "clamp"
[columns.visits]
kind = "integer"
bounds = [0, 12]
outside = "clamp"
[columns.since]
kind = "date"
bounds = [1990-01-01, 2019-12-31]
outside = "clamp"
[columns.city]
kind = "category"
values = ["Basel", "Bern", "Thun"]
outside = "missing"
missing = true
"""


def frame(adjacency: str, neighbour: bool) -> pd.DataFrame:
    """Return the table, or its neighbour: a row more, another row, or a person more, in the middle of the table."""
    dice = np.random.default_rng(5)
    rows = pd.DataFrame(
        {
            "age": dice.integers(16, 90, ROWS),
            "spend": np.round(dice.gamma(2.0, 50.0, ROWS).clip(1, 399), 2),
            "visits": dice.integers(0, 12, ROWS),
            "since": [dt.date(1992 + int(year), 5, 1 + int(year)) for year in dice.integers(0, 25, ROWS)],
            "city": dice.choice(["Basel", "Bern", "Thun"], ROWS, p=[0.5, 0.3, 0.2]),
        }
    )
    if adjacency == "persons":
        rows["who"] = [f"p{i // 2:03d}" for i in range(ROWS)]
    if not neighbour:
        return rows
    times, name = (PERSON_ROWS + 1, {"who": "p500"}) if adjacency == "persons" else (1, {})
    canaries = pd.DataFrame([CANARY | name] * times)
    half = ROWS // 2
    last = rows[half + (adjacency == "replace") :]
    return pd.concat([rows[:half], canaries, last], ignore_index=True)


def described(schema: Schema, adjacency: str) -> Schema:
    """Return a schema with the adjacency, and with the column of people where these are protected."""
    if adjacency == "replace":
        return dataclasses.replace(schema, adjacency="replace", rows=ROWS)
    if adjacency == "rows":
        return schema
    whose = schema.columns[0].__class__("who", "category", role="identifier")
    columns = (*(column for column in schema if column.name != "who"), whose)
    return dataclasses.replace(schema, columns=columns, person="who", rows_per_person=PERSON_ROWS)


def as_csv(rows: pd.DataFrame, folder: Path) -> Path:
    rows.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def as_stata(rows: pd.DataFrame, folder: Path) -> Path:
    """Write codes with the labels of a code book, which are the same whatever the rows hold."""
    import pyreadstat

    book = {0: "Basel", 1: "Bern", 2: "Thun"}
    codes = {name: code for code, name in book.items()}
    coded = rows.assign(
        city=[codes.get(name, 9) for name in rows["city"]], since=[pd.Timestamp(day) for day in rows["since"]]
    )
    pyreadstat.write_dta(coded, folder / "t.dta", variable_value_labels={"city": book})
    return folder / "t.dta"


def stated(adjacency: str, source: Path) -> Schema:
    return described(Schema.parse(f'[table]\nname = "t"\n{STATED}'), adjacency)


def told_by_the_file(adjacency: str, source: Path) -> Schema:
    """Return a draft of a Stata file whose list of cities a code book declares; all else has public sources, too."""
    facts = {column.name: column for column in stated("rows", source)}
    changes: dict[str, dict[str, Any]] = {
        name: {"bounds": column.bounds, "edges": column.edges, "outside": "clamp", "missing": False, "decimals": None}
        for name, column in facts.items()
        if column.bounds
    }
    draft = Schema.draft(source).replace_columns({**changes, "city": {"outside": "missing", "missing": True}})
    named = dict.fromkeys(facts, "code book 2026")
    return described(draft.confirm(sources=named, by="custodian", on=dt.date(2026, 11, 18), person=False), adjacency)


def bought(adjacency: str, source: Path) -> Schema:
    """Buy the facts; the custodian knows that no number and no date is missing."""
    facts: dict[str, Any] = {"adjacency": "replace", "rows": ROWS} if adjacency == "replace" else {}
    if adjacency == "persons":
        facts = {"person": "who", "rows_per_person": PERSON_ROWS}
    schema = buy_schema(source, epsilon=12, delta="1e-6", by="custodian", ledger=False, **facts)
    return schema.replace_columns({column.name: {"missing": False} for column in schema if column.bounds})


def drafted(adjacency: str, source: Path) -> Schema:
    """Accept what the rows of the first table taught: the promise names it, and covers what is released on it."""
    draft = Schema.draft(source)
    changes = {column.name: {"outside": "clamp"} for column in draft if column.bounds}
    draft = draft.replace_columns({**changes, "city": {"outside": "missing", "missing": True}})
    return described(draft.confirm(accept_unchanged=True, by="custodian", person=False), adjacency)


ORIGIN: dict[str, Callable[[str, Path], Schema]] = {
    "stated": stated,
    "file": told_by_the_file,
    "bought": bought,
    "drafted": drafted,
}
FIRST_ALONE = ("file", "drafted")
"""Origins that take facts from a file of the first table; :func:`test_two_drafts` looks at those of two tables."""


@dataclass(frozen=True)
class Setting:
    """Two neighbouring tables, one after the other in the same file, and their schema."""

    folder: Path
    adjacency: str
    write: Callable[[pd.DataFrame, Path], Path]
    schemas: tuple[Schema, Schema]
    """By the first table and by the second."""

    def source(self, neighbour: bool) -> Path:
        return self.write(frame(self.adjacency, neighbour), self.folder)

    def compared(self, method: Any, **options: Any) -> list[str]:
        """Release both tables by the same answers; return what tells the bundles apart, and what was not charged."""
        one = replay.recorded(lambda: self._released(False, method, options))
        two = replay.forced(lambda: self._released(True, method, options), one)
        if one.error is not None or two.error is not None:
            return [] if one.ending == two.ending else [f"{one.ending}, and on the neighbour {two.ending}"]
        if not any(isinstance(step, replay.Noised | replay.Chosen | replay.Sealed) for step in one.steps):
            return ["no noise and no choice was drawn where the tape hears it"]
        allowed = replay.Loss.charged(one.result[1])
        seen = [{**run.result[0], "(warnings)": "\n".join(run.warned).encode()} for run in (one, two)]
        return replay.differences(*seen) + two.loss.above(allowed)

    def _released(self, neighbour: bool, method: Any, options: Mapping[str, Any]) -> tuple[dict[str, bytes], Any]:
        """Release one table and return all that is seen of it: files, and what the release says itself."""
        source, out = self.source(neighbour), self.folder / "bundle"
        for left in (out, self.folder / "ledger.db"):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
        schema = self.schemas[neighbour]
        book = Ledger(self.folder / "ledger.db")
        book.open_table(schema.name, epsilon=100, delta="1e-3", adjacency=schema.adjacency)
        made = sfumato.release(sfumato.read(source, schema), method, ledger=book, **options)
        made.save(out)
        said = {
            "guarantee": made.guarantee.statement(),
            "plan": made.plan.model_dump_json(),
            "notes": "\n".join(made.notes),
            "statistics": repr(made.statistics),
            "release": repr(made),
            "account": repr(made.account),
        }
        return {**replay.files_of(out), **{f"({key})": text.encode() for key, text in said.items()}}, made.events


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Setting]:
    """Return the tables of an origin and an adjacency with their schemas, which are made once."""

    @cache
    def of(origin: str, adjacency: str) -> Setting:
        folder = tmp_path_factory.mktemp(f"{origin}-{adjacency}")
        write = as_stata if origin == "file" else as_csv

        def described_by(neighbour: bool) -> Schema:
            return ORIGIN[origin](adjacency, write(frame(adjacency, neighbour), folder))

        one = replay.recorded(lambda: described_by(False))
        if origin in FIRST_ALONE:
            return Setting(folder, adjacency, write, (one.come(), one.come()))
        two = replay.forced(lambda: described_by(True), one)
        return Setting(folder, adjacency, write, (one.come(), two.come()))

    return of


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("name", FORMAL)
def test_a_bundle_of_a_neighbour_is_equal_byte_by_byte(name, origin, adjacency, setting):
    given = setting(origin, adjacency)
    method = example(name, given.schemas[0])
    try:
        sfumato.plan(given.schemas[0], method)
    except PlanError as refusal:
        assert (name, adjacency) in REFUSED, f"{name} refuses {adjacency}, from the schema alone: {refusal}"
        return
    found = given.compared(method)
    assert not found, "\n".join(found)


REFUSED = {("plausible-deniability", "persons"), ("pseudo-posterior", "persons")}
"""Methods that protect a row and say so of tables in which a person has several."""


def example(name: str, schema: Schema) -> Any:
    """Return the method as its own example runs it; a method that has none for this schema has no case here."""
    try:
        return FORMAL[name].cls.example(schema)
    except Exception as error:
        raise AssertionError(f"the example of {name} does not fit the table of this test: give it a case") from error
