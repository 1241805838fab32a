"""The membership game: two worlds, with and without a target, released repeatedly and told apart by an attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.auc import roc_auc
from sfumato.metrics.confidence import LEVEL, binomial_interval
from sfumato.privacy.randomness import Randomness
from sfumato.risk.attacks.attack import Attack, AttackResult

MOST_NUMBERS = 10_000_000
"""Released numbers that are held in memory at once."""
COUNT_TRIALS, ROW_TRIALS = 1000, 200
"""Games where nobody says how many."""
FITTED_RUNS = 150
"""Releases that are made where each of them fits a model, which takes seconds: games of minutes."""
NEVER_RELEASED = "These releases were made for the game, from a seed and outside any ledger: none of them is published."


@dataclass(frozen=True, eq=False)
class ReleasedBatch:
    """Releases of one world: each as a vector of everything in it, and as what concerns the target."""

    vectors: FloatArray
    features: FloatArray


class Worlds(Protocol):
    """Two worlds that can be released as often as one likes."""

    @property
    def title(self) -> str:
        """What is released."""
        ...

    @property
    def makes(self) -> str:
        """Whether a release consists of counts, rows or values."""
        ...

    @property
    def ceiling(self) -> float | None:
        """What no attack can exceed under the stated guarantee."""
        ...

    @property
    def claim(self) -> str:
        """The stated guarantee in a few words."""
        ...

    @property
    def optimal(self) -> float | None:
        """What the best attack reaches, where the mechanism is known."""
        ...

    @property
    def seen(self) -> str:
        """What an attacker sees of a release, in words."""
        ...

    @property
    def width(self) -> int:
        """Numbers in one release."""
        ...

    @property
    def row(self) -> int | None:
        """Which row of a table the target is, from 0."""
        ...

    @property
    def log_ratio(self) -> Callable[[FloatArray], FloatArray] | None:
        """The log-likelihood ratio of releases, where the law of what is released is known."""
        ...

    def essential(self) -> Worlds:
        """Return the worlds without what says nothing about the target."""
        ...

    def draw(self, member: bool, trials: int, randomness: Randomness) -> ReleasedBatch:
        """Return fresh releases of one world."""
        ...


Score = Callable[[ReleasedBatch], FloatArray]
"""Above 0 says "the target is in it", below 0 "it is not", 0 is a coin."""


def seeded_stream(seed: int | None) -> Randomness:
    """Return the randomness of a game; without a seed one is drawn, because game releases are never secure ones."""
    if seed is not None and (isinstance(seed, bool) or seed < 0):
        raise RiskError(
            f"seed must be a whole number of at least 0, found {seed!r}", next_step="use for example seed=1"
        )
    return Randomness.of(int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed)


def chunks(trials: int, width: int) -> Iterator[int]:
    """Split trials so that one piece fits comfortably into memory."""
    step = max(MOST_NUMBERS // max(width, 1), 1)
    yield from (min(step, trials - start) for start in range(0, trials, step))


def scores(game: Worlds, member: bool, trials: int, score: Score, randomness: Randomness) -> FloatArray:
    """Return the attacker's scores on fresh releases of one world."""
    return np.concatenate([score(game.draw(member, part, randomness)) for part in chunks(trials, game.width)])


def play_game(
    attack: Attack, worlds: Worlds, trials: int, seed: int | None = None, level: float = LEVEL
) -> AttackResult:
    """Play the game with as many members as others, and once more where no release holds the target."""
    worlds, randomness = attack.view(worlds), seeded_stream(seed)
    score = attack.fit(worlds, trials, randomness)
    members = trials // 2
    inside = scores(worlds, True, members, score, randomness)
    outside = scores(worlds, False, trials - members, score, randomness)
    right = _right(inside, outside, randomness.generator)
    # The control deals the same labels, but every release comes from the world without the target.
    blind = _right(scores(worlds, False, members, score, randomness), outside, randomness.generator)
    return AttackResult(
        attack=f"{attack.title}, against {worlds.title}",
        threat=attack.threat.seeing(attack.sees(worlds)),
        rate=right / trials,
        trials=trials,
        baseline=0.5,
        interval=binomial_interval(right, trials, level),
        control=blind / trials,
        control_interval=binomial_interval(blind, trials, level),
        auc=roc_auc(inside, outside),
        ceiling=worlds.ceiling,
        claim=worlds.claim,
        optimal=worlds.optimal,
        notes=(*_target_note(worlds), NEVER_RELEASED),
    )


def _target_note(game: Worlds) -> tuple[str, ...]:
    return () if game.row is None else (f"The target is row {game.row + 1:,} of the table, counted from 1.",)


def _right(inside: FloatArray, outside: FloatArray, generator: np.random.Generator) -> int:
    coins = generator.random(len(inside) + len(outside)) < 0.5
    guesses = np.concatenate([inside, -outside])
    return int(np.where(guesses == 0, coins, guesses > 0).sum())


def default_trials(played: Worlds, attacks: Sequence[Any]) -> int:
    """Return how many games to play where nobody says: fewer where each release takes long."""
    seconds = getattr(getattr(played, "plan", None), "seconds", None)
    if seconds is not None:
        return FITTED_RUNS * ROW_TRIALS // sum(attack.releases(ROW_TRIALS) for attack in attacks)
    return COUNT_TRIALS if played.makes == "counts" else ROW_TRIALS
