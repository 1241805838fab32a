"""Replay a recorded run on the neighbouring table to compute its exact privacy loss.

A run learns from its table through noise and choices alone, if its proof is right. So a run is recorded at the one
place where both are drawn (:mod:`sfumato.privacy.noise.noise_recorder`). Then it is played again on the neighbouring
table: the
method's own code asks its questions, and each is answered as before. The difference of the log-likelihoods of all
answers is the privacy loss of the run, exactly, and thresholds on it are the best attacks there are (Neyman and Pearson
1933).

The mean loss. At every step both tables' laws of the next answer are known, given all earlier answers, and so is their
Kullback-Leibler divergence: d^2 / 2 sigma^2 for discrete Gaussian noise on counts that differ by d (Canonne, Kamath and
Steinke 2020), (d - 2 a (1 - a^d) / (1 - a^2)) / s for discrete Laplace noise with a = exp(-1/s), a finite sum for a
choice. By the chain rule the divergence of whole runs is the mean over runs of the sum over steps. That sum
(:attr:`Loss.spent`) varies far less than the loss itself.

Played again, the method must ask the same questions and release the same things. Where it does not, the table has found
another way into the release: the neighbour cannot have made it, and the loss is infinite. The attacker is given the
numbers by which rows are drawn from a model, as they are post-processing: they have a stream of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import Counts, FloatArray, as_counts
from sfumato.core.method import Output
from sfumato.privacy.noise.noise_recorder import Deficits, Draw, DrawIndex, recording
from sfumato.privacy.noise_distributions import DiscreteGaussian, Gaussian, Geometric, NoiseLaw
from sfumato.privacy.randomness import Randomness, UniformSource

Runs = Callable[[Randomness], Output]
"""A method on one table: what it releases with this randomness."""
LARGEST_SUMMED_SIGMA = 3000.0
"""Above it the discrete Gaussian is the rounded one to more digits than a test can see."""


class ReplayError(Exception):
    """The method asked for something else than on the other table."""


@dataclass(frozen=True)
class NoiseStep:
    """One noisy table: what came out, and the noise that was added."""

    law: str
    scale: float
    answer: Counts = field(repr=False)
    noise: Counts = field(repr=False)


@dataclass(frozen=True)
class ChoiceStep:
    """One choice: the log-probabilities of all places, and which it was."""

    chances: FloatArray = field(repr=False)
    place: int


Step = NoiseStep | ChoiceStep


class _Secret:
    """Uniform numbers on which a guarantee rests and which no tape holds; whoever draws them is noted."""

    def __init__(self, tape: Recorder) -> None:
        self.tape = tape

    def random(self, size: int) -> NDArray[np.float64]:
        """Return numbers of the secret stream."""
        self.tape.secret_draws += size
        return self.tape.secret.generator.random(size)


@dataclass(frozen=True)
class RecordedRandomness(Randomness):
    """Randomness of an audited run: post-processing from the seed, all that is secret from the tape."""

    tape: Any = None

    @property
    def uniform(self) -> UniformSource:
        """Numbers on which a guarantee rests."""
        return _Secret(self.tape)


@dataclass
class Recorder:
    """Draws, and writes down what was drawn and how likely it was."""

    secret: Randomness
    steps: list[Step] = field(default_factory=list[Step])
    log_likelihood: float = 0.0
    secret_draws: int = 0

    def noise(self, counts: ArrayLike, scale: Fraction, law: str, draw: Draw) -> Counts:
        """Return noisy counts, drawn from the secret stream."""
        answer = draw(self.secret)
        added = answer - as_counts(counts)
        self.steps.append(NoiseStep(law, float(scale), answer, added))
        self.log_likelihood += _log_noise(added, law, float(scale))
        return answer

    def choice(self, deficits: Deficits, rate: Fraction, choose: DrawIndex) -> int:
        """Return a choice, drawn from the secret stream."""
        place, chances = choose(self.secret.generator), _log_chances(deficits, rate)
        self.steps.append(ChoiceStep(chances, place))
        self.log_likelihood += float(chances[place])
        return place


@dataclass
class Replayer:
    """Gives the recorded answers again, and adds up how likely this table makes them."""

    steps: list[Step]
    secret: Randomness
    log_likelihood: float = 0.0
    spent: float = 0.0
    secret_draws: int = 0
    at: int = 0

    def _next(self) -> Step:
        if self.at == len(self.steps):
            raise ReplayError
        self.at += 1
        return self.steps[self.at - 1]

    def noise(self, counts: ArrayLike, scale: Fraction, law: str, draw: Draw) -> Counts:
        """Return the recorded table, if it is the one that is asked for."""
        step, here = self._next(), as_counts(counts)
        if not isinstance(step, NoiseStep) or (step.law, step.scale) != (law, float(scale)):
            raise ReplayError
        if step.answer.shape != here.shape:
            raise ReplayError
        self.log_likelihood += _log_noise(step.answer - here, law, step.scale)
        self.spent += _mean_of_noise(step.answer - step.noise - here, law, step.scale)
        return step.answer.copy()

    def choice(self, deficits: Deficits, rate: Fraction, choose: DrawIndex) -> int:
        """Return the recorded choice, if it was made among as many."""
        step = self._next()
        if not isinstance(step, ChoiceStep) or len(step.chances) != len(deficits):
            raise ReplayError
        chances = _log_chances(deficits, rate)
        self.log_likelihood += float(chances[step.place])
        self.spent += float((np.exp(step.chances) * (step.chances - chances)).sum())
        return step.place


def _log_noise(added: Counts, law: str, scale: float) -> float:
    """Return the log-likelihood of noise, up to a constant of law and scale."""
    values = added.astype(float) / scale
    return -float(np.abs(values).sum()) if law == "laplace" else -float((values * values).sum()) / 2


def _mean_of_noise(apart: Counts, law: str, scale: float) -> float:
    """Return the divergence of noise on counts that lie so far apart."""
    size = np.abs(apart[apart != 0]).astype(float)
    if law != "laplace":
        return float(((size / scale) ** 2).sum()) / 2
    ratio = math.exp(-1 / scale)
    return float((size - 2 * ratio * (1 - ratio**size) / (1 - ratio**2)).sum()) / scale


def _log_chances(deficits: Deficits, rate: Fraction) -> FloatArray:
    logits = -float(rate) * np.array(deficits, float)
    logits -= logits.max()
    return logits - math.log(float(np.exp(logits).sum()))


class Loss(NamedTuple):
    """How one run tells its own table from the neighbour: the loss, and the divergences of its steps, added up."""

    total: float
    spent: float


IMPOSSIBLE = Loss(math.inf, math.inf)
UNKNOWN = Loss(0.0, 0.0)
"""What a run that does not repeat itself tells."""


@dataclass(frozen=True)
class Transcript:
    """One recorded run of the table ``runs``, with what it released."""

    runs: Runs = field(repr=False)
    seed: int
    tape: Recorder = field(repr=False)
    output: Output = field(repr=False)

    @classmethod
    def of(cls, runs: Runs, seed: int) -> Transcript:
        """Run once and write it down."""
        tape = Recorder(_secret(seed))
        with recording(tape):
            output = runs(RecordedRandomness(seed, tape))
        return cls(runs, seed, tape, output)

    @cached_property
    def taped(self) -> bool:
        """Whether the tape holds everything that was drawn in secret."""
        return not self.tape.secret_draws and bool(self.tape.steps)

    def loss(self, other: Runs) -> Loss:
        """Return the log of how much likelier this run is here than on another table."""
        played = self._played(other)
        if played is not None:
            return Loss(self.tape.log_likelihood - played.log_likelihood, played.spent)
        # What this table itself does not repeat proves nothing about the other one.
        return UNKNOWN if self._played(self.runs) is None else IMPOSSIBLE

    def _played(self, runs: Runs) -> Replayer | None:
        """Return the tape as played on a table, or None where that table cannot make the release."""
        player = Replayer(self.tape.steps, _secret(self.seed))
        try:
            with recording(player):
                output = runs(RecordedRandomness(self.seed, player))
        except ReplayError:
            return None
        return player if player.at == len(player.steps) and _same(output, self.output) else None


def _secret(seed: int) -> Randomness:
    """Return the stream of noise that belongs to a run; its post-processing has another."""
    return Randomness.of(int(np.random.default_rng([seed, 1]).integers(1 << 62)))


def _same(one: Output, two: Output) -> bool:
    """Whether two releases are the same to the last digit: tables, statistics and notes."""
    return (
        one.tables.keys() == two.tables.keys()
        and all(table.equals(two.tables[names]) for names, table in one.tables.items())
        and repr(one.statistics) == repr(two.statistics)
        and one.notes == two.notes
    )


def uniforms(steps: Sequence[Step], generator: np.random.Generator) -> FloatArray:
    """Return one number for each noise that was added: uniform between 0 and 1 if the noise has the law it names.

    The place of a whole number within its law is spread evenly over the mass of that number.
    """
    parts = [np.zeros(0)]
    for step in steps:
        if isinstance(step, NoiseStep):
            law, added = _law(step.law, step.scale), step.noise.ravel()
            top = law.cdf(added)
            parts.append(top - generator.random(added.size) * (top - law.cdf(added - 1)))
    return np.concatenate(parts)


def _law(law: str, scale: float) -> NoiseLaw:
    if law == "laplace":
        return Geometric(1 / scale)
    return DiscreteGaussian(scale) if scale < LARGEST_SUMMED_SIGMA else Gaussian(scale)
