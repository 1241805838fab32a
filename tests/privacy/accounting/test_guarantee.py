"""Guarantees whose words follow their numbers: bands, odds, delta, units, and what is refused."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import AccountingError, PlanError, WeakGuaranteeError
from sfumato.privacy.accounting.accountant import release_guarantee
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.accounting.strength import (
    is_refused,
    least_error_probability,
    most_certainty_text,
    require_strong_enough,
    strength_band,
    warnings,
)

KINDS = ("pure", "approximate", "zero-concentrated", "probabilistic")


def pure(epsilon, **more) -> Guarantee:
    return Guarantee(kind="pure", epsilon=str(epsilon), table="t", recorded=True, **more)


def event(kind: str, **more) -> Event:
    facts = {"method": "own", "table": "t", "adjacency": "add-remove"} | more
    return Event(kind=kind, **facts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_formal_kind_without_an_epsilon_is_refused(kind):
    with pytest.raises(AccountingError, match="needs an epsilon"):
        Guarantee(kind=kind, table="t")


@pytest.mark.parametrize(
    "facts",
    [
        {"kind": "heuristic", "epsilon": "1"},
        {"kind": "asymptotic", "delta": "0.1"},
        {"kind": "pure", "epsilon": "-1"},
        {"kind": "approximate", "epsilon": "1", "delta": "1.5"},
    ],
)
def test_promises_that_nobody_can_make_are_refused(facts):
    with pytest.raises(AccountingError):
        Guarantee(table="t", **facts)


def test_formal_and_other_events_together_are_an_exposure():
    formal = event("discrete-laplace", epsilon="1")
    for events in ([formal, event("heuristic")], [event("heuristic"), formal]):
        made = release_guarantee(events)
        assert (made.kind, made.formal, made.epsilon) == ("heuristic", False, None)
        assert made.statement().startswith("No formal guarantee (heuristic")
    assert release_guarantee([formal, event("asymptotic"), event("heuristic")]).kind == "heuristic"
    assert release_guarantee([formal, event("asymptotic")]).kind == "asymptotic"
    assert release_guarantee([formal, formal]).epsilon == "2"


@pytest.mark.parametrize("change", [{"unit": "the value of y in one row"}, {"table": "u"}, {"adjacency": "replace"}])
def test_events_of_different_kinds_of_neighbours_make_no_promise(change):
    with pytest.raises(AccountingError, match="cannot be composed"):
        release_guarantee([event("discrete-laplace", epsilon="1"), event("discrete-laplace", epsilon="1", **change)])
    with pytest.raises(AccountingError, match="no events"):
        release_guarantee([])


@pytest.mark.parametrize(
    ("epsilon", "word", "present"),
    [
        ("0.5", "strong", "stays hidden within these odds"),
        ("1", "strong", "at most 73.2 % sure"),
        ("2", "moderate", "is protected within these odds, and no further"),
        ("5", "weak", "is hardly protected"),
        ("7.7", "weak", "almost certain afterwards (99.955 %)"),
        ("10", "none in effect", "almost certain afterwards (99.9955 %)"),
        ("1000", "none in effect", "is not protected"),
    ],
)
def test_the_words_follow_epsilon(epsilon, word, present):
    made = pure(epsilon)
    text = made.statement()
    assert made.band == word and present in text
    assert ("hidden" in text) == (word == "strong")
    assert ("Warning: epsilon" in text) == (Fraction(epsilon) >= 5) == bool(made.warnings)
    assert "100 %" not in text


def test_a_factor_is_never_smaller_than_it_is():
    """e to the power of 1000 is beyond what a machine number holds: a bound printed in its place would be false."""
    assert "by a factor of at most e to the power of 1000" in pure(1000).statement()
    assert "by a factor of at most 22,027" in pure(10).statement()


@pytest.mark.parametrize(
    ("delta", "rows", "word"),
    [
        ("1e-9", None, "strong"),
        ("1e-4", None, "strong"),
        ("1.01e-4", None, "weak"),
        ("1e-5", 1_000_000, "weak"),
        ("1e-5", 1_000, "strong"),
        ("0.1", None, "weak"),
        ("0.9", None, "none in effect"),
    ],
)
def test_the_words_follow_delta(delta, rows, word):
    more = {"adjacency": "replace", "rows": rows} if rows else {}
    made = Guarantee(kind="approximate", epsilon="0.01", delta=delta, table="t", **more)
    text = made.statement()
    assert made.band == word
    assert ("hidden" in text) == (word == "strong")
    assert ("Warning: delta" in text) == (word != "strong")
    assert ("with which anything about it may be shown" in text) == (word != "strong")
    assert "one in 1)" not in text


def best_guess(epsilon: float, delta: float) -> float:
    """Return the success of the best guess against the worst (epsilon, delta) mechanism, on its four outcomes."""
    share = (1 - delta) / (1 + math.exp(epsilon))
    first = np.array([delta, (1 - delta) - share, share, 0.0])
    second = first[::-1]
    assert (first - math.exp(epsilon) * second).clip(min=0).sum() == pytest.approx(delta)
    return float(np.maximum(first, second).sum() / 2)


@given(epsilon=st.floats(0, 20), delta=st.floats(0, 0.999))
def test_the_odds_are_those_of_the_worst_mechanism_with_delta_counted_in(epsilon, delta):
    assert 1 - least_error_probability(Fraction(epsilon), Fraction(delta)) == pytest.approx(
        best_guess(epsilon, delta), abs=1e-12
    )


@given(epsilon=st.fractions(0, 2000), delta=st.fractions(0, 1).filter(lambda delta: delta < 1))
def test_certainty_reads_100_only_where_it_is(epsilon, delta):
    shown = most_certainty_text(epsilon, delta)
    number = re.fullmatch(r"(?:more than )?([0-9.]+) %", shown)
    assert number is not None and float(number[1]) < 100, shown
    above = float(number[1]) - 100 * (1 - least_error_probability(epsilon, delta))
    assert shown.startswith("more than") or -1e-9 <= above <= 0.11


def test_odds_at_delta_1_are_certainty():
    assert most_certainty_text(Fraction(0), Fraction(1)) == "100 %"


@given(epsilon=st.fractions(0, 100), delta=st.fractions(0, 1), rows=st.none() | st.integers(1, 10**9))
def test_warnings_stand_exactly_where_the_band_is_weak(epsilon, delta, rows):
    weak = strength_band(epsilon, delta, rows) in ("weak", "none in effect")
    assert bool(warnings(epsilon, delta, rows)) == weak
    assert weak or not is_refused(epsilon, delta)


def test_what_protects_nobody_is_refused_with_all_that_is_wrong():
    with pytest.raises(WeakGuaranteeError) as caught:
        require_strong_enough(Fraction(50), Fraction(1, 2), allow_weak=False)
    assert isinstance(caught.value, PlanError)
    assert caught.value.problems == ("epsilon 50 is above 20", "delta 0.5 is above 0.1")
    assert "allow_weak=True (--allow-weak)" in caught.value.next_step
    assert require_strong_enough(Fraction(50), Fraction(0), allow_weak=True)
    assert not require_strong_enough(Fraction(20), Fraction(1, 10), allow_weak=False), (
        "the limits themselves are admitted"
    )
    assert not require_strong_enough(Fraction(1), Fraction(0), allow_weak=True), "nothing had to be allowed"


def test_one_value_of_a_row_reads_well():
    made = pure(1, adjacency="replace", rows=300, unit="the value of y in one row")
    text = made.statement()
    assert made.headline().endswith("epsilon = 1, for changing the value of y in one row of table 't'.")
    assert "In plain words: changing the value of y in one row moves the probability" in text
    assert "even odds on two values of y in one row" in text
    assert "the value of y in one row stays hidden" in text
    assert "Only that value is covered. Whatever else of the row is released is released as it is" in text
    assert not re.search(r"what a row holds|content of|whether a|one the value|replacing", text)


def test_a_person_reads_well():
    text = pure(3, unit="person (at most 3 rows)").statement()
    assert "for adding or removing one person (at most 3 rows) of table 't'." in text
    assert "gave even odds on one person before" in text
    assert "whether a person is in the table at all is protected" in text
