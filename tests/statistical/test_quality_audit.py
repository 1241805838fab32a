"""Quality statements against the best attack: epsilon from below, on neighbouring tables, stays under what is stated.

Everything but the repetition is the real thing: the neighbours are tables, counted through the engine, and the noise is
drawn by the code that draws it in a statement, N = 50,000 times for each neighbour. The attacker knows both tables and
reads the exact likelihood ratio off all noisy numbers together. Clopper-Pearson at alpha 1e-6 for each of 40 cuts.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from quality.small import facts, frame, related_facts, related_frame, subject, table
from sfumato.evaluate.quality.questions import PrivateCounts, count
from sfumato.evaluate.quality.run import prepare_questions
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.randomness import Randomness
from statistical.laws import ALPHA

N = 50_000
EPSILON = 2
Numbers = tuple[tuple[int, ...], ...]


def neighbours(adjacency: str, rows: int, target: str) -> tuple[tuple[EventPart, ...], Numbers, Numbers]:
    """Return the parts, and what is counted of two tables: one person more, or one row replaced by another."""
    private = frame(30, seed=5).assign(sex="m", city=None, size=np.nan, who=np.arange(30))
    own = private.iloc[:rows].assign(who=1000)
    if adjacency == "replace":
        other = private.copy()
        other.loc[0, ["size", "sex", "city"]] = [1.0, "f", "a"]
    else:
        other = pd.concat([private, own], ignore_index=True)
    schema = facts(adjacency, 30 if adjacency == "replace" else None, rows)
    one = prepare_questions(subject(frame(60, seed=3), schema), EPSILON, target)
    both = [count(table(each, schema), one.public, one.answers, one.questions.parts) for each in (private, other)]
    return one.questions.parts, both[0].numbers, both[1].numbers


def losses(parts: tuple[EventPart, ...], truth: Numbers, other: Numbers, seed: int) -> np.ndarray:
    """Return the log likelihood ratio of the two tables for N statements about the first of them."""
    many = PrivateCounts(tuple(tuple(np.tile(part, N).tolist()) for part in truth))
    total = np.zeros(N)
    for part, drawn, mine, theirs in zip(parts, many.noisy(parts, Randomness(seed)), truth, other, strict=True):
        seen = np.array(drawn).reshape(N, -1)
        total += (np.abs(seen - np.array(theirs)) - np.abs(seen - np.array(mine))).sum(axis=1) / part.scale
    return total


def lowest_epsilon(parts: tuple[EventPart, ...], one: Numbers, other: Numbers) -> float:
    """Return the epsilon that these draws prove, from below."""
    here, there = losses(parts, one, other, 1), -losses(parts, other, one, 2)
    best = 0.0
    for cut in np.quantile(np.concatenate([here, there]), np.linspace(0.5, 0.999, 40)):
        hits, misses = int((here >= cut).sum()), int((there >= cut).sum())
        low, high = stats.beta.ppf(ALPHA, max(hits, 1), N - hits + 1), stats.beta.isf(ALPHA, misses + 1, N - misses)
        best = max(best, float(np.log(low / high)))
    return best


@pytest.mark.parametrize(
    "adjacency, rows, target", [("add-remove", 1, "sex"), ("add-remove", 3, "sex"), ("replace", 1, "sex")]
)
def test_the_attack_proves_less_than_is_stated_and_half_of_it(adjacency: str, rows: int, target: str):
    found = lowest_epsilon(*neighbours(adjacency, rows, target))
    assert 0.5 * EPSILON < found < EPSILON


def related(rows_factor: int = 1) -> tuple[tuple[EventPart, ...], Numbers, Numbers]:
    """The same for a statement with correlations: a row in the corner of all scores comes to a table of 30."""
    schema = related_facts()
    one = prepare_questions(subject(related_frame(60), schema), EPSILON, correlations=["x", "y", "z"])
    private = related_frame(30, seed=4)
    other = pd.concat([private, *[pd.DataFrame({"x": [1.0], "y": [1.0], "z": [1.0]})] * rows_factor])
    both = [count(table(each, schema), one.public, one.answers, one.questions.parts) for each in (private, other)]
    return one.questions.parts, both[0].numbers, both[1].numbers


def test_correlations_prove_less_than_is_stated_and_two_rows_are_caught():
    assert 0.5 * EPSILON < lowest_epsilon(*related()) < EPSILON
    assert lowest_epsilon(*related(rows_factor=2)) > EPSILON


def test_mutants_are_caught():
    """Half the sensitivity of the turned pair and of the answers; noise for one row where a person holds three."""
    parts, one, other = neighbours("add-remove", 1, "sex")
    halved = tuple(part.model_copy(update={"scale": part.scale / 2}) for part in parts)
    assert lowest_epsilon(halved, one, other) > EPSILON
    _, one, other = neighbours("add-remove", 3, "sex")
    assert lowest_epsilon(parts, one, other) > EPSILON


def test_the_stated_cost_is_that_of_the_worst_neighbours():
    """Exactly: no output tells two tables apart by more than what the parts add up to, and that is within epsilon."""
    for adjacency, rows, target in (("add-remove", 1, "size"), ("add-remove", 3, "sex"), ("replace", 1, "size")):
        parts, one, other = neighbours(adjacency, rows, target)
        moved = [np.abs(np.subtract(a, b)).sum() for a, b in zip(one, other, strict=True)]
        loss = sum(Fraction(int(move)) / Fraction(part.scale) for move, part in zip(moved, parts, strict=True))
        assert 0.5 * EPSILON < loss <= EPSILON
