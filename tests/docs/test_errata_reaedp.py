"""The errata tables of the entropy and the deniability page: their numbers come from the code."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sfumato.entropy import sensitivity
from sfumato.mechanisms.plausible_deniability.privacy_test import pass_probability
from sfumato.mechanisms.plausible_deniability.record_composition import cheapest_test, composed_epsilon
from sfumato.papers.reaedp.noisy_histograms import TABLE_S3
from sfumato.papers.reaedp.pass_rate import EPSILON0, KS, THRESHOLD
from sfumato.papers.reaedp.published import published_bound, published_renyi_bound, stated_guarantee
from sfumato.papers.reaedp.reproduction import errata
from sfumato.papers.result import Erratum
from sfumato.privacy.accounting.gaussian_calibration import gaussian_delta, gaussian_sigma

DOCS = Path(__file__).parents[2] / "docs"
ENTROPY, DENIABILITY = "entropy.md", "plausible-deniability.md"
ITEMS = {ENTROPY: (1, 2, 3, 4, 5), DENIABILITY: (6, 7, 8, 9, 11)}
ONE_ROW = 1.105360515658


def rows_of(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.partition("| # | printed |")[2].splitlines()[2:]


def row_about(page: str, words: str) -> str:
    found = [row for row in rows_of(page) if words in row]
    assert len(found) == 1, f"{page}: {len(found)} rows about {words!r}"
    return found[0]


def markdown(item: Erratum) -> str:
    cells = (item.name, item.paper, item.holds, item.instead)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


@pytest.mark.parametrize("page", ITEMS)
def test_the_page_shows_the_errata_of_the_reproduction(page):
    shown = [row for row in rows_of(page) if row[2].isdigit()]
    assert shown == [markdown(item) for item in errata() if int(item.name) in ITEMS[page]]


def breaks_from(order: float) -> int:
    """The smallest number of cells at which the exact sensitivity of 1,000 records is above the printed bound."""
    return next(m for m in range(2, 100) if sensitivity(1000, m, order) > published_renyi_bound(1000, order))


def test_numbers_of_the_entropy_page():
    row = row_about(ENTROPY, "about 0.2")
    assert f"{published_bound(50):.3f}" in row and f"{sensitivity(50, 2):.3f}" in row
    row = row_about(ENTROPY, "step 1 of the Renyi")
    assert f"gives {0.01 ** (0.5 - 1):g} " in row
    row = row_about(ENTROPY, "(17) holds")
    assert f"from {breaks_from(0.5)} cells on at orders 0.5 and 0.75" in row and breaks_from(0.75) == breaks_from(0.5)
    assert f"from {breaks_from(1.5)} at 1.5, {breaks_from(2)} at 2, {breaks_from(3)} at 3, {breaks_from(5)} at 5" in row
    assert f"{breaks_from(10)} at 10 and at infinity" in row and breaks_from(10) == breaks_from(math.inf)
    row = row_about(ENTROPY, "table S1")
    assert all(f"{published_renyi_bound(1, order):.2f} at {order:g}" in row for order in (1.5, 10))
    row = row_about(ENTROPY, "Gaussian noise by")
    classic = gaussian_delta(10.0, 10 / math.sqrt(2 * math.log(1.25 / 1e-5)))
    assert f"is {classic:.2e}" in row
    assert ", ".join(f"{gaussian_sigma(e, 1e-5):.4f}" for e in (1, 4, 10)) in row


def test_the_seven_rows_of_the_paper():
    text = (DOCS / ENTROPY).read_text(encoding="utf-8")
    for row in TABLE_S3:
        within = "no" if row.exceeds else "yes"
        shown = f"| {row.title} | {row.records:,} | {row.difference:.4f} | {row.bound:.5f} | {within} |"
        assert shown in text


def test_numbers_of_the_deniability_page():
    row = row_about(DENIABILITY, "an integer-valued L")
    assert ", ".join(f"{p:.6f}" for p in pass_probability([7, 10, 12], k=10, epsilon0=0.5)) in row
    row = row_about(DENIABILITY, "theorem 2")
    advanced = ONE_ROW * math.sqrt(2 * 100 * math.log(1e5)) + 100 * ONE_ROW * math.expm1(ONE_ROW)
    optimum = composed_epsilon(ONE_ROW, 1e-9, 100, 1e-5)
    assert f"{advanced:.0f} for 100" in row and f"{100 * ONE_ROW:.1f} and the optimum {optimum:.1f}" in row
    row = row_about(DENIABILITY, "figure 1 at t = 2")
    assert ", ".join(f"{stated_guarantee(k, THRESHOLD, 2.0, EPSILON0)[1]:.3f}" for k in KS) in row


def test_the_smallest_k_that_the_page_shows():
    text = (DOCS / DENIABILITY).read_text(encoding="utf-8")
    for rows in (10, 100, 1000):
        eight, one = (cheapest_test(total, 1e-5, rows, 2.0).k for total in (8.0, 1.0))
        assert f"| {rows:,} | {eight:,} | {one:,} |" in text
