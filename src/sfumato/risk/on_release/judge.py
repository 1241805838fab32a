"""Simultaneous intervals, Holm-corrected p-values and guarantee ceilings of all attacks.

**The ceiling.** A guarantee bounds for neighbouring tables T and T' how often any event can happen: P(E | T) <=
h(P(E | T')), where h, the curve's ``hits``, is concave. Let E be a success about person i. On members it happens with
a_i = P(E_i | T); with b_i that chance had i not been in the table, a_i <= h(b_i), and since h is concave the mean of
the a_i is at most h(mean of the b_i). People of the holdout were not in the table and come from the same population,
so the control measures the mean of the b_i (of a table with one row more: the difference is of the order of one row).
The ceiling is taken at the upper end of the control's interval.

**Singling out** counts predicates, not people: a predicate succeeds if it isolates anybody of n. The events "isolates
person i" exclude each other, so that P(success) = sum a_i <= sum h(b_i) <= n h(B / n), where B = sum b_i is what the
control measures. For pure epsilon that is e^epsilon B.

**Many attacks.** With k attacks each of the 2 k intervals is taken at 1 - alpha / (2 k), so that all hold together with
probability 1 - alpha (Bonferroni). Whether an attack works is settled by its own exact test, corrected by Holm (1979):
the chance that any attack is called working on a release that knows nothing of its members is at most alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.formatting import percent_fixed
from sfumato.metrics.confidence import binomial_interval
from sfumato.privacy.exact import at_least, to_fraction
from sfumato.risk.attacks.attack import AttackAttempt
from sfumato.risk.on_release.result import Grade, ReleaseAttackResult

AWAY = 0.25
"""From this certain gain on a release gives its people away."""


def holm(chances: Sequence[float | None]) -> list[float | None]:
    """Return Holm's corrected chances, in the order given; what was not tested stays so.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    order = sorted((p, place) for place, p in enumerate(chances) if p is not None)
    adjusted: list[float | None] = [None] * len(chances)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[place] = largest
    return adjusted


def judge_attacks(
    tried: Sequence[AttackAttempt], curve: Any, claim: str, level: float
) -> tuple[ReleaseAttackResult, ...]:
    """Return the attacks with intervals that hold together, corrected chances and the ceilings of the guarantee."""
    each = 1 - (1 - level) / (2 * max(len(tried), 1))
    adjusted = holm([attack.p for attack in tried])
    return tuple(_one(attack, p, curve, claim, each, level) for attack, p in zip(tried, adjusted, strict=True))


def _one(
    attack: AttackAttempt, adjusted: float | None, curve: Any, claim: str, each: float, level: float
) -> ReleaseAttackResult:
    blind = attack.blind_hits
    control = None if blind is None else blind / attack.blind_trials
    ceiling = None
    if curve is not None and blind is not None and attack.criterion != "overfitting":
        highest = binomial_interval(round(blind), attack.blind_trials, each).high
        ceiling = min(1.0, attack.people * float(curve.hits(highest / attack.people)))
    baseline = attack.baseline if attack.baseline is not None else control
    return ReleaseAttackResult.of_counts(
        attack.hits,
        attack.trials,
        blind,
        attack.blind_trials,
        each,
        attack=attack.name,
        threat=attack.threat,
        criterion=attack.criterion,
        baseline=0.0 if baseline is None else baseline,
        ceiling=ceiling,
        claim=claim if ceiling is not None else "",
        p=attack.p,
        adjusted=adjusted,
        alpha=1 - level,
        worst=attack.worst,
        more=dict(attack.more),
        notes=attack.notes,
    )


def strongest_of(results: Sequence[ReleaseAttackResult]) -> ReleaseAttackResult | None:
    """Return the attack on people with the largest certain gain; where none is certain, the least likely by chance."""
    about = [each for each in results if each.criterion != "overfitting" and each.adjusted is not None]
    return max(about, key=lambda each: (each.gain_low, -(each.p or 0.0)), default=None)


def verdict_of(results: Sequence[ReleaseAttackResult], holdout: bool, formal: bool, targets: int) -> tuple[Grade, str]:
    """Return the grade and the verdict in words; nearness measures overfitting and counts for neither."""
    results = [each for each in results if each.criterion != "overfitting"]
    working = [each for each in results if each.succeeds]
    refuted = [each.attack for each in results if each.refutes_claim]
    if refuted:
        return (
            "breaks its guarantee",
            f"The guarantee is refuted by: {'; '.join(refuted)}. {_success_sentence(working, results)}",
        )
    if not holdout:
        return "cannot be told", _without(working)
    if not working:
        return "nothing found", _nothing(results, strongest_of(results), targets)
    if max(each.gain_low for each in working) >= AWAY:
        return "gives its people away", f"The release gives its people away: {_success_sentence(working, results)}"
    if formal:
        said = "Attacks find something, and no more than the guarantee allows"
        return "within its guarantee", f"{said}: {_success_sentence(working, results)}"
    return "exposes some people", f"The release exposes some people: {_success_sentence(working, results)}"


def _success_sentence(working: Sequence[ReleaseAttackResult], results: Sequence[ReleaseAttackResult]) -> str:
    if not working:
        return "No attack beats its yardstick."
    lead = max(working, key=lambda each: (each.gain_low, -(each.p or 0.0)))
    certain = "corrected for all that was tried, "
    certain += (
        f"the gain is at least {at_least(100 * to_fraction(lead.gain_low), 3)} points"
        if lead.gain_low
        else f"the chance of so large a difference without any leak is {lead.adjusted or 0.0:.2g}"
    )
    return (
        f"{len(working)} of {_attacks(len(results))} beat{'s' if len(working) == 1 else ''} the yardstick. The "
        f"strongest, {_lower(lead.attack)}, succeeds in {percent_fixed(lead.rate)} of its tries on people of the table "
        f"and in {100 * (lead.control or 0.0):.1f} % on people who are not in it; {certain}."
    )


def _without(working: Sequence[ReleaseAttackResult]) -> str:
    others = [each for each in working if each.criterion != "membership"]
    seen = f"{_attacks(len(others))} did better" if others else "no attack did better"
    known = [f"{each.attack} needs no holdout, and works: {each.verdict()}" for each in working if each not in others]
    return " ".join(
        [
            "Without a holdout nobody can tell what the release gives away about its people from what it teaches about "
            f"everybody. Beside what is reached without the release, {seen}; for a useful release that is no alarm.",
            *known,
        ]
    )


def _nothing(results: Sequence[ReleaseAttackResult], strongest: ReleaseAttackResult | None, targets: int) -> str:
    none = f"none of {len(results)} attacks" if len(results) > 1 else "not even the one attack that fits"
    if strongest is None:
        return "Nothing was found, and nothing could be tried: no attack fits this release."
    return (
        f"Nothing was found: {none} on up to {targets:,} people did better on people of the "
        f"table than on people who are not in it. Nearest to it came {_lower(strongest.attack)}, whose intervals leave "
        f"room for {100 * strongest.gain_high:.1f} points. An attack that fails proves little: another may do better."
    )


def _attacks(count: int) -> str:
    return f"{count} attack{'' if count == 1 else 's'}"


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]
