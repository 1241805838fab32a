"""Attacks on released counts, whose noise is known: the likelihood ratio, and cells that show one person.

**Likelihood ratio.** The attacker knows every other record and the law of the noise, so that the ratio of likelihoods
with and without the target is the best of all tests (Neyman and Pearson). Everybody in a cell meets the same noise. So
at most one target is taken from each cell of each released table: then all scores are independent, and the exact
intervals hold. The threshold is 0, which needs no choosing. Who is not in the table can be anybody: the score depends
on the noise alone, so that without a holdout people of the public domain take its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.arrays import FloatArray, IntArray
from sfumato.metrics.rows_view import Codes
from sfumato.risk.attacks.attacker_view import IN_WORDS
from sfumato.risk.attacks.attribute_inference import counts_of
from sfumato.risk.attacks.membership import LikelihoodRatio
from sfumato.risk.on_release.judge import fisher_p_value
from sfumato.risk.on_release.people import AttackTargets
from sfumato.risk.on_release.result import MOST_WORST, AttackAttempt
from sfumato.risk.on_release.singling_out import FEWEST, IsolationCounts, isolation_attempt
from sfumato.risk.simulated.count_worlds import log_ratio, noise_distribution
from sfumato.risk.simulated.trials import has_known_count_noise

Counted = Mapping[tuple[str, ...], FloatArray]


def released_counts(subject: AttackTargets) -> Counted:
    """Return every released table as a flat array of its counts."""
    return {names: counts_of(table, subject.schema, names).ravel() for names, table in subject.was.tables.items()}


def cells_of(subject: AttackTargets, codes: Codes, names: tuple[str, ...]) -> IntArray:
    """Return the cell of each person in one released table."""
    places = [subject.names.index(name) for name in names]
    return np.ravel_multi_index(tuple(codes[:, place] for place in places), subject.schema.shape(names))


def likelihood_ratio(subject: AttackTargets) -> tuple[list[AttackAttempt], list[str]]:
    """Call a member whoever makes the released counts likelier; return also why that was left out."""
    method: Any = subject.was.method
    if method is None or not has_known_count_noise(method) or subject.schema.person is not None:
        return [], ["Likelihood ratio: left out, as the law of these counts for one row is not known exactly."]
    dice = subject.dice(40)
    outside = subject.outside
    strangers = _anybody(subject, dice) if outside is None else outside.codes
    chosen, cells = _one_target_per_cell(subject, strangers, dice)
    scores = _scores(subject, cells, chosen < len(subject.inside))
    member = chosen < len(subject.inside)
    inside, blind = scores[member], scores[~member]
    if min(len(inside), len(blind)) < FEWEST:
        few = min(len(inside), len(blind))
        return [], [f"Likelihood ratio: left out, as only {few} people lie in cells of their own."]
    hits, alarms = int((inside > 0).sum()), int((blind > 0).sum())
    best = np.argsort(-inside, kind="stable")[:MOST_WORST]
    tried = AttackAttempt(
        name="Membership, likelihood ratio",
        criterion="membership",
        threat=LikelihoodRatio.threat.seeing(IN_WORDS["counts"]),
        hits=hits,
        trials=len(inside),
        baseline=None,
        blind_hits=alarms,
        blind_trials=len(blind),
        p=fisher_p_value(hits, len(inside), alarms, len(blind)),
        worst=subject.rows_named(subject.members[chosen[member][best]]),
        notes=("One target from each cell, so that each meets noise of its own.",),
    )
    return [tried], []


def _anybody(subject: AttackTargets, dice: np.random.Generator) -> Codes:
    sizes = [column.size for column in subject.sight.columns]
    return dice.integers(0, sizes, (len(subject.inside), len(sizes)))


def _one_target_per_cell(
    subject: AttackTargets, strangers: Codes, dice: np.random.Generator
) -> tuple[IntArray, dict[tuple[str, ...], IntArray]]:
    """Return targets of whom no two share a cell, members and strangers in turn, and their cells."""
    codes = np.concatenate([subject.inside.codes, strangers])
    cells = {names: cells_of(subject, codes, names) for names in subject.was.tables}
    mine, theirs = dice.permutation(len(subject.inside)), len(subject.inside) + dice.permutation(len(strangers))
    waiting = {True: list(mine), False: list(theirs)}
    taken: dict[tuple[str, ...], set[int]] = {names: set() for names in cells}
    chosen: list[int] = []
    turn = True
    while waiting[True] and waiting[False]:
        who = waiting[turn].pop()
        if all(int(cells[names][who]) not in taken[names] for names in cells):
            chosen.append(int(who))
            for names in cells:
                taken[names].add(int(cells[names][who]))
            turn = not turn
    order = np.array(sorted(chosen), np.int64)
    return order, {names: own[order] for names, own in cells.items()}


def _scores(subject: AttackTargets, cells: dict[tuple[str, ...], IntArray], member: Any) -> FloatArray:
    """Return the log of how much likelier the release is with each target than without."""
    method: Any = subject.was.method
    sets = [tuple(names) for names in method.measurement().sets]
    parts = [(event.kind, part.scale) for event in subject.was.events for part in event.parts]
    true, made = subject.table.marginals(sets), released_counts(subject)
    total = np.zeros(len(member))
    for names, (kind, scale) in zip(sets, parts, strict=True):
        own = cells[names]
        without = true[names].ravel()[own] - member
        total += log_ratio(noise_distribution(kind, scale), made[names][own], without + 1, without, method.nonnegative)
    return total


def single_cell_attack(subject: AttackTargets) -> tuple[list[AttackAttempt], list[str]]:
    """Take every cell that shows one person as a statement that one person is in it."""
    name = "Singling out, cells that show one person"
    names, counts = max(released_counts(subject).items(), key=lambda item: len(item[1]))
    shown = np.flatnonzero(np.rint(counts) == 1)
    if len(shown) < FEWEST:
        return [], [f"{name}: left out, as only {len(shown)} cells show one person."]
    places, held = subject.pools
    dice = subject.dice(41)
    shown = np.sort(dice.permutation(shown)[: len(subject.members)])
    mine = cells_of(subject, subject.true.codes[places], names)
    others = None if held is None else _people_in(shown, cells_of(subject, held.codes, names))
    isolated = IsolationCounts(_people_in(shown, mine), others, len(places))
    baseline = float((np.bincount(mine, minlength=len(counts)) == 1).mean())
    tried = isolation_attempt(subject, name, isolated, baseline, dice, {}, "counts")
    notes = ("Baseline: cells of the same table taken by lot.", *tried.notes[1:])
    return [_with_notes(tried, notes)], []


def _with_notes(tried: AttackAttempt, notes: tuple[str, ...]) -> AttackAttempt:
    from dataclasses import replace

    return replace(tried, notes=notes)


def _people_in(cells: IntArray, own: IntArray) -> list[IntArray]:
    """Return for each of these cells the places of the people in it."""
    order = np.argsort(own, kind="stable")
    low, high = (np.searchsorted(own[order], cells, side=side) for side in ("left", "right"))
    return [order[a:b] for a, b in zip(low, high, strict=True)]
