"""Audit a method's claimed epsilon on worst-case neighbouring tables.

Nothing private is read: the tables are made from the schema. First all cases are tried on one half of the runs, on
which the case and the way to the bound are chosen; then the chosen case is run again, and those runs alone give the
bounds. Mu and epsilon are each bounded at half of the allowed error, so that both hold together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato.argument_errors import checked_arguments
from sfumato.core.method import Method
from sfumato.core.release import check_seed
from sfumato.errors import RiskError, SfumatoError
from sfumato.formatting import percent
from sfumato.privacy.exact import at_least
from sfumato.privacy.randomness import Randomness
from sfumato.progress import steps as told_steps
from sfumato.reprs import ReprMixin
from sfumato.risk.auditing.lower_bounds import ALL_DRAWN, Claim, choose_bound_methods, noise_law_problem
from sfumato.risk.auditing.runs import AuditCase, PairedRuns, audit_schema, fresh_seeds, worst_cases
from sfumato.schema import Schema

RUNS, FEWEST_RUNS, FEWEST_TRIED = 120, 8, 2
CHOOSING = 0.2
"""Alpha of the bounds by which cases and scores are compared: no claim is made of them."""


@dataclass(frozen=True, repr=False)
class Audit(ReprMixin):
    """What an audit found: lower bounds, which hold together at the confidence, beside what is claimed."""

    method: str
    epsilon_low: float
    epsilon_claimed: float
    mu_low: float
    mu_claimed: float
    delta: float
    confidence: float
    runs: int
    """Runs on each of two tables, both halves together."""
    case: str
    """The neighbouring tables on which it was found, in words."""
    score: str
    """What gave mu away."""
    epsilon_score: str
    """What gave epsilon away."""
    attack_mu_low: float
    """The bound on mu of an attack that knows nothing about the law of the noise: weaker, and free of assumptions."""
    attack_score: str
    columns: tuple[str, ...] = ()
    impossible: int = 0
    """Runs of the second half that the neighbouring table cannot have made."""
    noise_problem: str | None = None

    @property
    def refuted(self) -> bool:
        """Whether the claim is certainly wrong, at the confidence."""
        above = self.epsilon_low > self.epsilon_claimed or self.mu_low > self.mu_claimed * (1 + 1e-9)
        return above or self.noise_problem is not None

    @property
    def share(self) -> float:
        """The lower bound on mu as a share of the claimed mu: near 1 means that the claim is tight."""
        return self.mu_low / self.mu_claimed

    def statement(self) -> str:
        """Return the finding in plain words."""
        sure = percent(self.confidence, 6)
        found = (
            f"{self.method}, run {self.runs:,} times on each of two neighbouring tables ({self.case}): epsilon is at "
            f"least {_least(self.epsilon_low)} of the claimed {_number(self.epsilon_claimed)} at delta "
            f"{_number(self.delta)}, mu at least {_least(self.mu_low)} of {_number(self.mu_claimed)} ({sure} sure)."
        )
        return " ".join([found, *self._more(), self.verdict()])

    def _more(self) -> list[str]:
        said: list[str] = []
        if self.impossible:
            said.append(f"{self.impossible:,} runs could not have come from the neighbouring table.")
        if self.noise_problem is not None:
            said.append(f"{self.noise_problem[0].upper()}{self.noise_problem[1:]}.")
        if self.score == ALL_DRAWN:
            said.append(
                f"The bounds know each step's law of noise, which all draws agree with; without it the best attack "
                f"shows a mu of {_number(self.attack_mu_low)}."
            )
        return said

    def verdict(self) -> str:
        """Return in one sentence whether the claim stands."""
        if self.refuted:
            return "REFUTED: the method gives away more than it claims."
        return "The claim was not refuted; that proves nothing beyond these tables and runs."

    def _line(self) -> str:
        word = "REFUTED: " if self.refuted else ""
        claimed = _number(self.epsilon_claimed), _number(self.mu_claimed)
        shown = _least(self.epsilon_low), claimed[0], _least(self.mu_low), claimed[1]
        return "{}{}: epsilon at least {} of {}, mu at least {} of {}".format(word, self.method, *shown)

    def _lines(self) -> list[tuple[str, str]]:
        return [
            ("epsilon", f"at least {_least(self.epsilon_low)}, claimed {_number(self.epsilon_claimed)}"),
            ("mu", f"at least {_least(self.mu_low)}, claimed {_number(self.mu_claimed)}"),
            ("delta", _number(self.delta)),
            ("tables", self.case),
            ("runs of each", f"{self.runs:,}"),
            ("given away by", self.score),
            ("verdict", self.verdict()),
        ]


def _least(value: float) -> str:
    return "any number" if math.isinf(value) else at_least(value, 3)


def _number(value: float) -> str:
    return "any number" if math.isinf(value) else f"{value:.3g}"


@checked_arguments
def audit(method: Method, schema: Schema, runs: int = RUNS, confidence: float = 0.95, seed: int | None = None) -> Audit:
    """Return lower confidence bounds on the epsilon and the mu of a method, beside those that it claims.

    The tables are made from the schema: no private data are needed, nothing is spent. Of the schema the columns that
    the method names are taken, or three small ones. ``runs`` is how often the method is run on each of two tables.
    """
    check_runs(runs, confidence)
    generator, alpha = np.random.default_rng(check_seed(seed)), (1 - confidence) / 2
    subjects = audit_cases(method, schema)
    first, second = max(runs // 2 // len(subjects), FEWEST_TRIED), runs - runs // 2
    with told_steps("auditing", 2 * (first * len(subjects) + second)) as told:
        trials = [PilotCase.of(subject, subject.watched(fresh_seeds(first, generator), told)) for subject in subjects]
        best = max(trials, key=PilotCase.shown)
        last = best.subject.watched(fresh_seeds(second, generator), told)
    drawn = [step for runs_of in (*(trial.pilot for trial in trials), last) for step in runs_of.steps]
    return replace(best.judged(last, alpha, noise_law_problem(drawn, generator)), runs=runs)


@dataclass(frozen=True)
class PilotCase:
    """One case on the first half of the runs."""

    subject: AuditCase
    claim: Claim
    pilot: PairedRuns

    @classmethod
    def of(cls, subject: AuditCase, pilot: PairedRuns) -> PilotCase:
        """Return the case with what its plan claims."""
        return cls(subject, Claim.of_plan(subject.plan), pilot)

    def shown(self) -> float:
        """Return the share of the claimed mu that the first half shows; an impossible run weighs more than any."""
        if self.pilot.impossible:
            return float(self.pilot.runs + self.pilot.impossible)
        ways = choose_bound_methods(self.pilot, self.claim, CHOOSING)
        return ways.mu.bound(self.pilot, CHOOSING) / self.claim.mu

    def judged(self, last: PairedRuns, alpha: float, problem: str | None) -> Audit:
        """Return what the second half proves, by the ways that the first half chose."""
        ways, claim = choose_bound_methods(self.pilot, self.claim, CHOOSING, lawful=problem is None), self.claim
        return Audit(
            method=self.subject.method.name,
            epsilon_low=ways.epsilon.bound(last, alpha),
            epsilon_claimed=claim.epsilon,
            mu_low=ways.mu.bound(last, alpha),
            mu_claimed=claim.mu,
            delta=claim.delta,
            confidence=1 - 2 * alpha,
            runs=(self.pilot.runs + last.runs) // 2,
            case=self.subject.case.words,
            score=ways.mu.name,
            epsilon_score=ways.epsilon.name,
            attack_mu_low=ways.attack_mu.bound(last, alpha),
            attack_score=ways.attack_mu.name,
            columns=self.subject.case.schema.releasable,
            impossible=last.impossible,
            noise_problem=problem,
        )


def audit_cases(method: Method, schema: Schema) -> tuple[AuditCase, ...]:
    """Return the method on every hard case that it can be run on; refuses one that it can be run on nowhere."""
    found, problems = list[AuditCase](), list[str]()
    for case in worst_cases(audit_schema(schema, method)):
        try:
            subject = AuditCase(method, method.plan(case.schema, None, "seeded"), case)
            Claim.of_plan(subject.plan)
            subject.runs(True)(Randomness.of(0))
            subject.runs(False)(Randomness.of(0))
        except SfumatoError as error:
            problems.append(f"{case.words}: {error.headline}")
        else:
            found.append(subject)
    if not found:
        raise RiskError(
            f"{method.name} runs on none of the tables that an audit makes from this schema",
            problems,
            "give a schema with the columns that the method needs",
        )
    return tuple(found)


def check_runs(runs: int, confidence: float) -> None:
    """Refuse a number of runs or a confidence that makes no sense, both at once."""
    problems: list[str] = []
    if isinstance(runs, bool) or runs != int(runs) or runs < FEWEST_RUNS:
        problems.append(f"runs must be a whole number of at least {FEWEST_RUNS}, found {runs!r}")
    if not 0 < confidence < 1:
        problems.append(f"confidence must lie between 0 and 1, found {confidence!r}")
    if problems:
        raise RiskError("the audit cannot be run", problems, "use for example runs=120, confidence=0.95")
