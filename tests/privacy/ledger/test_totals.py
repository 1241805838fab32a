"""Accounts whose totals of mu^2 and rho are fixed at the opening, and tight accounts that hold AIM."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.errors import BudgetExceeded, PlanError
from sfumato.privacy.accounting.composition import MOST_RUNS, SELECTIONS_PART, FilterTotals, FilterUse
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.gaussian_and_selection import adaptive_rho, run_delta
from sfumato.privacy.ledger import Ledger, admission

FACTS = {"method": "aim", "table": "t", "adjacency": "add-remove"}
CAPS = {"epsilon": "1.01", "delta": "1e-9"}


def aim(share: Fraction = Fraction(1, 20), epsilon: str = "0.3", delta: str = "1e-9") -> Event:
    """A run of AIM, or of MST with a share of a third, that uses its (epsilon, delta) in full."""
    rho = float(adaptive_rho(Fraction(epsilon), Fraction(delta), share)) * (1 - 1e-9)
    noise = EventPart(stage="x", cells=8, scale=(2 * rho * float(1 - share)) ** -0.5)
    choices = EventPart(stage=SELECTIONS_PART, cells=4, scale=(8 * rho * float(share)) ** -0.5)
    return Event(kind="gaussian-and-choices", epsilon=epsilon, delta=delta, parts=(noise, choices), **FACTS)


def opened(place: str | Path, composition: str, **caps: str) -> Ledger:
    book = Ledger(place / "ledger.db" if isinstance(place, Path) else place)
    book.open_table("t", composition=composition, **{**CAPS, **caps})
    return book


def admitted(book: Ledger, event: Event, tries: int = 12) -> int:
    for number in range(tries):
        try:
            book.spend("t", event)
        except BudgetExceeded:
            return number
    return tries


@pytest.mark.parametrize(
    ("composition", "share", "runs"),
    [
        ("basic", Fraction(1, 20), 1),  # 3 at 1e-8 after ten
        ("tight", Fraction(1, 20), 10),
        ("filter", Fraction(1, 20), 10),
        ("filter 1/3", Fraction(1, 3), 10),
        ("filter", Fraction(1, 3), 3),  # a tenth for choices is too little for MST, which the pages say
    ],
)
def test_the_same_cap_buys_ten_runs_of_aim(ledger_url, composition, share, runs):
    book = opened(ledger_url, composition)
    assert admitted(book, aim(share)) == runs
    assert book.verify()
    if runs == 10:
        assert 0.98 < float(Fraction(book.account("t").tight_epsilon)) <= 1.01
        assert book.curve("t").delta(1.01) <= 1e-9
        assert book.curve("t", more=[aim(share)]).delta(1.01) > 1e-9


def test_totals_that_were_fixed_are_what_the_caps_allow():
    for share in (Fraction(0), Fraction(1, 10), Fraction(1, 3)):
        fixed = FilterTotals.of(1, "1e-9", share)
        found = run_delta(1.0 - fixed.slack, fixed.mu_squared**0.5, fixed.rho)
        assert found <= 1e-9 < run_delta(1.0, 1.01 * fixed.mu_squared**0.5, fixed.rho)
        assert fixed.slack < 2e-4


def test_noise_may_be_counted_as_rho_but_choices_never_as_noise():
    fixed = FilterTotals.of(1, "1e-9", Fraction(1, 10))
    assert not fixed.over(FilterUse(fixed.mu_squared + 1.9 * fixed.rho, 0.0))
    assert fixed.over(FilterUse(fixed.mu_squared + 2.1 * fixed.rho, 0.0))
    assert not fixed.over(FilterUse(0.0, fixed.rho))
    assert fixed.over(FilterUse(0.0, 1.01 * fixed.rho))


def test_more_runs_than_their_rounding_was_set_aside_for_are_refused(tmp_path):
    fixed = FilterTotals.of(1, "1e-9", Fraction(1, 10))
    one = FilterUse.used([aim()])
    within = FilterUse(0.0, 0.0, one.lattices * MOST_RUNS)
    assert not fixed.over(within)
    assert "set aside" in fixed.over(FilterUse(0.0, 0.0, one.lattices * (MOST_RUNS + 1)))[0]


def test_other_noise_counts_in_rho_and_a_delta_of_its_own_fits_nowhere(ledger_url):
    def event(kind: str, scale: float, epsilon: object = "0.01", delta: object = "0", **more: int) -> Event:
        return Event(
            kind=kind,
            epsilon=epsilon,
            delta=delta,
            parts=(EventPart(stage="x", cells=2, scale=scale, **more),),
            **FACTS,
        )

    assert FilterUse.used([event("discrete-laplace", 100.0)]).rho == pytest.approx(5e-5)
    assert FilterUse.used([event("laplace", 100.0)]).rho == pytest.approx(5e-5)
    assert FilterUse.used([event("discrete-gaussian", 100.0, 1, "1e-3")]).rho == pytest.approx(5e-5)
    assert FilterUse.used([event("gaussian", 100.0, 1, "1e-3")]).mu_squared == pytest.approx(1e-4)
    book = opened(ledger_url, "filter")
    book.spend("t", epsilon="0.01")  # a declared release without delta counts as e^2 / 2
    with pytest.raises(BudgetExceeded, match="no total of mu\\^2 and rho holds releases of kind declared"):
        book.spend("t", epsilon="0.01", delta="1e-12")
    with pytest.raises(BudgetExceeded, match="thresholded-gaussian"):
        book.spend("t", event("thresholded-gaussian", 200.0, 1, "1e-6", threshold=1200))
    assert len(book.history("t")) == 1


def test_verify_finds_a_row_that_exceeds_the_totals(ledger_url, monkeypatch):
    book = opened(ledger_url, "filter", epsilon="0.35")
    book.spend("t", aim())
    monkeypatch.setattr(admission, "_refuse_over_totals", lambda account, events: None)
    book.spend("t", aim())
    found = book.verify()
    assert not found and "row 3 exceeds the totals of 't'" in found.problems[0]


def test_threads_cannot_pass_the_totals_together(ledger_url):
    book = opened(ledger_url, "filter", epsilon="0.5")
    alone = 2  # of runs at 0.3, each of them with a delta as large as the cap

    def spend(_: int) -> int:
        return admitted(book, aim(), tries=1)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(8))) == alone
    assert book.verify() and book.account("t").events == alone


def test_terms_are_checked_and_kept(tmp_path):
    book = opened(tmp_path, "filter")
    assert book.account("t").composition == "filter 1/10"
    book.open_table("t", composition="filter 0.1", **CAPS)  # the same terms change nothing
    for odd in ("filter 2", "filter -1", "filtered", "tight 1/2", "basic "):
        with pytest.raises(PlanError):
            book.open_table("u", composition=odd, **CAPS)
    with pytest.raises(PlanError, match="delta above 0"):
        book.open_table("u", epsilon=1, composition="filter")
