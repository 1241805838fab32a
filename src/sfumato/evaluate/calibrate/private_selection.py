"""Choose a parameter on the private table under DP: release, score with noise, stop at success.

The target is ``metric <= t`` for a metric with a proved sensitivity in records: u, the number of misplaced records
(:mod:`sfumato.metrics.distances`), with u / n the metric and u moving by at most k when one person (k rows)
changes. The score of a candidate release q on the table x is its *excess*

    s(q, x) = u(q, x) - t n,      and  s <= 0  exactly where the release that was made meets the target.

Sensitivity. Add-remove: u moves by at most k and t n by at most k t, so s moves by at most D = k (1 + t). Replace: n is
fixed, D = k. s is an exact fraction, floored to a lattice of 1/1024 record; as |floor(a) - floor(b)| <= ceil(|a - b|),
the whole number of lattice units moves by at most ceil(1024 D). Discrete Laplace noise of scale ceil(1024 D) / e on it
is e-DP (:mod:`sfumato.privacy.noise`).

Algorithm. Public: values v_1 < ... < v_m, t, e, beta. For i = 1, 2, ...: record the events of release i and of score i;
release with v_i; add noise to its score; stop where the noisy score is at most -margin, margin = scale ln(m / beta).

Theorem 1 (cost). Everything that is seen, all candidates and noisy scores up to the stop, is (E, d)-DP with
E = sum over all m of (epsilon_i + e), d = sum of delta_i. Where all delta_i are 0, an outcome that stops at rung i
changes its probability by a factor of at most exp(sum over j <= i of (epsilon_j + e)) (ex-post privacy, Ligett and
others 2017). Proof. Each step is differentially private given the earlier outputs (the score is post-processing of q
and one query on x), and whether to go on is read off the outputs: basic adaptive composition, over m rungs for the
first claim. For the second, the probability of an outcome is the product of those of its steps, and only the steps up
to i occur in it. QED. So recording rung by rung in a ledger with basic composition is sound: its sum is a bound that
holds for steps chosen after seeing the earlier ones (a privacy filter, Rogers and others 2016). Under "tight"
composition, which assumes parameters fixed beforehand, all m rungs are recorded before the first.

What the kept release states is the first claim, E and d of all m rungs: that the ladder stopped at this rung is seen
with the release, and depends on the rows. The epsilon of the rung alone would be false (an output can have a log ratio
of .2968 where the rung has 0.2). The second claim stands beside it as a bound for the outcome that happened.

Theorem 2 (use). With probability at least 1 - beta the release at which the ladder stops meets the target. Proof.
A rung with s > 0 has at least 0 units, so it stops the ladder only if the noise is at most -margin: for discrete
Laplace noise of scale b that has probability at most exp(-margin / b) = beta / m. Sum over the rungs. QED

Why not best-of-many. Private selection with a random number of runs (Liu and Talwar 2019) costs three times the
*largest* candidate: 3 (max epsilon + e), whatever is chosen. On a grid that grows by a factor r the ladder costs at
most r / (r - 1) times the largest (plus scores), 1.1 to 2 times for r of 10 to 2, and only the rungs that it climbs.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sfumato.core.method import ChecksTableBeforeSpend, Method, with_parameter
from sfumato.core.outcome import mark_lost_on_failure
from sfumato.core.plan import Plan, event_facts
from sfumato.core.purchases import purchased
from sfumato.core.release import (
    UNRECORDED,
    LedgerChoice,
    Release,
    open_ledger,
    plan,
    promised,
    run_recorded,
)
from sfumato.errors import NoLedgerWarning, PlanError
from sfumato.evaluate.calibrate.result import Charge, Point
from sfumato.evaluate.calibrate.search import CalibrationSubject
from sfumato.evaluate.calibrate.target import Target
from sfumato.evaluate.calibrate.trial import Trial
from sfumato.metrics.catalogue import CATALOGUE
from sfumato.privacy.accounting.accountant import basic_composition, formal_guarantee
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.guarantee import LadderSelection
from sfumato.privacy.accounting.strength import require_strong_enough
from sfumato.privacy.exact import Number, fraction_to_text, to_fraction, to_positive_fraction
from sfumato.privacy.ledger import Entry, Ledger
from sfumato.privacy.noise import add_laplace_scale, laplace_scale
from sfumato.privacy.randomness import Randomness
from sfumato.progress import report_progress, silenced
from sfumato.schema import Schema

GRAIN = 1024
"""Lattice units in one record."""
SCORE_EPSILON = 0.1
BETA = 0.05


@dataclass(frozen=True)
class NoisyScore:
    """The noisy score of one candidate: how its excess is measured, at what cost, and when it stops the ladder."""

    target: Target
    schema: Schema
    epsilon: Number
    values: tuple[float, ...]
    """All candidates of the ladder: fixed beforehand, and recorded with every score."""
    beta: float = BETA

    @property
    def rungs(self) -> int:
        """How many candidates there are."""
        return len(self.values)

    @property
    def units(self) -> int:
        """Sensitivity of the excess in lattice units."""
        extra = to_fraction(self.target.bound, "target") if self.schema.adjacency == "add-remove" else Fraction(0)
        return math.ceil(GRAIN * self.schema.rows_per_person * (1 + extra))

    @property
    def scale(self) -> float:
        """Scale of the noise in lattice units."""
        return laplace_scale(self.epsilon, self.units)

    @property
    def margin(self) -> float:
        """How far below 0 a noisy excess must lie, in lattice units."""
        return self.scale * math.log(self.rungs / self.beta)

    def event(self, value: float, randomness: str) -> Event:
        """Return what is recorded before the noise of a score is drawn; its note holds the whole ladder."""
        stage = f"score of candidate {value:g}: {self.target}"
        part = EventPart(stage=stage, cells=1, sensitivity=self.units, scale=self.scale)
        return Event(
            kind="discrete-laplace",
            epsilon=fraction_to_text(to_fraction(self.epsilon)),
            parts=(part,),
            note=f"one of the candidates {', '.join(map(repr, self.values))}; beta {self.beta!r}",
            **event_facts("calibrate", self.schema, randomness),
        )

    def draw(self, trial: Trial, randomness: Randomness) -> int:
        """Return the noisy excess in lattice units."""
        score = self.target.metric.records(trial)
        excess = score.misplaced - to_fraction(self.target.bound, "target") * score.records
        return int(add_laplace_scale([math.floor(excess * GRAIN)], self.scale, randomness)[0])

    def point(self, value: float, noisy: int, records: float, level: float) -> Point:
        """Return the noisy score as a point of the curve; shares are of the released number of records."""
        size = GRAIN * max(records, 1.0)
        mean, half = self.target.bound + noisy / size, self.scale * math.log(2 * self.rungs / (1 - level)) / size
        sd = math.sqrt(2) * self.scale / size
        return Point(
            value=value, mean=mean, low=mean - half, high=mean + half, sd=sd, repeats=1, meets=noisy <= -self.margin
        )


@dataclass(frozen=True)
class Candidate:
    """One candidate: its value, its method, and everything that is recorded for it."""

    value: float
    method: Method
    plan: Plan
    events: tuple[Event, ...]


@dataclass(frozen=True)
class SelectionResult:
    """What a ladder found."""

    points: tuple[Point, ...]
    charge: Charge
    release: Release | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SelectionTerms:
    """What a charged selection may cost, and where that is recorded."""

    ledger: LedgerChoice = None
    score_epsilon: Number = SCORE_EPSILON
    """Cost of each noisy score."""
    beta: float = BETA
    """Probability with which the release that is kept may miss the target."""
    allow_weak: bool = False


def select_privately(subject: CalibrationSubject, values: Sequence[float], terms: SelectionTerms) -> SelectionResult:
    """Release candidate after candidate until a noisy score meets the target. Refuses before anything is spent."""
    _require_selectable(subject.target, terms.score_epsilon, terms.beta)
    table = subject.table
    score = NoisyScore(subject.target, table.schema, terms.score_epsilon, tuple(values), terms.beta)
    rungs = [_rung(subject, value, score) for value in values]
    weak = require_strong_enough(*basic_composition((*_all_events(rungs), *purchased(table.schema))), terms.allow_weak)
    if terms.ledger is None:
        warnings.warn(NoLedgerWarning(UNRECORDED), stacklevel=3)
    book = open_ledger(terms.ledger)
    table.require_valid()
    for rung in rungs:  # all of them before anything is spent: a refusal halfway would depend on the rows
        if isinstance(rung.method, ChecksTableBeforeSpend):
            rung.method.require_table(table, rung.plan)
    table.rehearse()
    at_once = book is not None and _admits(book, table.schema.name, rungs)
    paid = list(book.spend(table.schema.name, _all_events(rungs)) if book is not None and at_once else ())
    with mark_lost_on_failure(book, paid):
        result = _steps(_Selection(subject, book, at_once, weak), rungs, score, paid)
    if book is not None and result.release is None:
        book.mark_lost(paid, "no candidate met the target")
    return result


def _require_selectable(target: Target, epsilon: Number, beta: float) -> None:
    problems = _charging_problems(target, beta)
    to_positive_fraction(epsilon, "score_epsilon")
    if problems:
        step = "use one of these metrics, a pilot (cost='pilot'), or declare the choice (cost='declared')"
        raise PlanError("this selection cannot be charged", problems, step)


def recorded_selection_problems(selection: LadderSelection) -> list[str]:
    """Return why a selection that a bundle records cannot have been charged: a hook of its verification."""
    return _charging_problems(Target.parse(selection.target), selection.beta)


def _charging_problems(target: Target, beta: float) -> list[str]:
    """Return why no selection by this target is private: the noise of its score would rest on no proof."""
    proved = ", ".join(name for name, each in CATALOGUE.items() if each.in_records)
    problems: list[str] = []
    if not target.metric.in_records:
        problems.append(f"no sensitivity is proved for {target.metric.name}; it is for: {proved}")
    if target.comparison != "<=" or not 0 <= target.bound < 1:
        problems.append(f"the target must be of the form metric <= share below 1, found {target}")
    if not 0 < beta < 1:
        problems.append(f"beta must lie between 0 and 1, found {beta}")
    return problems


def _rung(subject: CalibrationSubject, value: float, score: NoisyScore) -> Candidate:
    candidate, seed = subject.at(value), subject.seed
    planned = plan(subject.table, candidate, subject.rows, None, seed, allow_weak=True)  # the ladder as a whole counts
    if any(not event.is_formal for event in planned.events):
        raise PlanError(
            f"{candidate.name} has no formal guarantee at {subject.parameter} = {value:g}: nothing can be charged",
            next_step="choose a formal method, or use cost='declared'",
        )
    return Candidate(value, candidate, planned, (*planned.events, score.event(value, Randomness.of(seed).mode)))


def selection_events(
    selection: LadderSelection,
    method: Method,
    schema: Schema,
    rows: int | None,
    randomness: str,
) -> tuple[tuple[Event, ...], ...]:
    """Return the events of each rung of a recorded selection, from public facts alone: what a bundle must hold."""
    target = Target.parse(selection.target)
    score = NoisyScore(target, schema, selection.score_epsilon, selection.values, selection.beta)
    candidates = ((value, with_parameter(method, selection.parameter, value)) for value in selection.values)
    return tuple(
        (*each.plan(schema, rows, randomness).events, score.event(value, randomness)) for value, each in candidates
    )


def _all_events(rungs: Sequence[Candidate]) -> list[Event]:
    return [event for rung in rungs for event in rung.events]


def _admits(book: Ledger, name: str, rungs: Sequence[Candidate]) -> bool:
    """Refuse where the cap does not hold the whole ladder; return whether all of it must be recorded at once."""
    return book.check(name, _all_events(rungs)).composition != "basic"


@dataclass(frozen=True)
class _Selection:
    """What every rung is climbed with."""

    subject: CalibrationSubject
    book: Ledger | None
    at_once: bool
    weak: bool


def _steps(ladder: _Selection, rungs: Sequence[Candidate], score: NoisyScore, paid: list[Entry]) -> SelectionResult:
    subject, randomness = ladder.subject, Randomness.of(ladder.subject.seed)
    points: list[Point] = []
    kept: Release | None = None
    for rung in rungs:
        if ladder.book is not None and not ladder.at_once:
            paid += ladder.book.spend(subject.table.schema.name, rung.events)
        report_progress("releasing candidates", len(points) / len(rungs))
        with silenced():
            release = _candidate(ladder, rung, len(points))
        trial = Trial(subject.table, rung.method, 0, subject.rows, subject.options, released=release.tables)
        noisy = score.draw(trial, randomness)
        points.append(score.point(rung.value, noisy, _released_size(release), subject.level))
        if points[-1].meets:
            kept = _kept(ladder, release, rungs, len(points), score, paid)
            break
    run = rungs if ladder.at_once else rungs[: len(points)]
    return SelectionResult(
        tuple(points), _charge(run, rungs, len(points), ladder.book is not None), kept, _words(score)
    )


def _candidate(ladder: _Selection, rung: Candidate, index: int) -> Release:
    """Release one candidate, whose cost is recorded; what it promises is settled where the ladder stops."""
    table, rows = ladder.subject.table, ladder.subject.rows
    alone = promised(table.schema, rung.plan, ladder.book is not None, allow_weak=True)
    randomness = Randomness.of(_seed(ladder.subject.seed, index))
    return run_recorded(table, rung.method, rung.plan, alone, randomness, rows)


def _seed(seed: int | None, index: int) -> int | None:
    """Return a seed of its own for each candidate: none shares its stream with another, or with the scores."""
    return None if seed is None else int(np.random.SeedSequence([seed, index]).generate_state(1)[0])


def _released_size(release: Release) -> float:
    """Return the number of records as the release itself shows it: already public."""
    if release.schema.rows is not None:
        return float(release.schema.rows)
    table = next(iter(release.tables.values()))
    if release.method.makes == "rows":
        return float(table.num_rows)
    return float(table.column(table.num_columns - 1).to_numpy().clip(min=0).sum())


def _kept(
    ladder: _Selection,
    kept: Release,
    rungs: Sequence[Candidate],
    climbed: int,
    score: NoisyScore,
    paid: Sequence[Entry],
) -> Release:
    """Return the candidate at which the ladder stopped, with the events and the promise of the selection."""
    events, everything = _all_events(rungs[:climbed]), (*_all_events(rungs), *kept.guarantee.beside)
    whole = formal_guarantee(everything, *basic_composition(everything))
    facts = {
        "epsilon": whole.epsilon,
        "delta": whole.delta,
        "kind": whole.kind,
        "allowed_weak": ladder.weak,
        "selection": _selection(ladder.subject.parameter, rungs, climbed, score),
    }
    release = kept.promising(kept.guarantee.model_copy(update=facts), events)
    others = [note for note in kept.notes if note not in (*kept.guarantee.in_total, *kept.guarantee.warnings)]
    release = replace(release, notes=(*others, *release.guarantee.in_total, *release.guarantee.warnings))
    if ladder.book is None:
        return release
    account = ladder.book.account(kept.schema.name)
    return replace(release, entries=tuple(paid), account=account, ledger=ladder.book)


def _selection(parameter: str, rungs: Sequence[Candidate], climbed: int, score: NoisyScore) -> LadderSelection:
    spent = basic_composition(_all_events(rungs[:climbed]))
    return LadderSelection(
        parameter=parameter,
        values=tuple(rung.value for rung in rungs),
        climbed=climbed,
        target=str(score.target),
        score_epsilon=fraction_to_text(to_fraction(score.epsilon)),
        beta=score.beta,
        spent_epsilon=fraction_to_text(spent[0]),
        spent_delta=fraction_to_text(spent[1]),
        unclimbed=tuple(_all_events(rungs[climbed:])),
    )


def _charge(run: Sequence[Candidate], rungs: Sequence[Candidate], climbed: int, recorded: bool) -> Charge:
    spent, most = basic_composition(_all_events(run)), basic_composition(_all_events(rungs))
    return Charge(
        epsilon=fraction_to_text(spent[0]),
        delta=fraction_to_text(spent[1]),
        most_epsilon=fraction_to_text(most[0]),
        most_delta=fraction_to_text(most[1]),
        candidates_run=climbed,
        candidates=len(rungs),
        recorded=recorded,
    )


def _words(score: NoisyScore) -> tuple[str, ...]:
    records, chance = score.margin / GRAIN, 100 * (1 - score.beta)
    return (
        f"A candidate is kept where its noisy excess lies {records:.3g} records below the target: the release that is "
        f"kept meets the target with probability at least {chance:g} %. Intervals are about that one release.",
    )
