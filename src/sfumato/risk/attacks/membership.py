"""Membership inference by shadow models, nearest neighbour (GAN-Leaks) and density (DOMIAS).

Each attack is an object with a threat model. ``run`` takes a table and a method, or a game from
:mod:`sfumato.risk.simulated`; the method is run again and again on the table with and without the target.

>>> from sfumato.privacy.noise_distributions import Geometric
>>> pair = CountWorlds.of([10, 4, 7], [10, 5, 7], Geometric(1.0), epsilon=1.0)
>>> result = LikelihoodRatio().run(pair, trials=2000, seed=1)
>>> result.optimal in result.interval, result.refutes_claim
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.core.method import Method
from sfumato.errors import RiskError
from sfumato.metrics.confidence import LEVEL
from sfumato.metrics.rows_view import Observes
from sfumato.privacy.randomness import Randomness
from sfumato.risk.attacks.attack import AttackResult, ThreatModel, check_trials, dp_ceiling
from sfumato.risk.attacks.likelihood_ratio import optimal_accuracy
from sfumato.risk.simulated import (
    CountWorlds,
    Game,
    MethodWorlds,
    ReleasedBatch,
    membership_game,
    to_game,
)
from sfumato.risk.simulated.count_worlds import published_pair
from sfumato.risk.simulated.membership_game import chunks, play_game, seeded_stream

__all__ = [
    "CountWorlds",
    "Game",
    "LikelihoodRatio",
    "MethodWorlds",
    "ShadowModelAttack",
    "dp_ceiling",
    "membership_attacks",
    "membership_game",
    "optimal_accuracy",
    "published_pair",
]

Features = Literal["target", "entropy-total"]
FEATURES = ("target", "entropy-total")
MEMBERSHIP_GOAL = "to know whether the target's record is in the table"


@dataclass(frozen=True)
class LikelihoodRatio:
    """The best of all attacks on noisy counts: compare the likelihoods of the release in both worlds."""

    threat: ClassVar[ThreatModel] = ThreatModel(
        goal=MEMBERSHIP_GOAL,
        knowledge=("every other record", "the target's record", "the mechanism and its noise, exactly"),
    )

    def run(
        self,
        subject: Any,
        method: Method | None = None,
        *,
        trials: int = 1000,
        seed: int | None = None,
        level: float = LEVEL,
        target: int | None = None,
    ) -> AttackResult:
        """Play the game; ``subject`` is a table (with a method) or a :class:`CountPair`."""
        check_trials(trials, level)
        pair = to_game(subject, method, target)
        if not isinstance(pair, CountWorlds):
            raise RiskError(
                f"the likelihood of what {pair.title} releases is not known",
                next_step="use Learnt() for it; LikelihoodRatio needs Histogram, Contingency or a CountPair",
            )
        known = pair.essential()
        return play_game(
            "Membership, likelihood ratio",
            self.threat,
            known,
            lambda drawn: known.log_ratio(drawn.vectors),
            seeded_stream(seed),
            trials,
            level,
        )


@dataclass(frozen=True)
class ShadowModelAttack:
    """Logistic regression trained on shadow releases and tested on fresh ones.

    ``features="target"`` looks at what concerns the target: the counts of its cells, or the copies, nearest rows and
    density of rows around it, on values, and how many rows share its cells. ``features="entropy-total"`` is the attack
    of the REAEDP paper: entropy and total of the released counts, which hardly depend on one person. ``shadows`` is the
    number of training releases, as many as trials unless said.
    """

    features: Features = "target"
    shadows: int | None = None

    threat: ClassVar[ThreatModel] = ThreatModel(
        goal=MEMBERSHIP_GOAL,
        knowledge=("every other record", "the target's record", "how to run the method on any table"),
    )

    def __post_init__(self) -> None:
        if self.features not in FEATURES:
            raise RiskError(f"unknown features {self.features!r}", next_step=f"use one of: {', '.join(FEATURES)}")

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
        """Train on shadow releases, then play the game on fresh ones; ``rows`` and ``sees`` are about released rows."""
        check_trials(trials, level)
        check_trials(self.shadows or trials, level)
        subject = to_game(subject, method, target, rows, sees)
        if self.features == "entropy-total" and subject.makes != "counts":
            raise RiskError(f"{subject.title} releases no counts", next_step="use Learnt(features='target')")
        if isinstance(subject, CountWorlds) and self.features == "target":
            subject = subject.essential()
        randomness = seeded_stream(seed)
        score = self._train(subject, self.shadows or trials, randomness)
        name, threat = "the target's surroundings", self.threat
        if self.features == "entropy-total":
            name, threat = "entropy and total", self.threat.seeing("entropy and total of the released counts")
        return play_game(
            f"Membership, logistic regression on {name}", threat, subject, score, randomness, trials, level
        )

    def releases(self, trials: int) -> int:
        """Return how often the method is run: to train, in each game, and for the control of every second one."""
        return 2 * ((self.shadows or trials) // 2) + trials + trials // 2

    def _train(self, subject: Game, shadows: int, randomness: Randomness) -> Any:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        half = shadows // 2
        sides = [
            [self._view(subject.draw(member, part, randomness)) for part in chunks(half, subject.width)]
            for member in (False, True)
        ]
        seen = np.concatenate([part for side in sides for part in side])
        model: Any = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(seen, np.repeat([0, 1], half))
        return lambda drawn: np.asarray(model.decision_function(self._view(drawn)), float)

    def _view(self, drawn: ReleasedBatch) -> FloatArray:
        return drawn.features if self.features == "target" else entropy_and_total(drawn.vectors)


def membership_attacks(played: Game) -> list[LikelihoodRatio | ShadowModelAttack]:
    """Return every membership attack that a game allows: the best one where the noise is known, and the learnt ones."""
    known = [LikelihoodRatio()] if isinstance(played, CountWorlds) else []
    return [*known, ShadowModelAttack(), *([ShadowModelAttack("entropy-total")] if played.makes == "counts" else [])]


def entropy_and_total(counts: FloatArray) -> FloatArray:
    """Return the Shannon entropy in bits of each row of counts (negative ones as 0), and its total.

    >>> entropy_and_total(np.array([[1.0, 1.0, -1.0]])).tolist()
    [[1.0, 1.0]]
    """
    kept = np.maximum(counts, 0)
    totals = kept.sum(axis=1, keepdims=True)
    shares = kept / np.where(totals > 0, totals, 1.0)
    terms = shares * np.log2(np.where(shares > 0, shares, 1.0))
    return np.column_stack([-terms.sum(axis=1), counts.sum(axis=1)])
