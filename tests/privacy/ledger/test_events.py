"""Events are checked before they are recorded, against what their parts cost; a refusal leaves no trace."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato import errors
from sfumato.privacy.accounting.accountant import basic_composition, compose
from sfumato.privacy.accounting.composition import SELECTIONS_PART
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.gaussian_calibration import certified_discrete_parts
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger.chain import PendingRow, append
from sfumato.schema import Schema

FACTS: dict[str, Any] = {"method": "m", "table": "people", "adjacency": "add-remove"}
LAPLACE = Event(kind="discrete-laplace", epsilon="0.5", parts=(EventPart(stage="age", cells=3, scale=2.0),), **FACTS)
UNIT = "the value of y in one row"


def part(scale: float, **changes: Any) -> EventPart:
    return EventPart(**{"stage": "age", "cells": 3, "scale": scale, **changes})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    opened = Ledger(tmp_path / "L")
    opened.open_table("people", epsilon=5, delta="1e-3")
    return opened


UNSOUND = {
    "epsilon below 0": LAPLACE.model_copy(update={"epsilon": "-9"}),
    "a number instead of text": LAPLACE.model_copy(update={"epsilon": -9}),
    "no epsilon": LAPLACE.model_copy(update={"epsilon": None}),
    "delta below 0": LAPLACE.model_copy(update={"delta": "-1"}),
    "unknown kind": LAPLACE.model_copy(update={"kind": "magic"}),
    "unknown adjacency": LAPLACE.model_copy(update={"adjacency": "swap"}),
    "parts that are none": LAPLACE.model_copy(update={"parts": ({"scale": 1},)}),
    "no event": "an event",
    "cost of nothing": LAPLACE.model_copy(update={"epsilon": "0"}),
    "cost of nothing, declared": Event(kind="declared", epsilon="0", **FACTS),
    "noise without parts": LAPLACE.model_copy(update={"parts": ()}),
    "Laplace noise too small": Event(kind="discrete-laplace", epsilon="0.001", parts=(part(1.0),), **FACTS),
    "tiny noise": Event(kind="discrete-laplace", epsilon="1", parts=(part(1e-9),), **FACTS),
    "a scale below 0": Event(kind="discrete-laplace", epsilon="1", parts=(part(2.0), part(-2.0)), **FACTS),
    "no sensitivity": Event(kind="discrete-laplace", epsilon="1", parts=(part(0.1, sensitivity=0),), **FACTS),
    "an endless scale": Event(kind="laplace", epsilon="1", parts=(part(float("inf")),), **FACTS),
    "two parts, one paid": Event(kind="laplace", epsilon="1", parts=(part(1.0), part(1.0)), **FACTS),
    "Gaussian noise without delta": Event(kind="discrete-gaussian", epsilon="1", parts=(part(100.0),), **FACTS),
    "Gaussian noise too small": Event(kind="discrete-gaussian", epsilon="1", delta="1e-6", parts=(part(4.0),), **FACTS),
    "tiny Gaussian noise": Event(kind="discrete-gaussian", epsilon="1", delta="1e-6", parts=(part(1e-200),), **FACTS),
    "continuous noise too small": Event(kind="gaussian", epsilon="1", delta="1e-6", parts=(part(4.2),), **FACTS),
    "lattice without delta": Event(kind="lattice-gaussian", epsilon="0.001", parts=(part(0.1),), **FACTS),
    "lattice too small": Event(
        kind="lattice-gaussian", epsilon="1", delta="1e-6", parts=(part(4e6, sensitivity=1_000_000),), **FACTS
    ),
    "choices too strong": Event(
        kind="gaussian-and-choices",
        epsilon="1",
        delta="1e-6",
        parts=(part(10.0), part(0.5, stage=SELECTIONS_PART)),
        **FACTS,
    ),
    "noise beside choices too small": Event(
        kind="gaussian-and-choices",
        epsilon="1",
        delta="1e-6",
        parts=(part(3.0), part(50, stage=SELECTIONS_PART)),
        **FACTS,
    ),
    "tiny noise beside choices": Event(
        kind="gaussian-and-choices",
        epsilon="1",
        delta="1e-6",
        parts=(part(1e-200), part(1e-200, stage=SELECTIONS_PART)),
        **FACTS,
    ),
    "posterior too strong": Event(kind="clipped-posterior", epsilon="1", parts=(part(1.0, cells=2),), **FACTS),
    "privacy test without delta": Event(kind="plausible-deniability", epsilon="1", parts=(part(1.0),), **FACTS),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_an_event_that_cannot_cost_so_little_is_refused_and_nothing_is_written(ledger: Ledger, name: str) -> None:
    before = ledger.export()
    for call in (ledger.check, ledger.spend):
        with pytest.raises(
            errors.AccountingError, match=r"recorded|less than nothing|unknown event kind|cannot be|no epsilon"
        ):
            call("people", [LAPLACE, UNSOUND[name]])  # type: ignore[list-item]
    assert ledger.export() == before
    assert ledger.verify()


SOUND = {
    "laplace": LAPLACE,
    "declared": Event(kind="declared", epsilon="0.1", **FACTS),
    "zero-concentrated": Event(kind="zero-concentrated", epsilon="0.1", delta="1e-6", **FACTS),
    "gaussian": Event(kind="gaussian", epsilon="1", delta="1e-6", parts=(part(4.23),), **FACTS),
    "huge noise": Event(kind="discrete-gaussian", epsilon="1", delta="1e-6", parts=(part(1e12),), **FACTS),
    "clipped": Event(kind="clipped-posterior", epsilon="1", parts=(part(2.0, cells=2),), **FACTS),
    "exposure": Event(kind="heuristic", **FACTS),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_covers_its_cost_is_admitted(ledger: Ledger, name: str) -> None:
    (entry,) = ledger.spend("people", SOUND[name])
    assert entry.event == SOUND[name]
    assert ledger.verify()


def test_a_certified_table_is_admitted_and_one_with_less_noise_is_not(ledger: Ledger) -> None:
    parts = certified_discrete_parts([part(1.0), part(1.0, changed_cells=2)], [0.5, 0.5], 1.0, 1e-6)
    sound = Event(kind="discrete-gaussian", epsilon="1", delta="1e-6", parts=parts, **FACTS)
    ledger.spend("people", sound)
    less = [each.model_copy(update={"scale": each.scale * 0.98}) for each in parts]
    with pytest.raises(
        errors.AccountingError, match="noise of age, age is too small for its epsilon, 1 at delta 1e-06"
    ):
        ledger.spend("people", sound.model_copy(update={"parts": tuple(less)}))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("name", sfumato.methods())
def test_every_method_states_what_its_parts_cost(name: str, adjacency: str, schema: Schema) -> None:
    facts = dataclasses.replace(schema, adjacency=adjacency, rows=600 if adjacency == "replace" else None)
    method = sfumato.methods()[name].cls.example(facts)
    for event in sfumato.plan(facts, method).events:
        assert understated_cost(event) is None
        assert understated_cost(event, thorough=False) is None
        if event.kind in ("heuristic", "asymptotic", "plausible-deniability"):
            continue
        less = tuple(each.model_copy(update={"scale": each.scale * 0.9}) for each in event.parts)
        assert "too small" in str(understated_cost(event.model_copy(update={"parts": less})))


def test_verify_finds_an_event_that_went_past_the_check(ledger: Ledger) -> None:
    with ledger._store.write() as connection:
        account = ledger.account("people")
        after = account.plus([UNSOUND["tiny noise"]])
        append(
            connection, {"people": account}, [PendingRow("event", after, {"event": UNSOUND["tiny noise"].model_dump()})]
        )
        connection.exec_driver_sql("UPDATE sfumato_ledger_accounts SET spent_epsilon = '1', events = 1, unit = 'row'")
    (problem,) = ledger.verify().problems
    assert problem.startswith("row 2 does not cover its cost: the noise of age is too small")


def test_units_are_never_added(ledger: Ledger) -> None:
    column = Event(kind="declared", epsilon="1", unit=UNIT, **FACTS)
    ledger.spend("people", LAPLACE)
    for call in (ledger.check, ledger.spend):
        with pytest.raises(errors.LedgerError, match=f"different units do not add up: 'row' and '{UNIT}'"):
            call("people", column)
    for add in (basic_composition, compose):
        with pytest.raises(errors.AccountingError, match="different unit"):
            add([LAPLACE, column])
    other = Ledger(Path(ledger._store.path or "").with_name("M"))
    other.open_table("people", epsilon=5)
    other.spend("people", column)
    assert other.account("people").unit == UNIT
    with pytest.raises(errors.LedgerError, match="do not add up"):
        other.spend("people", LAPLACE)


@pytest.mark.parametrize(
    "amount", [10**400, 10**5000, Fraction(10**400, 3), -(10**400)], ids=["long", "longer", "fraction", "below 0"]
)
def test_endless_amounts_are_named(ledger: Ledger, amount: Any) -> None:
    for call in (lambda: ledger.spend("people", epsilon=amount), lambda: ledger.open_table("new", epsilon=amount)):
        with pytest.raises(errors.PlanError, match=r"found one of 10\^300 or more"):
            call()
    with pytest.raises(errors.PlanError, match="delta must be"):
        ledger.spend("people", epsilon=1, delta=amount)
    assert ledger.verify().entries == 1


def test_a_sum_that_could_not_be_read_back_is_refused(ledger: Ledger) -> None:
    ledger.spend("people", epsilon=Fraction(1, 7**500))
    with pytest.raises(errors.LedgerError, match="too many digits"):
        ledger.spend("people", epsilon=Fraction(1, 11**500))
    ledger.spend("people", epsilon=1)
    assert ledger.verify()


def test_a_note_must_be_text(ledger: Ledger) -> None:
    with pytest.raises(errors.LedgerError, match="a note must be text"):
        ledger.spend("people", epsilon=1, note=5)  # type: ignore[arg-type]
