"""Result of attacking a release, by attack: rate, baseline, control, worst records, ceiling and corrected p-value.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sfumato.formatting import percent_fixed
from sfumato.lazy import HOOKS, load_object
from sfumato.metrics.confidence import binomial_interval
from sfumato.privacy.exact import at_least, percent_at_most, to_fraction
from sfumato.reprs import ReprMixin
from sfumato.risk.attacks.attack import AttackAttempt, AttackResult, Criterion

Grade = Literal[
    "breaks its guarantee",
    "gives its people away",
    "exposes some people",
    "within its guarantee",
    "nothing found",
    "cannot be told",
]
NOTICE = (
    "These numbers are about the private rows: for the custodian's eyes. Nothing was released or spent. Whoever "
    "changes a release because of them has asked the table a question that no budget paid for."
)


class ReleaseAttackResult(AttackResult):
    """One attack on a release that exists.

    ``rate`` is its success on people of the table, ``control`` on people who are not in it. For membership a success
    is to be called a member, so that ``rate`` is the share of hits and ``control`` the share of false alarms.
    """

    criterion: Criterion
    p: float | None = None
    adjusted: float | None = None
    """The same after Holm's correction for all attacks that were tried."""
    alpha: float = 0.05
    worst: tuple[int, ...] = ()
    """Rows of the table that the attack read best, counted from 1."""

    @property
    def succeeds(self) -> bool:
        """Whether the attack beats its yardstick, at ``alpha`` for all attacks together."""
        return self.adjusted is not None and self.adjusted <= self.alpha

    @property
    def gain_low(self) -> float:
        """What the attack certainly gains: the lower end for people of the table, less the upper end for others."""
        beside = self.baseline if self.control_interval is None else self.control_interval.high
        return max(0.0, self.interval.low - beside)

    @property
    def gain_high(self) -> float:
        """What the intervals leave room for."""
        beside = self.baseline if self.control_interval is None else self.control_interval.low
        return max(0.0, self.interval.high - beside)

    @property
    def refutes_claim(self) -> bool:
        """Whether the whole interval lies above the ceiling; not asked of singling out, whose trials share people."""
        return self.criterion != "singling out" and super().refutes_claim

    def verdict(self) -> str:
        """Return in one sentence what the attack shows."""
        beside, what = (self.baseline, "without the release") if self.control is None else (self.control, "on others")
        said = f"{percent_fixed(self.rate)} on people of the table, {percent_fixed(beside)} {what}"
        if self.succeeds:
            return f"It works: {said}."
        room = f"the intervals leave room for {100 * self.gain_high:.1f} points"
        return f"It was not seen to work: {said}; {room}."

    def ceiling_line(self) -> str:
        """Return in one sentence what the guarantee allows where it succeeds as often on others."""
        if self.ceiling is None or self.control_interval is None:
            return "No ceiling is known for this attack."
        others = f"where it succeeds on up to {percent_fixed(self.control_interval.high)} of others"
        said = f"the guarantee ({self.claim}) allows at most {percent_at_most(self.ceiling)} on people of the table"
        return f"{'REFUTED: ' if self.refutes_claim else ''}{others[0].upper()}{others[1:]}, {said}."

    def control_lines(self) -> tuple[str, ...]:
        """The verdict has told it."""
        return ()


@dataclass(frozen=True, repr=False)
class ReleaseAttackReport(ReprMixin):
    """Everything that was tried on one release. Confidential: it was computed from private rows without noise."""

    table: str
    what: str
    """What was attacked, in a few words."""
    rows: int
    made_rows: int | None
    """Released rows; none where counts were released."""
    holdout_rows: int | None
    results: tuple[ReleaseAttackResult, ...]
    left_out: tuple[str, ...]
    """Attacks that were not run, and why."""
    grade: Grade
    verdict: str
    strongest: str | None
    """The attack with the largest certain gain."""
    advantage_low: float
    """What the strongest attack certainly gains, corrected for having tried all."""
    targets: int
    level: float
    notes: tuple[str, ...] = ()
    given: Any = field(default=None, repr=False)
    """What was attacked, for the page: its guarantee, its document, its schema."""
    notice: str = NOTICE

    _headers = ("attack", "on members", "on others", "without the release", "ceiling", "works")

    @property
    def works(self) -> tuple[ReleaseAttackResult, ...]:
        """The attacks that beat their yardstick; nearness measures overfitting, and is none of them."""
        return tuple(each for each in self.results if each.succeeds and each.criterion != "overfitting")

    @property
    def refuted(self) -> tuple[ReleaseAttackResult, ...]:
        """The attacks that do better than the guarantee allows."""
        return tuple(each for each in self.results if each.refutes_claim)

    def of(self, criterion: Criterion) -> tuple[ReleaseAttackResult, ...]:
        """Return the attacks of one kind."""
        return tuple(each for each in self.results if each.criterion == criterion)

    @property
    def worst_records(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """Rows of the table that attacks which work read best, from 1, and which attacks; most of them first."""
        named: dict[int, list[str]] = {}
        for each in self.works:
            for row in each.worst:
                named.setdefault(row, []).append(each.attack)
        return tuple((row, tuple(by)) for row, by in sorted(named.items(), key=lambda item: (-len(item[1]), item[0])))

    def _line(self) -> str:
        return f"CONFIDENTIAL; {self.what}: {self.verdict}"

    def _lines(self) -> list[tuple[str, ...]]:
        return [(each.attack, *shares_of(each), "yes" if each.succeeds else "no") for each in self.results]

    def statement(self) -> str:
        """Return everything in words: the verdict first."""
        each = [f"{result.attack}. {result.verdict()} {result.ceiling_line()}" for result in self.results]
        return "\n".join([self.verdict, *each, *self.left_out, *(f"Note: {note}." for note in self.notes), self.notice])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        keys = [key for key in self.__dataclass_fields__ if key not in ("given", "results")]
        body = {key: getattr(self, key) for key in keys}
        attacks = [
            {**each.model_dump(mode="json"), "succeeds": each.succeeds, "refutes_claim": each.refutes_claim}
            for each in self.results
        ]
        worst = [{"row": row, "attacks": list(by)} for row, by in self.worst_records]
        return {key: list(v) if isinstance(v, tuple) else v for key, v in body.items()} | {
            "attacks": attacks,
            "worst_records": worst,
        }

    def save(self, path: str | Path) -> Path:
        """Write the risk page for the custodian's eyes, readable by its owner alone, and return its path."""
        return load_object(HOOKS["ReleaseAttacks.save"])(self, path)


def shares_of(result: ReleaseAttackResult) -> tuple[str, ...]:
    """Return rate, control, baseline and ceiling in per cent."""
    shares = (result.rate, result.control, result.baseline, result.ceiling)
    return tuple("" if share is None else f"{100 * share:.1f}" for share in shares)


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
