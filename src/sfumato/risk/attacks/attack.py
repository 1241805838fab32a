"""The Attack protocol: threat model, result, and the ceiling that DP puts on any attack.

An attack is one module of this folder. Two harnesses run attacks: :mod:`sfumato.risk.simulated` releases two worlds
again and again, with and without a target, and asks the attack for scores; :mod:`sfumato.risk.on_release` holds a
release that exists, people of the table and others, and asks for an attempt: what was tried, how it went, and how
likely that is by chance. :mod:`sfumato.risk.attacks.registry` lists which attack goes into which harness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from pydantic import Field

from sfumato.arrays import BoolArray, IntArray
from sfumato.errors import RiskError
from sfumato.formatting import percent, percent_fixed
from sfumato.metrics.confidence import LEVEL, FrozenModel, Interval, binomial_interval
from sfumato.privacy.exact import percent_at_most

if TYPE_CHECKING:
    from sfumato.core.method import Method
    from sfumato.metrics.rows_view import Observes
    from sfumato.privacy.randomness import Randomness
    from sfumato.risk.on_release.run import AttackTargets
    from sfumato.risk.simulated.worlds import Score, Worlds

FEWEST_TRIALS = 20
PERMUTATIONS = 999
"""How often labels are dealt anew where a test is made by dealing."""
MOST_WORST = 10
"""Records that an attack names."""
Criterion = Literal["membership", "singling out", "linkability", "inference", "overfitting"]
"""What an attack is about: the criteria of the European guidance on anonymisation, membership, and overfitting."""


class ThreatModel(FrozenModel):
    """What an attacker wants, what the attacker knows apart from the release, and what is seen of the release."""

    goal: str
    knowledge: tuple[str, ...]
    sees: str = ""

    def seeing(self, sees: str) -> ThreatModel:
        """Return the same attacker in front of a release of which this is seen, unless that is settled."""
        return self if self.sees else self.model_copy(update={"sees": sees})

    def __str__(self) -> str:
        seen = f"; sees {self.sees}" if self.sees else ""
        return f"wants {self.goal}; knows {'; '.join(self.knowledge)}{seen}"


def dp_ceiling(epsilon: float, delta: float = 0.0, records: int = 1) -> float:
    """Return how often any attacker can at most tell two tables apart, when both are equally likely.

    Differential privacy bounds true positives by exp(epsilon) times false positives plus delta, and the same for the
    negatives. Both together leave (exp(epsilon) + delta) / (1 + exp(epsilon)). Tables that differ in several
    ``records`` have the guarantee of a group: epsilon times as large, delta summed with growing factors.

    >>> round(dp_ceiling(1.0), 6), round(dp_ceiling(1.0, records=2), 6)
    (0.731059, 0.880797)
    """
    group = records * epsilon
    slack = delta * sum(math.exp(min(i * epsilon, 700.0)) for i in range(records))
    return min(1.0, (1 + slack * math.exp(-group)) / (1 + math.exp(-group)))


class AttackResult(FrozenModel):
    """How often an attack succeeded, with everything that the number must be read against."""

    attack: str
    threat: ThreatModel
    rate: float
    """Share of trials in which the attacker was right."""
    interval: Interval
    trials: int
    baseline: float
    """What guessing without the release achieves."""
    control: float | None = None
    """The same attack where the release holds nothing about the target: it must not beat the baseline."""
    control_interval: Interval | None = None
    auc: float | None = None
    ceiling: float | None = None
    """What no attack can exceed under the stated guarantee; none without a formal one."""
    claim: str = ""
    """The guarantee behind the ceiling, in a few words."""
    optimal: float | None = None
    """What the best of all attacks on this mechanism reaches, where the mechanism is known."""
    more: dict[str, float] = Field(default_factory=dict[str, float])
    notes: tuple[str, ...] = ()

    @classmethod
    def of_counts(
        cls, hits: float, trials: int, blind_hits: float | None, blind_trials: int, level: float, **facts: Any
    ) -> Self:
        """Return a result from successes, with the target in the release and in the control, and their intervals."""
        control = None if blind_hits is None else blind_hits / blind_trials
        within = None if blind_hits is None else binomial_interval(round(blind_hits), blind_trials, level)
        return cls(
            rate=hits / trials,
            interval=binomial_interval(round(hits), trials, level),
            trials=trials,
            control=control,
            control_interval=within,
            **facts,
        )

    @property
    def advantage(self) -> float:
        """By how much the attacker does better than guessing without the release."""
        return self.rate - self.baseline

    @property
    def gain(self) -> float | None:
        """By how much the attacker does better on targets that are in the release than on those that are not."""
        return None if self.control is None else self.rate - self.control

    @property
    def succeeds(self) -> bool:
        """Whether the attacker certainly (at the level of the interval) does better than guessing."""
        return self.interval.low > self.baseline

    @property
    def refutes_claim(self) -> bool:
        """Whether the whole interval lies above the ceiling: then the stated guarantee cannot hold."""
        return self.ceiling is not None and self.interval.low > self.ceiling

    def statement(self) -> str:
        """Return the result in plain words."""
        lines = [
            f"{self.attack}: right in {percent_fixed(self.rate)} of {self.trials:,} trials "
            f"({percent(self.interval.level, 6)} interval {percent_fixed(self.interval.low)} to "
            f"{percent_fixed(self.interval.high)}). Guessing without the release is right in "
            f"{percent_fixed(self.baseline)}.",
            self.verdict(),
        ]
        lines += [*self.control_lines(), self.ceiling_line()]
        if self.optimal is not None:
            lines.append(f"The best possible attack on this mechanism is right in {percent_fixed(self.optimal)}.")
        return "\n".join([*lines, *self.notes])

    def verdict(self) -> str:
        """Return in one sentence whether the release helps the attacker."""
        if self.succeeds:
            return f"The release helps the attacker: by {100 * self.advantage:.1f} percentage points."
        if self.interval.high < self.baseline:
            return "The attack does worse than guessing; another attack may do better."
        reach = f"the interval reaches to {percent_fixed(self.interval.high)}"
        return f"The attack was not seen to beat guessing ({reach}); more trials or another attack may."

    def control_lines(self) -> tuple[str, ...]:
        """Return in one sentence what the attack reaches without the target in the release, where that was tried."""
        if self.control is None or self.gain is None:
            return ()
        within = self.control_interval
        interval = f" (interval {percent_fixed(within.low)} to {percent_fixed(within.high)})" if within else ""
        return (
            f"Control, with nothing about the target in the release: {percent_fixed(self.control)}{interval}; the "
            f"difference is {100 * self.gain:.1f} points.",
        )

    def ceiling_line(self) -> str:
        """Return in one sentence what the guarantee says about all attacks of this kind."""
        if self.ceiling is None:
            return "No ceiling is known for this attack."
        bound = f"he guarantee ({self.claim}) lets no attack be right in more than {percent_at_most(self.ceiling)}."
        return f"REFUTED: t{bound} The noise is not what it needs." if self.refutes_claim else f"T{bound}"

    def __str__(self) -> str:
        return f"{self.statement()}\nThreat: the attacker {self.threat}."


class Attack(Protocol):
    """An attack on simulated releases: it scores how much more a release looks like one with the target in it."""

    threat: ClassVar[ThreatModel]
    criterion: ClassVar[Criterion]

    @property
    def title(self) -> str:
        """What the attack is called."""
        ...

    def fits(self, worlds: Worlds) -> bool:
        """Whether two worlds can be attacked in this way."""
        return True

    def view(self, worlds: Worlds) -> Worlds:
        """Return what the attack needs of two worlds; refuse worlds that it cannot attack."""
        return worlds

    def sees(self, worlds: Worlds) -> str:
        """Return what the attacker sees of a release, in words."""
        return worlds.seen

    def fit(self, worlds: Worlds, trials: int, randomness: Randomness) -> Score:
        """Return the score by which releases are told apart, learnt from releases of its own where it has to learn."""
        ...

    def releases(self, trials: int) -> int:
        """Return how often the method is run: in each game, and for the control of every second one."""
        return trials + trials // 2

    def run(
        self,
        subject: Any,
        method: Method | None = None,
        *,
        trials: int = 1000,
        seed: int | None = None,
        level: float = LEVEL,
        target: int | None = None,
        rows: int | None = None,
        sees: Observes = "values",
    ) -> AttackResult:
        """Play the game; ``subject`` is a table (with a method) or a game of :mod:`sfumato.risk.simulated`.

        ``target`` is a row of the table, ``rows`` how many rows are released, of which the attacker ``sees`` values or
        bins.
        """
        from sfumato.risk.simulated.membership_game import play_game, to_game

        check_trials(trials, level)
        return play_game(self, to_game(subject, method, target, rows, sees), trials, seed, level)


def check_trials(trials: int, level: float) -> None:
    """Refuse a number of trials or a level that makes no sense, both at once."""
    problems: list[str] = []
    if isinstance(trials, bool) or trials != int(trials) or trials < FEWEST_TRIALS:
        problems.append(f"trials must be a whole number of at least {FEWEST_TRIALS}, found {trials!r}")
    if not 0 < level < 1:
        problems.append(f"level must lie between 0 and 1, found {level!r}")
    if problems:
        raise RiskError("the attack cannot be run", problems, "use for example trials=1000, level=0.95")


@dataclass(frozen=True)
class AttackAttempt:
    """An attack as it went, before it is judged together with the others."""

    name: str
    criterion: Criterion
    threat: ThreatModel
    hits: float
    trials: int
    baseline: float | None
    """What the attacker reaches without the release; none where it is what the control has."""
    blind_hits: float | None = None
    blind_trials: int = 0
    """The same on people who are not in the table."""
    p: float | None = None
    """How likely so large a difference is if the release knows nothing about its members."""
    worst: tuple[int, ...] = ()
    people: int = 1
    """Among how many people one success is counted; 1 where each trial is about a person of its own."""
    more: Mapping[str, float] = field(default_factory=dict[str, float])
    notes: tuple[str, ...] = ()

    @classmethod
    def on_people(
        cls,
        name: str,
        criterion: Criterion,
        threat: ThreatModel,
        members: BoolArray,
        others: BoolArray | None,
        baseline: float | None,
        worst: Sequence[int],
        *notes: str,
    ) -> AttackAttempt:
        """Return an attempt with a trial for each person: who of the members, and who of the others, succeeds.

        The chance is that of Fisher's exact test against the others, or without them of so many successes by guessing.
        """
        hits, trials = int(members.sum()), len(members)
        blind, others_trials = (None, 0) if others is None else (int(others.sum()), len(others))
        guessing = baseline or 0.0
        return cls(
            name=name,
            criterion=criterion,
            threat=threat,
            hits=hits,
            trials=trials,
            baseline=baseline,
            blind_hits=blind,
            blind_trials=others_trials,
            p=binomial_p_value(hits, trials, guessing)
            if blind is None
            else fisher_p_value(hits, trials, blind, others_trials),
            worst=tuple(worst),
            notes=notes,
        )


class AttackOptions(NamedTuple):
    """What the user says of the attackers."""

    secret: Sequence[str] | None = None
    """Columns to be guessed."""
    known: Sequence[str] | None = None
    """Columns that they are guessed from."""
    parts: tuple[Sequence[str], Sequence[str]] | None = None
    """What two files hold that are joined through the release."""
    shadows: int | None = None
    """How often the method is run on people of the holdout."""


Attempts = tuple[list[AttackAttempt], list[str]]
"""What was tried, and why something was left out."""


class ReleaseAttack(NamedTuple):
    """An attack in the harness on a given release: which releases it reads, and the function that tries it."""

    name: str
    reads: tuple[Literal["rows", "counts"], ...]
    attempt: Callable[[AttackTargets, AttackOptions], Attempts]


def fisher_p_value(hits: float, trials: int, others: float, others_trials: int) -> float:
    """Return Fisher's exact chance of at least so many of all successes among the members.

    >>> round(fisher_p_value(5, 5, 0, 5), 4)
    0.004
    """
    from scipy.stats import hypergeom

    successes, everybody = round(hits + others), trials + others_trials
    return float(hypergeom.sf(round(hits) - 1, everybody, successes, trials))


def binomial_p_value(hits: float, trials: int, baseline: float) -> float:
    """Return the chance of at least so many successes where each has the chance of the baseline."""
    from scipy.stats import binom

    return float(binom.sf(round(hits) - 1, trials, baseline))


def permutation_p_value(groups: Sequence[IntArray], people: int, observed: int, dice: np.random.Generator) -> float:
    """Return the share of deals in which members are isolated as often above others as observed, itself counted."""
    from scipy.sparse import csr_array

    if not groups:
        return 1.0
    ends = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
    who, columns = np.unique(np.concatenate(groups), return_inverse=True)
    table = csr_array((np.ones(ends[-1], np.int32), columns, ends), shape=(len(groups), len(who)))
    sizes = np.diff(ends)[:, None]
    labels = np.zeros((PERMUTATIONS, people), np.int32)
    labels[:, : people // 2] = 1
    inside: IntArray = table @ dice.permuted(labels, axis=1)[:, who].T
    differences = np.equal(inside, 1).sum(axis=0) - np.equal(sizes - inside, 1).sum(axis=0)
    return float((1 + (differences >= observed).sum()) / (PERMUTATIONS + 1))
