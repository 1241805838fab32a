"""Do intervals hold the number of the confidential table as often as they say? A small form of the benchmark.

One share of each of n = 60 releases, 8 reruns each, nominal 95 %. If intervals hold with probability .90 at least,
fewer than 44 of 60 hold with probability alpha < 1e-4 (exact binomial tail). Mutant: a quarter of the noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import sfumato
from sfumato import Column, Schema
from sfumato.evaluate.uncertainty.interval import rerun_interval
from sfumato.evaluate.uncertainty.reruns import PublicRelease

RELEASES, RERUNS, LEAST, ALPHA = 60, 8, 44, 1e-4
EPSILON = 0.01  # the noise is far above the chance of drawing rows, and far below the counts


@pytest.fixture(scope="module")
def released() -> tuple[float, list[PublicRelease]]:
    """The true share of a small table, and sixty releases of it."""
    schema = Schema("t", (Column("sex", "category", values=("f", "m")),))
    rows = pa.table({"sex": np.random.default_rng(4).choice(["f", "m"], 2000, p=[0.3, 0.7])})
    table, method = sfumato.read(rows, schema), sfumato.Marginals(epsilon=EPSILON, pairs="none")
    truth = _share(rows)
    made = [sfumato.release(table, method, ledger=False, seed=seed) for seed in range(RELEASES)]
    return truth, [PublicRelease.of(each) for each in made]


def _share(rows: pa.Table) -> float:
    return rows.column("sex").to_pylist().count("f") / rows.num_rows


def _held(truth: float, releases: list[PublicRelease], times: int) -> int:
    """Return how many intervals hold the truth when reruns have ``times`` the epsilon of the release."""
    held = 0
    for public in releases:
        mechanism = public.mechanism()
        louder = replace(mechanism, method=replace(mechanism.method, epsilon=EPSILON * times))
        again = [_share(louder.rerun(number)) for number in range(RERUNS)]
        found = rerun_interval("share", _share(public.rows), again, 0.95)
        held += found.low <= truth <= found.high
    return held


def test_intervals_hold_the_number_of_the_table(released):
    assert binom.cdf(LEAST - 1, RELEASES, 0.90) < ALPHA
    assert _held(*released, times=1) >= LEAST


def test_reruns_with_less_noise_would_be_found_out(released):
    assert _held(*released, times=4) < LEAST
