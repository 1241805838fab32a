"""Every registered method passes the same tests: what a user may expect of any of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato import Ledger, Schema
from sfumato.errors import BudgetExceeded, DraftSchemaError, PlanError, SfumatoError, TableError
from sfumato.privacy import noise
from sfumato.privacy.accounting.event import Event
from sfumato.release.method import Method, MethodInfo
from sfumato.report.document import released_schema

METHODS = list(sfumato.methods().values())


@dataclasses.dataclass(frozen=True)
class Case:
    """One way to run a method: its example, or the example of its form without a guarantee."""

    info: MethodInfo
    make: Callable[[Schema], Method]

    def formal(self, schema) -> bool:
        return all(event.is_formal for event in sfumato.plan(schema, self.make(schema)).events)

    def columns(self, schema) -> list[str]:
        method = self.make(schema)
        return list(method.released_columns(schema) if hasattr(method, "released_columns") else schema.releasable)


def cases() -> list:
    """Every registered method, and what it can do without a guarantee."""
    found = [(info.name, Case(info, info.cls.example)) for info in METHODS]
    found += [
        (f"{info.name}, published", Case(info, info.cls.published_example))
        for info in METHODS
        if hasattr(info.cls, "published_example")
    ]
    return [pytest.param(case, id=name) for name, case in found]


each_method = pytest.mark.parametrize("case", cases())


def as_mapping(data) -> dict:
    return dict(data) if isinstance(data, sfumato.table.frames.Tables) else {("data",): data}


@pytest.fixture
def ledger(tmp_path, schema) -> Ledger:
    book = Ledger(tmp_path / "ledger.db")
    book.open_table(schema.name, epsilon=100, delta="1e-3", adjacency=schema.adjacency)
    return book


@each_method
def test_is_a_small_frozen_class_with_an_example(case: Case, schema):
    method = case.make(schema)
    assert isinstance(method, Method)
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.epsilon = 5
    assert case.info.summary
    assert case.info.cls.__doc__


@each_method
def test_plans_from_the_schema_alone(case: Case, schema):
    made = sfumato.plan(schema, case.make(schema))
    assert made.cells == sum(stage.cells for stage in made.stages) > 0
    assert made.memory_bytes > 0
    assert made.adjacency == schema.adjacency
    assert made.events
    assert json.loads(made.model_dump_json())["table"] == schema.name


@each_method
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_frames_come_back_in_the_kind_that_came_in(case: Case, kind, frame, schema):
    source = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "arrow": lambda: pa.Table.from_pandas(frame, preserve_index=False),
    }[kind]()
    made = sfumato.release(sfumato.read(source, schema), case.make(schema))
    expected = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table}[kind]
    assert all(isinstance(f, expected) for f in as_mapping(made.data).values())


@each_method
def test_schema_bounds_and_rules_are_kept(case: Case, frame, schema):
    rows = 400 if case.info.makes == "rows" else None
    made = sfumato.release(sfumato.read(frame, schema), case.make(schema), rows=rows)
    for data in as_mapping(made.data).values():
        if case.info.makes == "values":
            assert np.isfinite(data.select_dtypes("number")).all(axis=None)
        elif case.info.makes == "rows":
            assert list(data.columns) == case.columns(schema)
            left_out = {**made.statistics, **made.confidential}.get("rows_left_out_for_rules", 0)
            assert len(data) == (400 if case.formal(schema) else len(frame) - left_out)
            assert sfumato.read(data, released_schema(schema, data.columns)).check() == ()
        else:
            labelled = [c for c in data.columns if c != "count"]
            assert len(data) == np.prod(schema.shape(labelled))
            assert data["count"].dtype == np.int64
            for name in labelled:
                assert set(data[name].dropna()) <= set(schema[name].labels)


@each_method
def test_repeatable_when_seeded_and_not_otherwise(case: Case, frame, schema):
    table, method = sfumato.read(frame, schema), case.make(schema)

    def run(seed):
        return as_mapping(sfumato.release(table, method, seed=seed).data)

    first, again, other = run(7), run(7), run(8)
    assert all(first[k].equals(again[k]) for k in first)
    assert not all(first[k].equals(other[k]) for k in first)
    secure = [run(None), run(None)]
    assert not all(secure[0][k].equals(secure[1][k]) for k in secure[0])


@each_method
def test_seeded_runs_are_stamped(case: Case, frame, schema):
    made = sfumato.release(sfumato.read(frame, schema), case.make(schema), seed=7)
    assert "not for release" in made.stamp
    assert "NOT FOR RELEASE" in made.guarantee.statement()
    assert all(event.randomness == "seeded" for event in made.events)
    assert all("not for release" in f.attrs["sfumato"] for f in as_mapping(made.data).values())


@each_method
def test_the_event_is_recorded_before_noise_is_drawn(case: Case, frame, schema, ledger, monkeypatch):
    recorded_when_drawing: list[int] = []
    true_add = noise._add

    def spying(*arguments):
        recorded_when_drawing.append(len(ledger.history(schema.name)))
        return true_add(*arguments)

    if not case.formal(schema):
        pytest.skip("an exposure draws no noise of its own")
    monkeypatch.setattr(noise, "_add", spying)
    made = sfumato.release(sfumato.read(frame, schema), case.make(schema), ledger=ledger)
    assert recorded_when_drawing
    assert min(recorded_when_drawing) == len(made.events) == len(ledger.history(schema.name))


@each_method
def test_the_ledger_holds_what_the_release_says(case: Case, frame, schema, ledger):
    made = sfumato.release(sfumato.read(frame, schema), case.make(schema), ledger=ledger)
    assert tuple(entry.event for entry in ledger.history(schema.name)) == made.events
    assert made.guarantee.recorded
    if case.formal(schema):
        assert sum(event.cost[0] for event in made.events) == made.guarantee.exact_epsilon
    else:
        assert ledger.account(schema.name).spent_epsilon == "0"
        assert ledger.account(schema.name).exposures == len(made.events)
    assert all(Event.from_json(event.to_json()) == event for event in made.events)
    assert ledger.verify()


@each_method
def test_without_a_ledger_the_statement_says_so(case: Case, frame, schema):
    made = sfumato.release(sfumato.read(frame, schema), case.make(schema))
    assert "not recorded" in made.guarantee.statement()


@each_method
def test_a_refusal_spends_nothing(case: Case, frame, schema, tmp_path):
    small = Ledger(tmp_path / "small.db")
    small.open_table(schema.name, epsilon="0.001", adjacency=schema.adjacency)
    if case.formal(schema):
        with pytest.raises(BudgetExceeded):
            sfumato.release(sfumato.read(frame, schema), case.make(schema), ledger=small)
    broken = frame.copy()
    broken.loc[3, "age"] = 999
    rich = Ledger(tmp_path / "rich.db")
    rich.open_table(schema.name, epsilon=100, delta="1e-3", adjacency=schema.adjacency)
    with pytest.raises(TableError, match="age: 1 value outside"):
        sfumato.release(sfumato.read(broken, schema), case.make(schema), ledger=rich)
    assert small.history() == rich.history() == ()


@each_method
def test_a_draft_is_refused(case: Case, frame, schema):
    if not case.formal(schema):
        pytest.skip("exposures may use a draft")
    draft = dataclasses.replace(schema, is_draft=True)
    with pytest.raises(DraftSchemaError, match="confirm"):
        sfumato.release(sfumato.read(frame, draft), case.make(schema))


@each_method
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "much"])
def test_a_senseless_epsilon_is_refused_by_name(case: Case, epsilon, schema):
    if "epsilon" not in case.info.parameters:
        pytest.skip("has no epsilon")
    with pytest.raises(PlanError, match="epsilon"):
        dataclasses.replace(case.make(schema), epsilon=epsilon)


@each_method
def test_replace_costs_laplace_noise_of_twice_the_scale(case: Case, schema):
    if case.info.name not in ("histogram", "contingency", "marginals"):
        pytest.skip("counts under noise only; other methods state their own sensitivity under replace")
    replace = dataclasses.replace(schema, adjacency="replace", rows=600)
    method = case.make(schema)
    (ours,), (theirs,) = sfumato.plan(schema, method).events, sfumato.plan(replace, method).events
    for one, two in zip(ours.parts, theirs.parts, strict=True):
        assert two.sensitivity == 2 * one.sensitivity
        assert two.scale == pytest.approx(2 * one.scale)


@each_method
def test_saves_a_bundle_that_verifies(case: Case, frame, schema, ledger, tmp_path):
    from sfumato.report.verify import verify_bundle

    made = sfumato.release(sfumato.read(frame, schema), case.make(schema), ledger=ledger)
    check = verify_bundle(made.save(tmp_path / "bundle"), ledger)
    assert check.ok, check.problems


def test_the_statement_says_what_replace_costs(schema, frame):
    replace = dataclasses.replace(schema, adjacency="replace", rows=len(frame))
    made = sfumato.release(sfumato.read(frame, replace), sfumato.Histogram("age", epsilon=1))
    statement = made.guarantee.statement()
    assert "replacing one row" in statement
    assert "costs twice" in statement
    assert str(len(frame)) in statement


def test_what_is_not_a_method_is_refused(schema, frame):
    table = sfumato.read(frame, schema)
    for thing in ("contingency", sfumato.Histogram, None, 3):
        with pytest.raises(SfumatoError):
            sfumato.release(table, thing)
    with pytest.raises(PlanError, match="seed"):
        sfumato.release(table, sfumato.Histogram("age", epsilon=1), seed=-1)


def test_the_registry_is_what_is_exported():
    assert {info.cls.__name__ for info in METHODS} <= set(sfumato.__all__)
    assert isinstance(Schema, type)
