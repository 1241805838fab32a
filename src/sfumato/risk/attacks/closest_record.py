"""Distance to the closest record: released rows beside people of the table and as many others.

This measures overfitting, not privacy: each released row votes for the person it lies nearest to. If the release knows
nothing about who is in the table, members get half of the votes; labels dealt anew say how far from it chance goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.metrics.rows_view import Points
from sfumato.risk.attacks import nearest_neighbours
from sfumato.risk.attacks.attack import MOST_WORST, PERMUTATIONS, AttackAttempt, AttackOptions, Attempts, ThreatModel
from sfumato.risk.attacks.attacker_view import IN_WORDS

if TYPE_CHECKING:
    from sfumato.risk.on_release.run import AttackTargets

MOST_MEASURED = 1000
"""Released rows whose nearest person is looked for."""
OVERFITTING = (
    "This measures overfitting, not privacy: a release can keep its distance and give people away all the same, and "
    "a good release may lie near. No ceiling is known for it."
)


def on_release(subject: AttackTargets, options: AttackOptions) -> Attempts:
    """Say whether released rows lie nearer to people of the table than to as many others."""
    dice = subject.dice(30)
    mine, others = subject.pools
    if subject.made is None or others is None:
        return [], []
    size = len(mine)
    pool: Points = np.concatenate([subject.true.points[mine], others.points])
    rows = subject.made.points[dice.permutation(len(subject.made))[:MOST_MEASURED]]
    weights: FloatArray = nearest_neighbours.nearest_row_shares(rows, pool, subject.sight.weights)
    hits, trials = float(weights[:size].sum()), len(rows)
    labels = np.zeros((PERMUTATIONS, 2 * size))
    labels[:, :size] = 1
    dealt = dice.permuted(labels, axis=1) @ weights
    effective = max(1, round(trials / max(1.0, float((weights**2).sum()) / trials)))
    attempt = AttackAttempt(
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
    return [attempt], []
