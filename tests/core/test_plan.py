"""Plans are written in one way: cost from the events, cells from the stages, adjacency and unit from the schema."""

from __future__ import annotations

import dataclasses

import pytest

import sfumato
from sfumato import (
    AIM,
    MST,
    Contingency,
    EntropyRelease,
    Grid,
    Histogram,
    Marginals,
    MeanCurve,
    PlausibleDeniability,
    Schema,
)
from sfumato.core.plan import ExposurePlan, Plan, Stage, event_facts
from sfumato.errors import AccountingError, PlanError
from sfumato.privacy.accounting.event import Event

SCHEMA = Schema.parse("""
[table]
name = "people"
person = "who"
rows_per_person = 2
[columns.who]
kind = "integer"
bounds = [0, 999]
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.height]
kind = "number"
bounds = [0, 250]
""")
ONE_ROW = dataclasses.replace(SCHEMA, rows_per_person=1)


def formal(epsilon: str, delta: str = "0", unit: str | None = None) -> Event:
    facts = event_facts("m", SCHEMA, "seeded") | ({} if unit is None else {"unit": unit})
    return Event(kind="declared" if delta == "0" else "gaussian", epsilon=epsilon, delta=delta, **facts)


def stage(cells: int) -> Stage:
    return Stage(name="s", cells=cells, noise="none", scale=1.0, epsilon="joint", share="1")


def test_a_plan_adds_up_its_events_and_its_stages():
    events = (formal("1/3", "1e-9"), formal("1/6", "1e-9"))
    made = Plan.for_("m", SCHEMA, [stage(3), stage(4)], events, 8, rows=5, notes=("n",))
    assert (made.epsilon, made.delta, made.cells) == ("0.5", "2e-09", 7)
    assert (made.method, made.table, made.adjacency, made.rows) == ("m", "people", "add-remove", 5)
    assert made.unit == "person (at most 2 rows)" and made.memory_bytes == 8 and made.notes == ("n",)
    assert made.events[0].randomness == "seeded"


def test_an_exposure_has_no_cost_and_says_what_it_does():
    made = Plan.exposure("m", SCHEMA, ExposurePlan("rows", 3, "as printed"), 8, "secure", ["heuristic"])
    assert (made.epsilon, made.delta, made.cells) == (None, "0", 3)
    assert [(event.kind, event.note) for event in made.events] == [("heuristic", "as printed")]
    assert made.stages[0].noise == "heuristic" and made.stages[0].epsilon == "none" and made.notes == ("heuristic",)


def test_one_exposure_among_formal_events_leaves_no_sum():
    loose = Event(kind="heuristic", **event_facts("m", SCHEMA, "secure"))
    assert Plan.for_("m", SCHEMA, (), (formal("1", "1e-6"), loose), 8).epsilon is None


def test_costs_for_different_units_are_not_added():
    with pytest.raises(AccountingError):
        Plan.for_("m", SCHEMA, (), (formal("1", "1e-6"), formal("1", "1e-6", "row")), 8)


CURVE = {"columns": ["age", "height"], "epsilon": 1, "rho": 0.1, "clip": 100}
DEFAULTS = {
    "histogram": (lambda **d: Histogram("age", 1, **d), "0"),
    "histogram, gaussian": (lambda **d: Histogram("age", 1, noise="gaussian", **d), "1e-09"),
    "contingency": (lambda **d: Contingency(["age"], 1, **d), "0"),
    "marginals": (lambda **d: Marginals(1, ["age", "height"], **d), "0"),
    "entropy": (lambda **d: EntropyRelease("age", 1, rows_at_least=100, **d), "0"),
    "grid": (lambda **d: Grid(["age"], 1, **d), "0"),
    "mean-curve": (lambda **d: MeanCurve(**CURVE, **d), "1e-06"),
    "plausible-deniability": (lambda **d: PlausibleDeniability(20, columns=["age"], **d), "1e-06"),
    "aim": (lambda **d: AIM(1, **d), "1e-09"),
    "mst": (lambda **d: MST(1, **d), "1e-09"),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_no_delta_is_the_methods_own_and_the_plan_shows_it(name):
    make, expected = DEFAULTS[name]
    assert make().delta is None and make(delta=None) == make()
    assert sfumato.plan(ONE_ROW, make()).delta == expected
    assert sfumato.plan(ONE_ROW, make()) == sfumato.plan(ONE_ROW, make(delta=expected))


@pytest.mark.parametrize("delta", [0, "0", 0.0])
@pytest.mark.parametrize("name", ["histogram", "contingency", "marginals", "entropy", "grid"])
def test_zero_is_pure_where_that_is_possible(name, delta):
    assert sfumato.plan(ONE_ROW, DEFAULTS[name][0](delta=delta)).delta == "0"


@pytest.mark.parametrize("name", ["histogram, gaussian", "mean-curve", "plausible-deniability", "aim", "mst"])
def test_zero_is_refused_where_noise_needs_a_delta(name):
    with pytest.raises(PlanError, match="delta"):
        DEFAULTS[name][0](delta=0)


@pytest.mark.parametrize("name", ["entropy", "grid"])
def test_pure_methods_refuse_a_delta(name):
    with pytest.raises(PlanError, match="delta is 0 here"):
        DEFAULTS[name][0](delta="1e-6")


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("delta", [-1, 1, "x", True, float("nan")])
def test_senseless_deltas_are_refused(name, delta):
    with pytest.raises(PlanError, match="delta"):
        DEFAULTS[name][0](delta=delta)
