"""Figure 7: membership and linkage attacks by the published protocol and by the corrected one.

Published: the pair is two records apart, the classifier is scored on the releases that trained it, and the linkage
attacker is handed the very release that he must attribute. Corrected: fresh releases, fresh references, and the best
possible attack with the ceiling of the guarantee beside whatever was learnt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.entropy import shannon
from sfumato.papers.reaedp.histograms import SEED, Counts, Numbers, Sources, bins_from_data, part
from sfumato.papers.reaedp.published import published_pair
from sfumato.papers.result import Part
from sfumato.risk.attacks import (
    AttackResult,
    FreshReferenceLinkage,
    LikelihoodRatio,
    ShadowModelAttack,
    dp_ceiling,
    optimal_accuracy,
)
from sfumato.risk.homogeneity import Laplace

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
TRIALS, RUNS = 200, 5
OUR_TRIALS = 4000
KINDS = ("membership", "linkage")


@dataclass(frozen=True)
class PrintedAttackPoint:
    """One point of figure 7 by the paper's protocol."""

    epsilon: float
    accuracy: float
    half_width: float
    auc: float
    linkage: float


def published_attacks(counts: Counts, seed: int = SEED) -> tuple[PrintedAttackPoint, ...]:
    """Repeat the paper's protocol: 200 pairs a run, 5 runs, accuracy on the training releases, linkage of itself."""
    rng, found = np.random.default_rng(seed), list[PrintedAttackPoint]()
    for epsilon in EPSILONS:
        runs = [_trained_on_itself(counts, epsilon, rng) for _ in range(RUNS)]
        accuracies, areas = [run[0] for run in runs], [run[1] for run in runs]
        width = 1.96 * float(np.std(accuracies)) / math.sqrt(RUNS)
        linked = _linked_to_itself(counts, epsilon, rng)
        found.append(PrintedAttackPoint(epsilon, float(np.mean(accuracies)), width, float(np.mean(areas)), linked))
    return tuple(found)


def _pair(counts: Counts, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Return one record less in one random cell, and one more in another: two records apart."""
    less, more = counts.copy(), counts.copy()
    donor, receiver = rng.integers(0, len(counts)), rng.integers(0, len(counts))
    less[donor] = max(0, less[donor] - 1)
    more[receiver] += 1
    return less, more


def _release(counts: Counts, epsilon: float, rng: np.random.Generator) -> Numbers:
    return np.maximum(counts + rng.laplace(0, 1 / epsilon, len(counts)), 0)


def _trained_on_itself(counts: Counts, epsilon: float, rng: np.random.Generator) -> tuple[float, float]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    released = [_release(world, epsilon, rng) for _ in range(TRIALS) for world in _pair(counts, rng)]
    features = np.array([(shannon(each), each.sum()) for each in released])
    labels = np.tile([0, 1], TRIALS)
    model: Any = LogisticRegression(max_iter=500).fit(features, labels)
    return float(model.score(features, labels)), float(roc_auc_score(labels, model.decision_function(features)))


def _linked_to_itself(counts: Counts, epsilon: float, rng: np.random.Generator) -> float:
    """Return how often the nearer of two references is right when one of them is the observed release."""
    right = 0
    for _ in range(TRIALS):
        references = [_release(world, epsilon, rng) for world in _pair(counts, rng)]
        truth = 0 if rng.random() < 0.5 else 1
        apart = [float(np.linalg.norm(references[truth] - reference)) for reference in references]
        right += int((0 if apart[0] <= apart[1] else 1) == truth)
    return right / TRIALS


@dataclass(frozen=True)
class CorrectedAttackPoint:
    """The same pair attacked soundly at one epsilon."""

    epsilon: float
    learnt: AttackResult
    linkage: AttackResult
    likelihood: AttackResult


def corrected_attacks(counts: Counts, trials: int = OUR_TRIALS, seed: int = SEED) -> tuple[CorrectedAttackPoint, ...]:
    """Attack one pair of the paper's kind with fresh releases: learnt, linked, and by the likelihood ratio."""
    donor = int(counts.argmax())
    pairs = {epsilon: published_pair(counts, epsilon, donor, donor + 1) for epsilon in EPSILONS}
    return tuple(
        CorrectedAttackPoint(
            epsilon,
            ShadowModelAttack(features="entropy-total").run(pair, trials=trials, seed=seed),
            FreshReferenceLinkage().run(pair, trials=trials, seed=seed),
            LikelihoodRatio().run(pair, trials=trials, seed=seed),
        )
        for epsilon, pair in pairs.items()
    )


def optimal_rate(epsilon: float) -> float:
    """Return how often the best attacker is right on the paper's pair: 1 - exp(-epsilon) (1/2 + epsilon/4).

    >>> [round(optimal_rate(epsilon), 4) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    [0.6209, 0.7241, 0.8647, 0.9725]
    """
    return optimal_accuracy(Laplace(epsilon), (1, 1))


def neighbour_rate(epsilon: float) -> float:
    """Return how often the best attacker is right on true neighbours, one record added: 1 - exp(-epsilon/2) / 2.

    >>> [round(neighbour_rate(epsilon), 4) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    [0.6106, 0.6967, 0.8161, 0.9323]
    """
    return optimal_accuracy(Laplace(epsilon))


def figure_7(sources: Sources) -> Part:
    """Return figure 7: the published protocol, the corrected one, the optimum and the ceiling."""
    counts = bins_from_data(sources.prices)
    printed, ours = published_attacks(counts), corrected_attacks(counts)
    at_one = EPSILONS.index(1.0)
    best, ceilings = ([rate(epsilon) for epsilon in EPSILONS] for rate in (optimal_rate, dp_ceiling))
    numbers = {
        "attacks": [{"kind": kind} for kind in KINDS],
        "printed": printed,
        "ours": [
            {"row": point, "optimum": optimum, "neighbours": neighbour_rate(point.epsilon), "ceiling": ceiling}
            for point, optimum, ceiling in zip(ours, best, ceilings, strict=True)
        ],
        "pairs": TRIALS,
        "runs": RUNS,
        "seed": SEED,
        "trials": OUR_TRIALS,
        "accuracies": [point.accuracy for point in printed],
        "linked": " and ".join(sorted({f"{point.linkage:g}" for point in printed})),
        "fresh": [point.linkage.rate for point in ours],
        "learnt": printed[at_one].accuracy,
        "best": ours[at_one].likelihood,
        "optimum": optimal_rate(1.0),
        "neighbours": neighbour_rate(1.0),
        "ceiling": dp_ceiling(1.0),
    }
    return part(
        "figure 7",
        numbers,
        drawn=[
            (EPSILONS, {**_accuracies(printed, ours, kind), "best attack, exact": best, "ceiling": ceilings})
            for kind in KINDS
        ],
    )


def _accuracies(
    printed: tuple[PrintedAttackPoint, ...], ours: tuple[CorrectedAttackPoint, ...], kind: str
) -> dict[str, list[float]]:
    member = kind == "membership"
    return {
        "published protocol": [p.accuracy if member else p.linkage for p in printed],
        "corrected": [(c.learnt if member else c.linkage).rate for c in ours],
    }
