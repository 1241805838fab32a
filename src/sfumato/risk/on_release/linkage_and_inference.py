"""Linkage and attribute inference on people of a release and on others, and the distance to the closest record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.arrays import BoolArray, FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.rows_view import Codes, Points, RowsView
from sfumato.risk.attacks import nearest_neighbours as kernel
from sfumato.risk.attacks.attack import ThreatModel
from sfumato.risk.attacks.attacker_view import IN_WORDS, AttackerView
from sfumato.risk.attacks.attribute_inference import AttributeInference, guess_from_counts
from sfumato.risk.on_release.judge import binomial_p_value, fisher_p_value
from sfumato.risk.on_release.people import AttackTargets
from sfumato.risk.on_release.result import MOST_WORST, PERMUTATIONS, AttackAttempt

MOST_SECRETS = 6
"""Columns that are guessed where the schema names none as sensitive."""
MOST_MEASURED = 1000
"""Released rows whose nearest person is looked for."""
OVERFITTING = (
    "This measures overfitting, not privacy: a release can keep its distance and give people away all the same, and "
    "a good release may lie near. No ceiling is known for it."
)


def two_file_linkage(
    subject: AttackTargets, parts: tuple[Sequence[str], Sequence[str]] | None
) -> tuple[list[AttackAttempt], list[str]]:
    """Join two files about the same people through the release: is the nearest row by one half that by the other?"""
    first, second = parts or _parts(subject)
    if subject.made is None or not first or not second:
        return [], ["Linkage: left out, as it needs released rows of two columns at least."]
    dice = subject.dice(20)
    halves = [_half(subject, names, dice) for names in (first, second)]
    linked = [_linked(subject, side, halves) for side in (subject.inside, subject.outside) if side is not None]
    own = linked[0][0] == linked[0][1]
    hits, blind = int(own.sum()), None if len(linked) < 2 else int((linked[1][0] == linked[1][1]).sum())
    baseline = _permutation_baseline(*linked[0], len(subject.made))
    others = 0 if blind is None else len(linked[1][0])
    knowledge = (f"a file with {', '.join(first)} of every person", f"a second file with {', '.join(second)}")
    tried = AttackAttempt(
        name="Linkage of two files through the release",
        criterion="linkability",
        threat=ThreatModel(
            goal="to join two files about the same people", knowledge=knowledge, sees=IN_WORDS["values"]
        ),
        hits=hits,
        trials=len(own),
        baseline=baseline,
        blind_hits=blind,
        blind_trials=others,
        p=binomial_p_value(hits, len(own), baseline)
        if blind is None
        else fisher_p_value(hits, len(own), blind, others),
        worst=subject.rows_named(subject.members[np.flatnonzero(own)[:MOST_WORST]]),
        notes=("Baseline: the rows of the second file dealt anew.",),
    )
    return [tried], []


def _parts(subject: AttackTargets) -> tuple[list[str], list[str]]:
    """Return what each of two files holds: quasi-identifiers and the rest, or every second column."""
    known = [name for name in subject.schema.with_role("quasi-identifier") if name in subject.names]
    rest = [name for name in subject.names if name not in known]
    return (known, rest) if known and rest else (list(subject.names[::2]), list(subject.names[1::2]))


def _half(
    subject: AttackTargets, names: Sequence[str], dice: np.random.Generator
) -> tuple[AttackerView, list[int], Codes]:
    """Return how one file is looked at, and released rows in an order of its own: ties are broken by lot."""
    assert subject.made is not None
    unknown = [name for name in names if name not in subject.names]
    if unknown:
        raise RiskError(
            f"the release has no column {', '.join(map(repr, unknown))}",
            next_step=f"name some of: {', '.join(subject.names)}",
        )
    places = [subject.names.index(name) for name in names]
    return AttackerView(subject.schema, names), places, dice.permutation(len(subject.made))


def _linked(
    subject: AttackTargets, people: RowsView, halves: list[tuple[AttackerView, list[int], Codes]]
) -> tuple[Codes, Codes]:
    """Return for each person the released row that is nearest by each half."""
    assert subject.made is not None
    found: list[Codes] = []
    for sight, places, order in halves:
        rows = np.ascontiguousarray(subject.made.points[order][:, places])
        near, _ = kernel.nearest(np.ascontiguousarray(people.points[:, places]), rows, sight.weights)
        found.append(order[near])
    return found[0], found[1]


def _permutation_baseline(first: Codes, second: Codes, rows: int) -> float:
    """Return how often both halves meet where the second file is dealt anew: the mean over all deals."""
    counts = [np.bincount(side, minlength=rows) for side in (first, second)]
    return float((counts[0] * counts[1]).sum()) / len(first) ** 2


def inference(
    subject: AttackTargets, secret: Sequence[str] | None, known: Sequence[str] | None
) -> tuple[list[AttackAttempt], list[str]]:
    """Guess each secret column from what is known, for people of the table and for others."""
    found: list[AttackAttempt] = []
    why: list[str] = []
    for column in secrets_of(subject, secret):
        given = [name for name in (known or _known(subject)) if name != column and name in subject.names]
        try:
            found.append(_guessed(subject, column, given))
        except RiskError as error:
            why.append(f"Inference of {column}: left out, as {error.headline}.")
    return found, why


def secrets_of(subject: AttackTargets, secret: Sequence[str] | None) -> list[str]:
    """Return the columns that are guessed: as named, those with that role, or some in the order of the schema."""
    if secret is not None:
        absent = [name for name in secret if name not in subject.names]
        if absent:
            raise RiskError(
                f"the release has no column {', '.join(map(repr, absent))}",
                next_step=f"name some of: {', '.join(subject.names)}",
            )
        return list(secret)
    marked = [name for name in subject.schema.with_role("sensitive") if name in subject.names]
    if marked:
        return marked
    step = -(-len(subject.names) // MOST_SECRETS)
    return list(subject.names[::-step][::-1]) if len(subject.names) > 1 else []


def _known(subject: AttackTargets) -> list[str]:
    marked = [name for name in subject.schema.with_role("quasi-identifier") if name in subject.names]
    return marked or list(subject.names)


def _guessed(subject: AttackTargets, column: str, known: Sequence[str]) -> AttackAttempt:
    if not known:
        raise RiskError("nothing is known that would help to guess it")
    right = [_right(subject, side, column, known) for side in (subject.inside, subject.outside) if side is not None]
    labels = subject.inside.codes[:, subject.names.index(column)]
    baseline = float(np.bincount(labels).max() / len(labels))
    hits, trials = int(right[0].sum()), len(right[0])
    blind = None if len(right) < 2 else int(right[1].sum())
    others = 0 if blind is None else len(right[1])
    return AttackAttempt(
        name=f"Inference of {column} from {_named(known)}",
        criterion="inference",
        threat=AttributeInference.threat.seeing(IN_WORDS["counts" if subject.made is None else "values"]),
        hits=hits,
        trials=trials,
        baseline=baseline,
        blind_hits=blind,
        blind_trials=others,
        p=binomial_p_value(hits, trials, baseline) if blind is None else fisher_p_value(hits, trials, blind, others),
        worst=subject.rows_named(subject.members[_rarest(right[0], labels)]),
        notes=("The baseline always names the most common value of these people.",),
    )


def _named(known: Sequence[str]) -> str:
    return ", ".join(known) if len(known) <= 4 else f"{len(known)} other columns"


def _right(subject: AttackTargets, people: RowsView, column: str, known: Sequence[str]) -> BoolArray:
    """Return whose value is guessed rightly: by the nearest released rows, or by released counts."""
    places = [subject.names.index(name) for name in known]
    truth = people.codes[:, subject.names.index(column)]
    if subject.made is None:
        guess = guess_from_counts(subject.was.tables, subject.schema, known, column)
        return guess(RowsView(people.codes[:, places], people.points[:, places])) == truth
    sight = AttackerView(subject.schema, known)
    rows, labels = subject.made.points[:, places], subject.made.codes[:, subject.names.index(column)]
    size = max(subject.schema[column].size, int(labels.max()) + 1)
    near = sight.votes(np.ascontiguousarray(people.points[:, places]), np.ascontiguousarray(rows), labels, size)
    return near == truth


def _rarest(right: BoolArray, labels: Codes) -> Codes:
    """Return whose value was guessed and is rare: a common one is guessed without any release."""
    rarity = np.bincount(labels)[labels]
    return np.array(sorted(np.flatnonzero(right), key=lambda place: int(rarity[place]))[:MOST_WORST], np.int64)


def closest_record_test(subject: AttackTargets) -> list[AttackAttempt]:
    """Say whether released rows lie nearer to people of the table than to as many others."""
    if subject.made is None:
        return []
    dice = subject.dice(30)
    mine, others = subject.pools
    if others is None:
        return []
    size = len(mine)
    pool: Points = np.concatenate([subject.true.points[mine], others.points])
    rows = subject.made.points[dice.permutation(len(subject.made))[:MOST_MEASURED]]
    weights: FloatArray = kernel.nearest_row_shares(rows, pool, subject.sight.weights)
    hits, trials = float(weights[:size].sum()), len(rows)
    labels = np.zeros((PERMUTATIONS, 2 * size))
    labels[:, :size] = 1
    dealt = dice.permuted(labels, axis=1) @ weights
    effective = max(1, round(trials / max(1.0, float((weights**2).sum()) / trials)))
    return [
        AttackAttempt(
            name="Distance to the closest record",
            criterion="overfitting",
            threat=ThreatModel(
                goal="to see whether released rows lie nearer to the table than they should",
                knowledge=("the table", "as many people who are not in it"),
                sees=IN_WORDS["values"],
            ),
            hits=hits / trials * effective,
            trials=effective,
            baseline=0.5,
            p=float((1 + (dealt >= hits - 1e-9).sum()) / (PERMUTATIONS + 1)),
            worst=subject.rows_named(mine[np.argsort(-weights[:size], kind="stable")[:MOST_WORST]]),
            more={"released rows": float(trials), "people on each side": float(size)},
            notes=(OVERFITTING,),
        )
    ]
