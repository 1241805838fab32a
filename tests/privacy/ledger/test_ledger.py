"""The ledger: caps are exact, and refusals leave no trace."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato import errors
from sfumato.privacy.accounting import accountant
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.exact import round_up, to_fraction
from sfumato.privacy.ledger import Ledger


def event(epsilon: Any = "0.1", **changes: Any) -> Event:
    formal = {"kind": "discrete-laplace", "method": "histogram", "table": "people", "adjacency": "add-remove"}
    scale = round_up(1 / to_fraction(epsilon)) if epsilon else 1.0
    return Event(**{**formal, "epsilon": epsilon, "parts": (EventPart(stage="age", cells=3, scale=scale),), **changes})


def exposure(**changes: Any) -> Event:
    return event(None, kind="heuristic", method="range-restriction", **changes)


def test_fifty_tenths_fill_a_cap_of_five(basic_ledger: Ledger) -> None:
    ledger = basic_ledger
    for _ in range(50):
        ledger.spend("people", epsilon=0.1)
    assert ledger.account("people").left_epsilon == "0"
    with pytest.raises(errors.BudgetExceeded) as refused:
        ledger.spend("people", epsilon=0.1)
    assert "epsilon: cap 5, spent 5, asked 0.1, left 0" in str(refused.value)
    assert "Next step" in str(refused.value)


def test_delta_is_capped_exactly_too(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=100, delta="3e-7")
    for _ in range(3):
        ledger.spend("people", epsilon=1, delta=1e-7)
    with pytest.raises(errors.BudgetExceeded, match="delta: cap 3e-07, spent 3e-07, asked 1e-07, left 0"):
        ledger.check("people", epsilon=1, delta=1e-7)
    assert ledger.check("people", epsilon=97).spent_delta == "3e-07"


def test_a_refusal_leaves_no_trace(ledger: Ledger) -> None:
    ledger.spend("people", [event(), exposure()])
    before = json.dumps(ledger.export())
    refused = [[event(3), event(3)], [exposure(), event("4.91")], event(adjacency="replace")]
    for events in refused:
        with pytest.raises(errors.SfumatoError):
            ledger.spend("people", events)
    assert json.dumps(ledger.export()) == before
    assert ledger.verify()


def test_a_check_records_nothing(ledger: Ledger) -> None:
    head = ledger.head()
    assert ledger.check("people", event("0.3")).spent_epsilon == "0"
    with pytest.raises(errors.BudgetExceeded):
        ledger.check("people", event("5.1"))
    assert ledger.head() == head


def test_a_check_is_exact(basic_ledger: Ledger) -> None:
    assert basic_ledger.check("people", event(5)).spent_epsilon == "0"
    with pytest.raises(errors.BudgetExceeded):
        basic_ledger.check("people", event("5.0000000000000001"))


def test_several_events_are_one_transaction(ledger: Ledger) -> None:
    entries = ledger.spend("people", [event("0.1", note="a"), event("0.2", note="b")], note="c")
    assert [entry.event.note for entry in entries] == ["a", "b"]
    assert [entry.sequence for entry in entries] == [2, 3]
    assert entries[1].previous_hash == entries[0].hash
    assert ledger.history() == ledger.history("people") == entries
    assert ledger.head() == entries[1].hash


def test_exposures_are_recorded_and_never_summed(basic_ledger: Ledger) -> None:
    ledger = basic_ledger
    ledger.spend("people", epsilon=5)
    ledger.spend("people", [exposure(), exposure()], note="full cap, still recorded")
    account = ledger.account("people")
    assert (account.events, account.exposures, account.spent_epsilon) == (1, 2, "5")
    assert len(ledger.history("people")) == 3


def test_a_declared_release_takes_the_terms_of_its_account(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=5, adjacency="replace")
    (entry,) = ledger.spend("people", epsilon="1/3", note="by hand")
    assert (entry.event.kind, entry.event.method, entry.event.note) == ("declared", "declared", "by hand")
    assert (entry.event.adjacency, entry.event.epsilon) == ("replace", "1/3")


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (event(adjacency="replace"), "stated for adjacency replace, the account for add-remove"),
        (event(table="places"), "ran on table 'places'"),
        ([event(), event(unit="person")], "different units do not add up: 'person' and 'row'"),
        ([], "neither an event nor an epsilon"),
    ],
)
def test_events_that_do_not_belong_are_refused(tmp_path: Path, events: Any, words: str) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=5)
    with pytest.raises(errors.LedgerError, match=words):
        ledger.spend("people", events)
    assert not ledger.history()


def test_the_first_formal_event_decides_the_unit(ledger: Ledger) -> None:
    ledger.spend("people", [exposure(), event(unit="person")])
    assert ledger.account("people").unit == "person"
    with pytest.raises(errors.LedgerError, match="do not add up"):
        ledger.check("people", event())
    (declared,) = ledger.spend("people", epsilon="0.1")
    assert declared.event.unit == "person"


def test_an_event_without_a_known_cost_is_refused(ledger: Ledger) -> None:
    for odd in (event(None), event(kind="guess")):
        with pytest.raises(errors.AccountingError):
            ledger.spend("people", odd)
    assert not ledger.history()


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "much", "1/0"])
def test_bad_amounts_are_refused(tmp_path: Path, epsilon: Any) -> None:
    ledger = Ledger(tmp_path / "L")
    with pytest.raises(errors.PlanError):
        ledger.open_table("people", epsilon=epsilon)
    assert not (tmp_path / "L").exists()
    ledger.open_table("people", epsilon=1)
    with pytest.raises(errors.PlanError):
        ledger.spend("people", epsilon=epsilon)


@pytest.mark.parametrize("odd", [{"delta": 1}, {"delta": -0.1}, {"adjacency": "swap"}, {"composition": "tight"}])
def test_bad_terms_are_refused(tmp_path: Path, odd: dict[str, Any]) -> None:
    with pytest.raises(errors.PlanError):
        Ledger(tmp_path / "L").open_table("people", epsilon=1, **odd)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "nul\0"])
def test_bad_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.LedgerError, match="cannot name a table"):
        Ledger(tmp_path / "L").open_table(name, epsilon=1)


@pytest.mark.parametrize("other", [{"epsilon": 6}, {"delta": 0.1}, {"adjacency": "replace"}])
def test_terms_cannot_be_changed(ledger: Ledger, terms: dict[str, Any], other: dict[str, Any]) -> None:
    ledger.spend("people", epsilon="0.3")
    assert ledger.open_table("people", epsilon="5.0", **terms).spent_epsilon == "0.3"
    with pytest.raises(errors.LedgerError, match="already has an account with other terms"):
        ledger.open_table("people", **{"epsilon": 5, **terms, **other})
    assert ledger.verify().entries == 2


def test_tight_composition_admits_more_than_the_sum(ledger_url: str) -> None:
    ledger = Ledger(ledger_url)
    ledger.open_table("people", epsilon=2, delta="1e-6", composition="tight")
    ledger.open_table("basic", epsilon=2, delta="1e-6")
    many = [event("0.02", delta="0")] * 150
    ledger.spend("people", many)
    with pytest.raises(errors.BudgetExceeded):
        ledger.spend("basic", [each.model_copy(update={"table": "basic"}) for each in many])
    tight = ledger.tight("people")
    assert ledger.account("people").spent_epsilon == "3"
    assert tight is not None
    assert tight < 2
    assert tight == accountant.tight_epsilon(many, "1e-6")
    with pytest.raises(errors.BudgetExceeded, match="tight composition of all releases gives epsilon"):
        ledger.spend("people", [event("0.02")] * 600)
    assert ledger.verify()


def test_tight_composition_never_refuses_what_the_sum_allows(ledger_url: str) -> None:
    ledger = Ledger(ledger_url)
    ledger.open_table("people", epsilon=1, delta="1e-6", composition="tight")
    ledger.spend("people", epsilon=1, delta="1e-6")
    assert ledger.tight("people") == 1
    with pytest.raises(errors.BudgetExceeded, match="no finite epsilon at delta 1e-06"):
        ledger.spend("people", epsilon="0.1", delta="1e-6")


def test_a_tight_total_needs_a_delta(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=1)
    assert ledger.tight("people", delta="1e-6") == 0
    with pytest.raises(errors.LedgerError, match="delta above 0"):
        ledger.tight("people")


amounts = st.one_of(
    st.decimals("0.001", "2", places=3).map(str),
    st.fractions("1/97", 2, max_denominator=97),
    st.floats(1e-6, 2, allow_subnormal=False),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cap=st.fractions("1/10", 5, max_denominator=50),
    costs=st.lists(st.lists(amounts, min_size=1, max_size=3), max_size=8),
)
def test_accepted_spends_never_pass_the_cap(cap: Fraction, costs: list[list[Any]], tmp_path: Path) -> None:
    path = tmp_path / "L"
    path.unlink(missing_ok=True)
    ledger = Ledger(path)
    ledger.open_table("people", epsilon=cap)
    accepted = Fraction(0)
    for group in costs:
        asked = sum((to_fraction(cost) for cost in group), Fraction(0))
        try:
            ledger.spend("people", [event(cost) for cost in group])
            accepted += asked
        except errors.BudgetExceeded:
            assert accepted + asked > cap
    assert accepted <= cap
    assert sum((entry.event.cost[0] for entry in ledger.history()), Fraction(0)) == accepted
    assert to_fraction(ledger.account("people").spent_epsilon) == accepted
    assert ledger.verify()
