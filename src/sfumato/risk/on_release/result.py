"""Result of attacking a release: rate, baseline, control, ceiling and worst records per attack."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sfumato.formatting import percent_fixed
from sfumato.lazy import HOOKS, load_object
from sfumato.privacy.exact import percent_at_most
from sfumato.reprs import ReprMixin
from sfumato.risk.attacks.attack import AttackResult, Criterion

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
