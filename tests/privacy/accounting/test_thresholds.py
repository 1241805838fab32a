"""Thresholds on values without a public list: their delta is exact, minimal, and missed by every mutant."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import AccountingError
from sfumato.privacy.accounting import stability_threshold as thresholds
from sfumato.privacy.accounting.accountant import tight_epsilon
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.gaussian_calibration import concentrated_epsilon, gaussian_sigma_for_rho, zcdp_rho
from sfumato.privacy.accounting.stability_threshold import (
    exclusive_value_probability,
    stability_threshold,
    thresholds_delta,
)
from sfumato.privacy.ledger import Ledger
from statistical.laws import discrete_gaussian_pmf

SIGMA = 4.0
REACH = np.arange(-200, 201)
PMF = discrete_gaussian_pmf(REACH, SIGMA)


def tail(least: int) -> float:
    """P(noise >= least), by another sum than the one under test."""
    return float(PMF[least <= REACH].sum())


def partitions(total: int, most: int | None = None):
    most = total if most is None else most
    if total == 0:
        yield ()
    for first in range(min(total, most), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_the_chance_bounds_every_way_in_which_a_person_can_bring_values(rows: int):
    for threshold in (8, 15, 24):
        ways = [sum(tail(threshold - c) for c in way) for n in range(1, rows + 1) for way in partitions(n)]
        assert max(ways) <= exclusive_value_probability(SIGMA, threshold, rows) <= rows * max(ways) * (1 + 1e-6)
    assert exclusive_value_probability(SIGMA, 20) == pytest.approx(tail(19), rel=1e-6)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_threshold_is_the_smallest_that_keeps_its_chance(rows: int):
    for chance in (1e-3, 1e-6, 1e-10):
        limit = stability_threshold(SIGMA, chance, rows)
        assert (
            exclusive_value_probability(SIGMA, limit, rows)
            <= chance
            < exclusive_value_probability(SIGMA, limit - 1, rows)
        )


def divergence(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The exact delta between two laws on the same outcomes."""
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum())


def law(count: int, threshold: int) -> np.ndarray:
    """The exact law of what is seen of one value: nothing (first), or its noisy count from the threshold on."""
    if count == 0:
        return np.concatenate([[1.0], np.zeros(len(REACH))])
    shown = np.where(threshold <= REACH, np.interp(REACH - count, REACH, PMF, left=0, right=0), 0.0)
    return np.concatenate([[1 - shown.sum()], shown])


def exact_delta(pairs: list[tuple[int, int]], threshold: int, epsilon: float) -> float:
    """Delta of several values that are counted on their own, for both directions of the change."""
    worst = 0.0
    for way in (pairs, [(b, a) for a, b in pairs]):
        p, q = np.ones(1), np.ones(1)
        for a, b in way:
            p, q = np.outer(p, law(a, threshold)).ravel(), np.outer(q, law(b, threshold)).ravel()
        worst = max(worst, divergence(p, q, epsilon))
    return worst


CHANGES = {
    "a new value": [(0, 1)],
    "a common value": [(30, 31)],
    "a value that was rare": [(1, 2)],
    "replaced by a new one": [(1, 0), (0, 1)],
    "replaced, from common to new": [(30, 29), (0, 1)],
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_stated_delta_covers_the_exact_one_of_worst_neighbours(change: str):
    """Both adjacencies, from the closed form of the noise: no sampling."""
    epsilon, delta = 1.5, 1e-3
    moved = 2 if change.startswith("replaced") else 1
    assert concentrated_epsilon(moved / (2 * SIGMA**2), delta / 2) <= epsilon  # the noise alone is private enough
    threshold = stability_threshold(SIGMA, delta / 2)
    assert exact_delta(CHANGES[change], threshold, epsilon) <= delta


def test_a_threshold_without_delta_is_caught_by_the_exact_one():
    assert exact_delta([(0, 1)], 3, 1.5) > 0.1
    assert exact_delta([(0, 1)], stability_threshold(SIGMA, 5e-4), 1.5) <= 5e-4


def bought(**changes: object) -> Event:
    sigma = gaussian_sigma_for_rho(zcdp_rho("0.5", "5e-7") / 2, 1)
    limit = stability_threshold(sigma, 2.4e-7)
    part = EventPart(stage="values", cells=5, **({"scale": sigma, "threshold": limit} | changes))
    facts = {"method": "buy", "table": "t", "adjacency": "add-remove"}
    return Event(kind="thresholded-gaussian", epsilon="0.5", delta="1e-6", parts=(part, part), **facts)


def test_an_event_that_states_its_cost_is_believed():
    assert understated_cost(bought()) is None
    assert thresholds_delta(bought().parts) <= 5e-7


@pytest.mark.parametrize(
    "mutant", [{"threshold": 40}, {"sensitivity": 3}, {"changed_cells": 2}, {"scale": 30.0}], ids=str
)
def test_an_event_that_understates_its_cost_is_refused(mutant: dict[str, object]):
    """A threshold without its delta, several rows per person, replace instead of add-remove, too little noise."""
    assert "too small" in str(understated_cost(bought(**mutant)))


def test_a_threshold_belongs_to_one_kind_of_event_only():
    facts = {"method": "buy", "table": "t", "adjacency": "add-remove", "epsilon": "0.5", "delta": "1e-6"}
    assert "is invalid" in str(understated_cost(Event(kind="discrete-gaussian", parts=bought().parts, **facts)))


def test_tight_composition_counts_what_thresholds_cost():
    event = bought()
    spent = thresholds_delta(event.parts)
    assert tight_epsilon([event], Fraction(spent) / 2) is None
    assert tight_epsilon([event], 1e-6) <= Fraction(1, 2)
    plain = event.model_copy(update={"kind": "discrete-gaussian", "parts": tuple(_bare(p) for p in event.parts)})
    assert tight_epsilon([plain], Fraction(spent) / 2) is not None


def _bare(part: EventPart) -> EventPart:
    return part.model_copy(update={"threshold": None})


def test_a_part_without_threshold_is_written_as_before(tmp_path):
    """Hashes of ledgers and bundles are those of the text: no key may be added to what has no threshold."""
    part = EventPart(stage="x", cells=1, scale=2.0)
    assert "threshold" not in part.model_dump(mode="json")
    assert bought().parts[0].model_dump(mode="json")["threshold"] > 0
    assert Event.from_json(bought().to_json()) == bought()
    book = Ledger(tmp_path / "l.db")
    book.open_table("t", epsilon=1, delta="1e-5")
    book.spend("t", bought())
    assert book.verify().ok
    with pytest.raises(AccountingError, match="does not hold"):
        book.spend("t", bought(threshold=40))


def test_the_bound_grows_with_rows_and_falls_with_the_threshold():
    chances = [exclusive_value_probability(SIGMA, t, k) for t in (10, 20) for k in (1, 2, 4)]
    assert chances[:3] == sorted(chances[:3])
    assert chances[0] > chances[3]


def test_very_wide_noise_is_bounded_by_its_tail(monkeypatch: pytest.MonkeyPatch):
    exactly = [exclusive_value_probability(SIGMA, threshold, 2) for threshold in (5, 15, 25)]
    monkeypatch.setattr(thresholds, "LARGEST_SUMMED", 1.0)
    bounded = [exclusive_value_probability(SIGMA, threshold, 2) for threshold in (5, 15, 25)]
    assert all(exact <= bound for exact, bound in zip(exactly, bounded, strict=True))
    assert stability_threshold(1e7, 1e-10, 5) < 8 * 10**7
