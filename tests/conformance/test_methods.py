"""Every registered method passes the same tests: what a user may expect of any of them.

Tests that only look at a release share it: one that is recorded, one without a ledger, and those of each seed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato import Ledger, Schema
from sfumato.bundle.document import released_schema
from sfumato.core.build_method import build_method
from sfumato.core.method import Method, MethodInfo, parameters_of, published_methods
from sfumato.core.registry import AS_PUBLISHED
from sfumato.errors import (
    BudgetExceeded,
    DraftSchemaError,
    LedgerError,
    PlanError,
    SfumatoError,
    TableError,
)
from sfumato.privacy import noise
from sfumato.privacy.accounting.event import Event
from standards import check_standards

METHODS = [*sfumato.methods().values(), *published_methods().values()]


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A registered method, or what a paper printed beside it, as its own example runs it."""

    info: MethodInfo

    def make(self, schema: Schema) -> Method:
        return self.info.cls.example(schema)

    @property
    def formal(self) -> bool:
        return bool(self.info.formal)

    @property
    def rows(self) -> int | None:
        return 400 if self.info.makes == "rows" else None

    def columns(self, schema) -> list[str]:
        method = self.make(schema)
        return list(method.released_columns(schema) if hasattr(method, "released_columns") else schema.releasable)


CASES = [Case(info) for info in METHODS]
each_method = pytest.mark.parametrize("case", CASES, ids=lambda case: case.info.name)


def as_mapping(data) -> dict:
    return dict(data) if isinstance(data, sfumato.table.writing.frames.ReleasedTables) else {("data",): data}


FRAMES = {
    "pandas": (lambda frame: frame, pd.DataFrame),
    "polars": (pl.from_pandas, pl.DataFrame),
    "arrow": (lambda frame: pa.Table.from_pandas(frame, preserve_index=False), pa.Table),
}


def other_kind(case: Case) -> str:
    """Return the kind of frame besides pandas that a method is tried with."""
    return ("polars", "arrow")[CASES.index(case) % 2]


def book_for(schema: Schema, folder: Path) -> Ledger:
    book = Ledger(folder / "ledger.db")
    book.open_table(schema.name, epsilon=100, delta="1e-3", adjacency=schema.adjacency)
    return book


@dataclasses.dataclass(frozen=True)
class Recorded:
    """A release with a ledger of its own, and how many events stood in it whenever noise was drawn."""

    release: sfumato.Release
    ledger: Ledger
    entries_when_drawing: tuple[int, ...]


@pytest.fixture(scope="module")
def recorded(frame, schema, tmp_path_factory) -> Callable[[Case], Recorded]:
    """Return the recorded release of a method: 400 rows where it makes rows."""

    @cache
    def of(case: Case) -> Recorded:
        ledger = book_for(schema, tmp_path_factory.mktemp(case.info.name))
        with heard(ledger) as entries:
            made = sfumato.release(sfumato.read(frame, schema), case.make(schema), ledger=ledger, rows=case.rows)
        return Recorded(made, ledger, tuple(entries))

    return of


@contextmanager
def heard(ledger: Ledger) -> Iterator[list[int]]:
    """Count the entries of a ledger whenever noise is drawn."""
    entries: list[int] = []
    true_add = noise._add

    def spying(*arguments):
        entries.append(len(ledger.history()))
        return true_add(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "_add", spying)
        yield entries


@pytest.fixture(scope="module")
def unrecorded(frame, schema) -> Callable[..., sfumato.Release]:
    """Return the release of a method without a ledger: with secure noise and 400 rows, or with a seed."""

    @cache
    def of(case: Case, kind: str, seed: int | None = None) -> sfumato.Release:
        table, rows = sfumato.read(FRAMES[kind][0](frame), schema), case.rows if seed is None else None
        return sfumato.release(table, case.make(schema), seed=seed, rows=rows)

    return of


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
    assert all(event.is_formal == case.formal for event in made.events)
    assert json.loads(made.model_dump_json())["table"] == schema.name


def frames_by_method() -> list:
    """Return every method with each kind of frame; ``make test`` takes pandas, and the two others in turn."""
    return [
        pytest.param(
            case,
            kind,
            id=f"{kind}-{case.info.name}",
            marks=[pytest.mark.thorough] * (kind not in ("pandas", other_kind(case))),
        )
        for case in CASES
        for kind in FRAMES
    ]


@pytest.mark.parametrize(("case", "kind"), frames_by_method())
def test_frames_come_back_in_the_kind_that_came_in(case: Case, kind, recorded, unrecorded):
    made = recorded(case).release if kind == "pandas" else unrecorded(case, kind)
    assert all(isinstance(f, FRAMES[kind][1]) for f in as_mapping(made.data).values())


@each_method
def test_schema_bounds_and_rules_are_kept(case: Case, frame, schema, recorded):
    made = recorded(case).release
    for data in as_mapping(made.data).values():
        if case.info.makes == "values":
            assert np.isfinite(data.select_dtypes("number")).all(axis=None)
        elif case.info.makes == "rows":
            assert list(data.columns) == case.columns(schema)
            left_out = {**made.statistics, **made.confidential}.get("rows_left_out_for_rules", 0)
            assert len(data) == (400 if case.formal else len(frame) - left_out)
            assert sfumato.read(data, released_schema(schema, data.columns)).check() == ()
        else:
            labelled = [c for c in data.columns if c != "count"]
            assert len(data) == np.prod(schema.shape(labelled))
            assert data["count"].dtype == np.int64
            for name in labelled:
                assert set(data[name].dropna()) <= set(schema[name].labels)


@each_method
def test_repeatable_when_seeded_and_not_otherwise(case: Case, recorded, unrecorded):
    """Of two runs alike one gets the rows in another kind of frame."""
    ways = ("pandas", 7), ("arrow", 7), ("pandas", 8)
    first, again, other = (unrecorded(case, *way).tables for way in ways)
    assert all(first[k].equals(again[k]) for k in first)
    assert not all(first[k].equals(other[k]) for k in first)
    secure = recorded(case).release.tables, unrecorded(case, other_kind(case)).tables
    assert not all(secure[0][k].equals(secure[1][k]) for k in secure[0])


@each_method
def test_seeded_runs_are_stamped(case: Case, unrecorded):
    made = unrecorded(case, "pandas", 7)
    assert "not for release" in made.stamp
    assert "NOT FOR RELEASE" in made.guarantee.statement()
    assert all(event.randomness == "seeded" for event in made.events)
    assert all("not for release" in f.attrs["sfumato"] for f in as_mapping(made.data).values())


@each_method
def test_nothing_is_handed_out_that_is_not_recorded(case: Case, frame, schema, recorded, tmp_path, monkeypatch):
    """A formal event is recorded before noise is drawn; an exposure, which has no budget to lose, before it leaves."""
    whole = recorded(case)
    assert bool(whole.entries_when_drawing) == case.formal
    assert all(count == len(whole.release.events) for count in whole.entries_when_drawing)
    assert len(whole.release.events) == len(whole.ledger.history(schema.name))

    def broken(*arguments, **named):
        raise LedgerError("the ledger cannot be written", next_step="mend it")

    ledger = book_for(schema, tmp_path)
    monkeypatch.setattr(Ledger, "spend", broken)
    with heard(ledger) as entries, pytest.raises(LedgerError):
        sfumato.release(sfumato.read(frame, schema), case.make(schema), ledger=ledger)
    assert not entries


@each_method
def test_the_ledger_holds_what_the_release_says(case: Case, schema, recorded):
    made, ledger = recorded(case).release, recorded(case).ledger
    assert tuple(entry.event for entry in ledger.history(schema.name)) == made.events
    assert made.guarantee.recorded
    if case.formal:
        assert sum(event.cost[0] for event in made.events) == made.guarantee.exact_epsilon
    else:
        assert ledger.account(schema.name).spent_epsilon == "0"
        assert ledger.account(schema.name).exposures == len(made.events)
    assert all(Event.from_json(event.to_json()) == event for event in made.events)
    assert ledger.verify()


@each_method
def test_without_a_ledger_the_statement_says_so(case: Case, unrecorded):
    assert "not recorded" in unrecorded(case, other_kind(case)).guarantee.statement()


@each_method
def test_a_refusal_spends_nothing(case: Case, frame, schema, tmp_path):
    small = Ledger(tmp_path / "small.db")
    small.open_table(schema.name, epsilon="0.001", adjacency=schema.adjacency)
    if case.formal:
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
def test_a_draft_is_refused_where_a_promise_would_rest_on_it(case: Case, frame, schema):
    draft = sfumato.read(frame, dataclasses.replace(schema, is_draft=True))
    if case.formal:
        with pytest.raises(DraftSchemaError, match="confirm"):
            sfumato.release(draft, case.make(schema))
    else:
        assert not sfumato.release(draft, case.make(schema)).guarantee.formal


@each_method
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "much"])
def test_a_senseless_epsilon_is_refused_by_name(case: Case, epsilon, schema):
    """Also from the command line, where what has no epsilon says so."""
    if case.formal or "epsilon" in case.info.parameters:
        with pytest.raises(PlanError, match="epsilon"):
            dataclasses.replace(case.make(schema), epsilon=epsilon)
    with pytest.raises(PlanError, match="epsilon"):
        build_method(case.info.name, settings_of(case.make(schema)), str(epsilon), None)


def settings_of(method: Method) -> list[str]:
    """Return the parameters of a method, but epsilon and delta, as the command line takes them."""
    given = {key: value for key, value in parameters_of(method).items() if key not in ("epsilon", "delta")}
    return [f"{key}={_text(value)}" for key, value in given.items() if value is not None]


def _text(value) -> str:
    return json.dumps(value) if isinstance(value, tuple | list | dict) else str(value)


@each_method
def test_replace_never_costs_less_than_adding_or_removing(case: Case, schema):
    """Every sensitivity under replace is at least that under add-remove; counts of whole tables have exactly twice."""
    replace = dataclasses.replace(schema, adjacency="replace", rows=600)
    one, two = (sfumato.plan(facts, case.make(schema)) for facts in (schema, replace))
    assert all(event.adjacency == "replace" for event in two.events)
    assert (one.epsilon, one.delta) == (two.epsilon, two.delta)
    for ours, theirs in zip(one.events, two.events, strict=True):
        for part, other in zip(ours.parts, theirs.parts, strict=True):
            if part.sensitivity is not None:
                assert other.sensitivity >= part.sensitivity
                assert other.scale >= part.scale or case.info.makes == "values"
            if case.info.name in ("histogram", "contingency", "marginals"):
                assert other.sensitivity == 2 * part.sensitivity
                assert other.scale == pytest.approx(2 * part.scale)


@each_method
def test_saves_a_bundle_that_verifies_and_that_other_programs_read(case: Case, recorded, tmp_path, shared_schemas):
    """Croissant, Frictionless and the registry of deployments, each by the program or the schema that reads it."""
    from sfumato.bundle.verify import verify_bundle

    made, ledger = recorded(case).release, recorded(case).ledger
    bundle = made.save(tmp_path / "bundle")
    check = verify_bundle(bundle, ledger)
    assert check.ok, check.problems
    found = check_standards(bundle, shared_schemas)
    assert found["registry"]["tier"] == (3 if case.formal else 1)
    assert ("variant_name" in found["registry"]["deployment"]["dp_variant"]) == case.formal
    tables = list(made.tables.values())
    assert [task.stats["rows"] for task in found["datapackage"].tasks] == [table.num_rows for table in tables]
    sets = found["croissant"].metadata.record_sets[: len(tables)]
    assert [[field.name for field in each.fields] for each in sets] == [table.column_names for table in tables]


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
    assert {info.cls.__name__ for info in sfumato.methods().values()} <= set(sfumato.__all__)


def test_what_a_paper_printed_stands_beside_its_formal_sibling():
    for name, info in published_methods().items():
        formal = sfumato.methods()[name.removesuffix(AS_PUBLISHED)]
        assert formal.formal
        assert not info.formal
        assert formal.cls.as_published is info.cls


def test_no_method_changes_its_promise_by_a_parameter():
    assert {info.formal for info in METHODS} <= {True, False}
    assert isinstance(Schema, type)
