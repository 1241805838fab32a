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
from sfumato.core.release import (
    UNRECORDED,
    Release,
    open_ledger,
    plan,
    promised,
    run_recorded,
)
from sfumato.core.schema_assumptions import purchased
from sfumato.errors import NoLedgerWarning, PlanError
from sfumato.evaluate.calibrate.result import Charge, Point
from sfumato.evaluate.calibrate.search import BETA, CalibrationRequest
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


def select_privately(request: CalibrationRequest) -> SelectionResult:
    """Release candidate after candidate until a noisy score meets the target. Refuses before anything is spent."""
    _require_selectable(request.target, request.score_epsilon, request.beta)
    table, values = request.searched, request.values
    score = NoisyScore(request.target, table.schema, request.score_epsilon, values, request.beta)
    rungs = tuple(_rung(request, value, score) for value in values)
    everything = _all_events(rungs)
    weak = require_strong_enough(*basic_composition((*everything, *purchased(table.schema))), request.allow_weak)
    if request.ledger is None:
        warnings.warn(NoLedgerWarning(UNRECORDED), stacklevel=3)
    book = open_ledger(request.ledger)
    table.require_valid()
    for rung in rungs:  # all of them before anything is spent: a refusal halfway would depend on the rows
        if isinstance(rung.method, ChecksTableBeforeSpend):
            rung.method.require_table(table, rung.plan)
    table.rehearse()
    # the cap must hold the whole ladder, all of which is recorded at once unless composition is basic
    at_once = book is not None and book.check(table.schema.name, everything).composition != "basic"
    paid = list(book.spend(table.schema.name, everything) if book is not None and at_once else ())
    with mark_lost_on_failure(book, paid):
        result = _Ladder(request, score, rungs, book, at_once, weak, paid).climb()
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


def _rung(request: CalibrationRequest, value: float, score: NoisyScore) -> Candidate:
    candidate, seed = request.at(value), request.seed
    planned = plan(request.searched, candidate, request.rows, None, seed, allow_weak=True)  # all rungs together count
    if any(not event.is_formal for event in planned.events):
        raise PlanError(
            f"{candidate.name} has no formal guarantee at {request.parameter} = {value:g}: nothing can be charged",
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


@dataclass(frozen=True)
class _Ladder:
    """Candidates in the order in which they are released, and where their cost is recorded."""

    request: CalibrationRequest
    score: NoisyScore
    rungs: tuple[Candidate, ...]
    book: Ledger | None
    at_once: bool
    """Whether all rungs are recorded before the first."""
    weak: bool
    paid: list[Entry]

    def climb(self) -> SelectionResult:
        """Record, release and score rung after rung, up to the one whose noisy score meets the target."""
        table, randomness = self.request.searched, Randomness.of(self.request.seed)
        points: list[Point] = []
        kept: Release | None = None
        for rung in self.rungs:
            if self.book is not None and not self.at_once:
                self.paid.extend(self.book.spend(table.schema.name, rung.events))
            report_progress("releasing candidates", len(points) / len(self.rungs))
            with silenced():
                release = self._released(rung, len(points))
            noisy = self.score.draw(self.request.trial(rung.value, released=release.tables), randomness)
            points.append(self.score.point(rung.value, noisy, _released_size(release), self.request.level))
            if points[-1].meets:
                kept = self._kept(release, len(points))
                break
        return SelectionResult(tuple(points), self._charge(len(points)), kept, _words(self.score))

    def _released(self, rung: Candidate, index: int) -> Release:
        """Release one candidate, whose cost is recorded; what it promises is settled where the ladder stops.

        Each has a seed of its own: none shares its stream with another, or with the scores.
        """
        table, seed = self.request.searched, self.request.seed
        alone = promised(table.schema, rung.plan, self.book is not None, allow_weak=True)
        own = None if seed is None else int(np.random.SeedSequence([seed, index]).generate_state(1)[0])
        return run_recorded(table, rung.method, rung.plan, alone, Randomness.of(own), self.request.rows)

    def _kept(self, kept: Release, climbed: int) -> Release:
        """Return the candidate at which the ladder stopped, with the events and the promise of the selection."""
        events, everything = _all_events(self.rungs[:climbed]), (*_all_events(self.rungs), *kept.guarantee.beside)
        whole = formal_guarantee(everything, *basic_composition(everything))
        facts = {
            "epsilon": whole.epsilon,
            "delta": whole.delta,
            "kind": whole.kind,
            "allowed_weak": self.weak,
            "selection": self._selection(climbed),
        }
        release = kept.promising(kept.guarantee.model_copy(update=facts), events)
        others = [note for note in kept.notes if note not in (*kept.guarantee.in_total, *kept.guarantee.warnings)]
        release = replace(release, notes=(*others, *release.guarantee.in_total, *release.guarantee.warnings))
        if self.book is None:
            return release
        account = self.book.account(kept.schema.name)
        return replace(release, entries=tuple(self.paid), account=account, ledger=self.book)

    def _selection(self, climbed: int) -> LadderSelection:
        spent = _cost(self.rungs[:climbed])
        return LadderSelection(
            parameter=self.request.parameter,
            values=self.score.values,
            climbed=climbed,
            target=str(self.score.target),
            score_epsilon=fraction_to_text(to_fraction(self.score.epsilon)),
            beta=self.score.beta,
            spent_epsilon=spent[0],
            spent_delta=spent[1],
            unclimbed=tuple(_all_events(self.rungs[climbed:])),
        )

    def _charge(self, climbed: int) -> Charge:
        spent, most = _cost(self.rungs if self.at_once else self.rungs[:climbed]), _cost(self.rungs)
        return Charge(
            epsilon=spent[0],
            delta=spent[1],
            most_epsilon=most[0],
            most_delta=most[1],
            candidates_run=climbed,
            candidates=len(self.rungs),
            recorded=self.book is not None,
        )


def _cost(rungs: Sequence[Candidate]) -> tuple[str, str]:
    """Return epsilon and delta of some rungs together."""
    epsilon, delta = basic_composition(_all_events(rungs))
    return fraction_to_text(epsilon), fraction_to_text(delta)


def _released_size(release: Release) -> float:
    """Return the number of records as the release itself shows it: already public."""
    if release.schema.rows is not None:
        return float(release.schema.rows)
    table = next(iter(release.tables.values()))
    if release.method.makes == "rows":
        return float(table.num_rows)
    return float(table.column(table.num_columns - 1).to_numpy().clip(min=0).sum())


def _words(score: NoisyScore) -> tuple[str, ...]:
    records, chance = score.margin / GRAIN, 100 * (1 - score.beta)
    return (
        f"A candidate is kept where its noisy excess lies {records:.3g} records below the target: the release that is "
        f"kept meets the target with probability at least {chance:g} %. Intervals are about that one release.",
    )
