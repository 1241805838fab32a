"""Bought facts against the best attack: epsilon from below, on worst neighbours, stays under what the event states.

The attacker sees every noisy count. A row more moves one cell of each of the counts by one, so the likelihood ratio is
read off the sum of these cells over their variances. n = 200,000 draws for each of the neighbours; Clopper-Pearson at
alpha 1e-6 for each of 40 cut points. Texts are audited by whether a value that only one neighbour holds is shown, and
from the outside: one column of 2,000 values with as many rows each is 2,000 trials of the whole way from rows to texts.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sfumato.dp_schema import run
from sfumato.dp_schema.plan import SchemaPlan
from sfumato.dp_schema.run import NoisyCounter
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.noise import add_gaussian
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Column, Schema
from sfumato.table.sources import open_source
from statistical.laws import ALPHA, discrete_gaussian_pmf

N = 200_000
EPSILON, DELTA = Fraction(3), Fraction(1, 100)
NAMES = ("a", "b")


def order(adjacency: str = "add-remove", rows_per_person: int = 1) -> SchemaPlan:
    facts = {"adjacency": adjacency, "rows": 50 if adjacency == "replace" else None}
    columns = tuple(Column(name, "category", role="identifier") for name in ("who", *NAMES))
    people = {"person": "who", "rows_per_person": rows_per_person} if rows_per_person > 1 else {}
    return SchemaPlan(Schema("t", columns, **facts, **people), NAMES, NAMES, frozenset(NAMES), EPSILON, DELTA)


def score(parts: tuple[EventPart, ...], moved: int, seed: int) -> np.ndarray:
    """The statistic of the likelihood ratio, from noise as it is drawn: ``moved`` rows went into one cell of each."""
    total, randomness = np.zeros(N), Randomness(seed)
    for part in parts:
        for sign in (1, -1)[: part.changed_cells]:
            cells = add_gaussian(np.full(N, 20 + sign * moved, np.int64), part.scale, randomness)
            total += sign * cells / part.scale**2
    return total


def lowest_epsilon(parts: tuple[EventPart, ...], rows: int, delta: float) -> float:
    """Epsilon that these draws prove, from below."""
    with_it, without = score(parts, rows, 1), score(parts, 0, 2)
    best = 0.0
    for cut in np.quantile(np.concatenate([with_it, without]), np.linspace(0.5, 0.9998, 40)):
        hits, misses = int((with_it >= cut).sum()), int((without >= cut).sum())
        low = stats.beta.ppf(ALPHA, hits, N - hits + 1)
        high = stats.beta.isf(ALPHA, misses + 1, N - misses)
        if low > delta:
            best = max(best, float(np.log((low - delta) / high)))
    return best


@pytest.mark.parametrize("adjacency, rows", [("add-remove", 1), ("replace", 1), ("add-remove", 4)])
def test_the_attack_proves_less_than_is_stated(adjacency: str, rows: int):
    parts = order(adjacency, rows).parts()
    found = lowest_epsilon(parts, rows, float(DELTA))
    assert 0.1 < found < EPSILON


def test_mutants_are_caught():
    """Noise for one row where a person holds four; noise four times too small; noise that is not drawn at all."""
    honest = order().parts()
    assert lowest_epsilon(honest, 4, float(DELTA)) > EPSILON
    narrow = tuple(part.model_copy(update={"scale": part.scale / 4}) for part in honest)
    assert lowest_epsilon(narrow, 1, float(DELTA)) > EPSILON
    silent = tuple(part.model_copy(update={"scale": 0.01}) for part in honest)
    assert lowest_epsilon(silent, 1, float(DELTA)) > EPSILON


def test_a_value_of_one_person_is_shown_as_rarely_as_delta_says():
    for rows in (1, 4):
        parts = [part for part in order(rows_per_person=rows).parts() if part.threshold is not None]
        shown = np.zeros(N, bool)
        for seed, part in enumerate(parts):
            shown |= add_gaussian(np.full(N, rows, np.int64), part.scale, Randomness(seed)) >= part.threshold
        assert stats.beta.ppf(ALPHA, max(int(shown.sum()), 1), N) <= float(DELTA) / 2
    lax = add_gaussian(np.full(N, 1, np.int64), parts[0].scale, Randomness(9)) >= 1  # the mutant: shown if noisy > 0
    assert stats.beta.ppf(ALPHA, int(lax.sum()), N) > float(DELTA)


TRIALS = 2000
PART = EventPart(stage="values of x", cells=1, scale=6.0, threshold=12)
"""Noise of sigma 6: a row more costs epsilon 0.8 at delta .01, by the exact law of the noise (test below)."""


def shown(rows: int, part: EventPart = PART) -> int:
    """How many of the values are shown that have so many rows each."""
    values = np.repeat([f"v{i}" for i in range(TRIALS)], rows)
    header = Schema("t", (Column("x", "category", role="identifier"),))
    engine = open_source(pd.DataFrame({"x": values})).engine
    return len(NoisyCounter(engine, header, Randomness(rows)).texts("x", part))


def proved(more: int, less: int) -> float:
    """Epsilon at delta .01 that two shares of the trials prove, from below, in either direction."""
    found = 0.0
    for high, low in ((more, less), (TRIALS - less, TRIALS - more)):
        at_least = stats.beta.ppf(ALPHA, max(high, 1), TRIALS - high + 1)
        at_most = stats.beta.isf(ALPHA, low + 1, TRIALS - low) if low < TRIALS else 1.0
        found = max(found, float(np.log(max(at_least - 0.01, 1e-12) / at_most)))
    return found


def test_texts_from_the_outside_prove_less_than_their_noise_costs():
    law = discrete_gaussian_pmf(np.arange(-60, 61), PART.scale)
    assert np.maximum(law[1:] - np.exp(0.8) * law[:-1], 0).sum() <= 0.01
    for rows in (PART.threshold - 2, PART.threshold, PART.threshold + 2):
        assert proved(shown(rows + 1), shown(rows)) < 0.8


def test_noise_outside_the_measurement_is_caught(monkeypatch: pytest.MonkeyPatch):
    """The mutant chooses by true counts, whatever noise is drawn later."""
    monkeypatch.setattr(run, "add_gaussian", lambda counts, *_: np.asarray(counts))
    assert proved(shown(PART.threshold), shown(PART.threshold - 1)) > 3
