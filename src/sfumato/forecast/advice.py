"""What would help most: the forecast computed again with one thing changed at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from sfumato.forecast.facts import Facts
from sfumato.forecast.theory import Errors, expected_errors
from sfumato.forecast.verdict import DROWNED
from sfumato.privacy.exact import exact, show
from sfumato.release.forecast import Advice
from sfumato.release.plan import Plan

MOST_EPSILON = 10.0
"""No larger epsilon is advised: it would promise too little."""
WORTH = 0.9
"""An error must fall to this share of it at least, or the advice is not given."""
KEPT_PART, MORE_ROWS, MORE_EPSILON = 3, 4, 2
"""Advice asks what a third of the columns, four times the rows, twice the epsilon would bring."""
MEASURES: dict[str, Callable[[Errors], float | None]] = {
    "tvd_2": lambda errors: errors.tvd_2,
    "tvd_1": lambda errors: errors.tvd_1,
    "smallest_relation": lambda errors: errors.smallest_relation,
    "mean_error": lambda errors: errors.mean_error,
}
"""What an advice is measured by: the first that falls by enough."""


def advice_of(facts: Facts, rows: float, plan: Plan) -> tuple[Advice, ...]:
    """Return what would lower the errors, the largest gain first."""
    now = expected_errors(facts, rows)
    changes = (*_fewer_columns(facts, now), *_larger_epsilon(facts, plan), *_narrower(facts))
    tried = [(words, expected_errors(changed, rows)) for words, changed in changes]
    tried.append((f"{MORE_ROWS} times as many rows", expected_errors(facts, MORE_ROWS * rows)))
    found = (_gain(words, now, then) for words, then in tried)
    return tuple(sorted((each for each in found if each is not None), key=lambda each: each.then / each.now))


def _gain(words: str, now: Errors, then: Errors) -> Advice | None:
    """Return the advice with the first measure that it lowers by enough; None where it lowers none."""
    for name, measure in MEASURES.items():
        before, after = measure(now), measure(then)
        if before is not None and after is not None and after <= WORTH * before:
            return Advice(words, name, before, after)
    return None


def _fewer_columns(facts: Facts, now: Errors) -> Iterator[tuple[str, Facts]]:
    columns, drowned = len(facts.columns), int((now.tvd >= DROWNED).sum())
    if facts.plain or columns <= KEPT_PART:
        return
    kept = math.ceil(columns / KEPT_PART)
    yield f"the {kept} columns that matter most, instead of {columns}", facts.keeping(kept)
    if 0 < drowned < columns - kept:
        left = columns - drowned
        yield f"leave out the {drowned} column{'s' if drowned > 1 else ''} that will drown", facts.keeping(left)


def _larger_epsilon(facts: Facts, plan: Plan) -> Iterator[tuple[str, Facts]]:
    epsilon, delta = exact(plan.epsilon or 0), float(exact(plan.delta))
    if 0 < MORE_EPSILON * epsilon <= MOST_EPSILON:
        larger = MORE_EPSILON * epsilon
        ratio = strength(float(epsilon), delta) / strength(float(larger), delta)
        yield f"epsilon {show(larger)} instead of {show(epsilon)}", facts.quieter(ratio)


def strength(epsilon: float, delta: float) -> float:
    """Return what noise is inversely proportional to: epsilon where delta is 0, else the root of rho.

    rho + 2 sqrt(rho ln(1 / delta)) = epsilon (Bun and Steinke 2016) is not what the accountants use, which is tighter;
    ratios of two epsilons are within a few percent of theirs, and take no time.

    >>> strength(2.0, 0.0) / strength(1.0, 0.0), round(strength(2.0, 1e-9) / strength(1.0, 1e-9), 2)
    (2.0, 1.98)
    """
    if not delta:
        return epsilon
    logarithm = -math.log(delta)
    return math.sqrt(logarithm + epsilon) - math.sqrt(logarithm)


def _narrower(facts: Facts) -> Iterator[tuple[str, Facts]]:
    if not facts.plain and any(column.ordered for column in facts.columns):
        yield "public bounds half as wide, where they are generous", replace(facts, width=facts.width / 2)
