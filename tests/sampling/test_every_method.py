"""One system keeps rules for every method that draws rows: an equation between columns costs no variety."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Schema
from sfumato.constraints import draw_rows
from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.repair import RepairedRows
from sfumato.core.method import Method, published_methods
from sfumato.errors import PlanError
from sfumato.sampling.values import Values, overwrite_rows, rows_at
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

ROWS = 500
NAMES = ("a", "b", "total")
METHODS = [name for name, info in sfumato.methods().items() if info.makes == "rows"]
PUBLISHED = [name for name, info in published_methods().items() if info.makes == "rows"]
SETTINGS: dict[str, dict[str, Any]] = {
    "grid": {"columns": NAMES},
    "cluster-geometry": {"columns": NAMES},
    "two-stage": {"target": "total", "inputs": ("a", "b")},
    "pseudo-posterior": {"predictors": ("b", "total")},
    "plausible-deniability": {"epsilon": None, "k": 50, "gamma": 4, "epsilon0": 1, "delta": "1e-9"},
}
"""Examples take few columns; here each method gets all three that the rule binds. Searching k for 500 rows is slow."""


def schema_of(kind: Any, *checks: str) -> Schema:
    bounds = {"a": (0, 1000), "b": (0, 1000), "total": (0, 2000)}
    columns = tuple(Column(name, kind, bounds=bounds[name]) for name in NAMES)
    return Schema("sums", columns, rules=tuple(Rule(check) for check in checks or ("a + b == total",)))


def frame_of(kind: str, rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    a, b = rng.gamma(2, 100, rows).clip(0, 1000), rng.uniform(0, 1000, rows)
    decimals = 0 if kind == "integer" else 2
    a, b = a.round(decimals), b.round(decimals)
    whole = np.int64 if kind == "integer" else float
    return pd.DataFrame({"a": a, "b": b, "total": a + b}).astype(whole)


def method_of(name: str, schema: Schema) -> Method:
    example: Any = sfumato.methods()[name].cls.example(schema)
    return dataclasses.replace(example, **SETTINGS.get(name, {}))


def released(name: str, kind: str) -> sfumato.Release:
    schema = schema_of(kind)
    table, method = sfumato.read(frame_of(kind), schema), method_of(name, schema)
    return sfumato.release(table, method, rows=ROWS, seed=5, ledger=False, allow_weak=True)


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("name", METHODS)
def test_an_equation_is_kept_and_rows_stay_different(name: str, kind: str):
    made = released(name, kind)
    assert list(made.data.columns) == list(NAMES)
    assert len(made.data) == ROWS
    assert (made.data["a"] + made.data["b"] == made.data["total"]).all()
    assert len(made.data.drop_duplicates()) >= 450
    assert made.statistics["rows_repaired_for_rules"]["a + b == total"] > 400
    assert made.statistics["rows_replaced_for_rules"] == 0
    assert not [note for note in made.notes if "rules" in note]


def copied(schema: Schema, values: Values, generator: np.random.Generator) -> RepairedRows:
    """The old way: what redrawing leaves broken becomes a copy of the few rows that keep the rules."""
    kept = keeps_rules(schema, values)
    good, bad = np.flatnonzero(kept), np.flatnonzero(~kept)
    own = {name: (data.copy(), missing.copy()) for name, (data, missing) in values.items()}
    overwrite_rows(own, bad, rows_at(own, generator.choice(good, len(bad))))
    return RepairedRows(own, {rule.check: len(bad) for rule in schema.rules}, len(bad))


def test_a_fallback_that_copies_rows_is_caught_and_says_so(monkeypatch: pytest.MonkeyPatch):
    """The mutant keeps the rule with a handful of rows, and the release tells its reader."""
    monkeypatch.setattr(draw_rows, "repair", copied)
    made = released("marginals", "integer")
    assert (made.data["a"] + made.data["b"] == made.data["total"]).all()
    assert len(made.data.drop_duplicates()) < 50
    assert any("few different rows" in note for note in made.notes)
    assert any("values of other rows" in note for note in made.notes)


@pytest.mark.parametrize("name", METHODS)
def test_rules_that_no_row_keeps_are_refused_in_the_same_words(name: str):
    schema = schema_of("number", "a + b == total", "total > a + b")
    with pytest.raises(PlanError) as caught:
        sfumato.plan(schema, method_of(name, schema))
    assert list(caught.value.problems) == ["no row keeps 'a + b == total' and 'total > a + b' at once"]


SCORES = {score: ("low", "middle", "high")[min(score // 4, 2)] for score in range(11)}
DEPENDENT = {
    "grid": {"columns": ("score", "part")},
    "cluster-geometry": {"columns": ("score", "part", "age")},
    "two-stage": {"target": "part", "inputs": ("score", "age")},
    "pseudo-posterior": {"target": "part", "family": "normal", "predictors": ("score", "age")},
    "plausible-deniability": {"epsilon": None, "k": 50, "gamma": 4, "epsilon0": 1, "delta": "1e-9"},
}


def scored(mapped: bool) -> tuple[Schema, pd.DataFrame]:
    """Scores, their text, and a whole part of them: the last two are functions of the first."""
    columns = (
        Column("score", "integer", bounds=(0, 10)),
        Column("text", "category", values=("low", "middle", "high")),
        Column("part", "integer", bounds=(0, 5)),
        Column("age", "integer", bounds=(0, 99)),
    )
    maps = {"text": SCORES, "part": {score: score // 2 for score in range(11)}}
    rules = tuple(Rule(f"score determines {name}", maps[name] if mapped else None) for name in maps)
    rng = np.random.default_rng(8)
    score = rng.binomial(10, 0.4, 2000)
    frame = pd.DataFrame({"score": score, "part": score // 2, "age": (score * 8 + rng.integers(0, 19, 2000)) % 100})
    return Schema("scores", columns, rules=rules), frame.assign(text=frame["score"].map(SCORES))


@pytest.mark.parametrize("mapped", [True, False], ids=["map", "no-map"])
@pytest.mark.parametrize("name", [*METHODS, *PUBLISHED])
def test_a_determined_column_is_a_function_in_every_release(name: str, mapped: bool):
    schema, frame = scored(mapped)
    example: Any = {**sfumato.methods(), **published_methods()}[name].cls.example(schema)
    known = {field.name for field in dataclasses.fields(example)}
    wanted = DEPENDENT.get(name.removesuffix("-as-published"), {})
    method = dataclasses.replace(example, **{key: value for key, value in wanted.items() if key in known})
    rows = ROWS if name in METHODS else None
    made = sfumato.release(sfumato.read(frame, schema), method, rows=rows, seed=3, ledger=False, allow_weak=True)
    tables = (
        dict(made.data) if isinstance(made.data, sfumato.table.writing.frames.ReleasedTables) else {"all": made.data}
    )
    found = pd.concat(tables.values())
    dependent = [target for target in ("text", "part") if target in found]
    assert dependent and "score" in found, "each method is given what a rule binds"
    truth = {"text": found["score"].map(SCORES), "part": found["score"] // 2}
    for target in dependent:
        assert (found.groupby("score")[target].nunique() == 1).all()
        assert not mapped or (found[target] == truth[target]).all()
    assert found["score"].nunique() > 3


@pytest.mark.parametrize("name", ["marginals", "aim"])
def test_a_release_says_where_the_rules_leave_few_rows(name: str):
    columns = (Column("a", "number", bounds=(0, 100)), Column("b", "integer", bounds=(0, 99)))
    schema = Schema("t", columns, rules=(Rule("a == 7"), Rule("b in [1, 2]")))
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": np.full(400, 7.0), "b": rng.integers(1, 3, 400)})
    made = sfumato.release(sfumato.read(frame, schema), method_of(name, schema), rows=100, seed=2, ledger=False)
    assert len(made.data.drop_duplicates()) <= 2
    assert len([note for note in made.notes if "few different rows" in note]) == 1


# plausible deniability draws as sample_rows does (test_lattice), and takes ten seconds for it
@pytest.mark.parametrize("name", [name for name in METHODS if name != "plausible-deniability"])
def test_every_method_makes_values_in_the_form_of_their_columns(name: str):
    """Multiples of 10 and of 25, and whole numbers that are drawn as numbers; the rule is kept by such values."""
    forms: dict[str, dict[str, Any]] = {"a": {"step": 10}, "b": {"step": 25}, "total": {"decimals": 0}}
    plain = schema_of("number", "total >= a")
    columns = tuple(dataclasses.replace(column, **forms[column.name]) for column in plain)
    schema, frame = dataclasses.replace(plain, columns=columns), frame_of("number", 1000)
    frame = pd.DataFrame({"a": frame["a"].round(-1), "b": frame["b"] // 25 * 25, "total": frame["total"].round()})
    frame["total"] = frame[["a", "total"]].max(axis=1)
    made = sfumato.release(
        sfumato.read(frame, schema), method_of(name, schema), rows=200, seed=5, ledger=False, allow_weak=True
    )
    assert (made.data["total"] >= made.data["a"]).all()
    for column, step in {"a": 10, "b": 25, "total": 1}.items():
        assert (made.data[column] % step == 0).all(), column
        assert made.data[column].nunique() > 5, column
