"""Every number that is stated as a bound is one: what is printed is never below what it bounds, and near it."""

import re
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.metrics.catalogue import metric
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.accounting.strength import most_certainty_text, odds_factor_text
from sfumato.privacy.exact import at_least, at_most, format_fraction, percent_at_most

PRECISE = Context(prec=80)
NUMBER = r"(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)"


def power(epsilon: Fraction) -> Fraction:
    return Fraction(PRECISE.exp(PRECISE.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))))


def number(text: str) -> Fraction:
    return Fraction(text.replace(",", "").removesuffix(" %"))


def is_a_bound(printed: str, true: Fraction, near: Fraction) -> bool:
    return true <= number(printed) <= true * (1 + near)


EPSILONS = st.one_of(
    st.fractions(min_value=Fraction(1, 10**6), max_value=20),
    st.sampled_from(["0.0001", "0.01", "0.1", "0.5", "1", "2", "3", "5", "10", "20"]).map(Fraction),
)
DELTAS = st.sampled_from(["0", "1e-9", "1e-6", "0.0001", "0.01", "0.1"]).map(Fraction)


@given(EPSILONS, DELTAS)
def test_factors_and_certainties_are_upper_bounds(epsilon, delta):
    true = power(epsilon)
    assert is_a_bound(odds_factor_text(epsilon), true, Fraction(1, 1000))
    assert number(odds_factor_text(epsilon)) > 1
    sure = 100 * (true + delta) / (1 + true)
    assert is_a_bound(most_certainty_text(epsilon, delta), sure, Fraction(1, 500))
    assert 50 < number(most_certainty_text(epsilon, delta)) < 100


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**6), st.integers(2, 6))
def test_at_most_rounds_up_and_at_least_rounds_down(value, digits):
    upper, lower = Fraction(at_most(value, digits)), Fraction(at_least(value, digits))
    assert lower <= value <= upper
    assert upper - lower <= value * Fraction(2, 10 ** (digits - 1))
    assert Fraction(format_fraction(value)) >= value


@pytest.mark.parametrize("epsilon", ["0.0001", "0.01", "0.1", "1", "10", "0.99999999", "1/3"])
@pytest.mark.parametrize("delta", ["0", "1.2345e-7"])
def test_every_bound_of_a_statement_is_one(epsilon, delta):
    kind = "approximate" if delta != "0" else "pure"
    text = Guarantee(kind=kind, epsilon=epsilon, delta=delta, table="t").statement()
    exact = Fraction(epsilon)
    factors = re.findall(rf"a factor of at most {NUMBER}", text)
    assert len(factors) == 2 and all(is_a_bound(each, power(exact), Fraction(1, 1000)) for each in factors)
    stated = re.search(rf"with epsilon = {NUMBER}", text).group(1)
    assert exact <= number(stated) <= exact * Fraction(1001, 1000)
    for shown in re.findall(rf"(?:delta = |probability of(?: at most)? ){NUMBER}(?! %)", text):
        if "%" not in shown and number(shown) < Fraction(1, 100):
            assert Fraction(delta) <= number(shown) <= Fraction(delta) * Fraction(102, 100)
    sure = re.search(rf"{NUMBER} %", text).group(1)
    true = 100 * (power(exact) + Fraction(delta)) / (1 + power(exact))
    assert true <= number(sure) <= true * Fraction(102, 100)


def test_other_bounds_in_words_round_up_as_well():
    assert percent_at_most(Fraction(1, 3)) == "33.4 %"
    assert "at most 0.734 percentage points" in metric("tvd_1_q16").in_plain_words(0.0073301)
    assert "at most 17.34 succeed" in metric("success").in_plain_words(0.173301, at=0.1)
    assert format_fraction(Fraction(1, 3)) == "0.333334"
