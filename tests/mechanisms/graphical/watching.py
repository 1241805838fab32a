"""Runs of graphical methods that are watched from outside: what was drawn, what was chosen, with what noise.

Nothing here reads the budget's own books: draws are seen where noise is drawn, choices where they are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sfumato.mechanisms.graphical import aim, candidates, exponential_mechanism, mst
from sfumato.mechanisms.graphical import method as graphical_run
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, Resolutions
from sfumato.mechanisms.graphical.method import GraphicalMethod, RoundSettings
from sfumato.privacy import noise
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.values import bins_of
from sfumato.schema import Schema

CANARY = (2, 2, 1)
"""Levels of the one row in its corner: see the audit."""
QUICK = RoundSettings(start_rounds=2, least_rounds=2, steps=2, last_steps=2)
"""Few rounds and short fits: what a run costs in privacy does not depend on them."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Rows of listed levels as codes; counts like a table, thousands of times a second."""

    schema: Schema
    codes: np.ndarray

    def marginals(self, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], np.ndarray]:
        return {names: self._count(names) for names in sets}

    def _count(self, names: tuple[str, ...]) -> np.ndarray:
        places, shape = [self.schema.names.index(name) for name in names], self.schema.shape(names)
        cells = np.ravel_multi_index(tuple(self.codes[:, places].T), shape)
        return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)

    def plus(self, row: Sequence[int]) -> Counted:
        return Counted(self.schema, np.vstack([self.codes, row]))


@dataclass(frozen=True, eq=False)
class CountedValues(Counted):
    """The same for rows of numbers, which every schema cuts in its own way."""

    def _count(self, names: tuple[str, ...]) -> np.ndarray:
        shape = self.schema.shape(names)
        codes = [bins_of(self.schema[name], self.codes[:, self.schema.names.index(name)]) for name in names]
        return np.bincount(np.ravel_multi_index(tuple(codes), shape), minlength=math.prod(shape)).reshape(shape)

    def plus(self, row: Sequence[float]) -> CountedValues:
        return CountedValues(self.schema, np.vstack([self.codes, row]))


@dataclass(frozen=True)
class Draw:
    """One noisy table: counts and answer in lattice units."""

    counts: np.ndarray = field(repr=False)
    scale: float
    law: str
    answer: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Choice:
    """One choice: what it was made from, with which rate, and what came out."""

    arguments: tuple[Any, ...] = field(repr=False)
    deficits: tuple[int, ...] = field(repr=False)
    rate: float
    chosen: Any

    @property
    def most_weight(self) -> int:
        return max(self.arguments[2][clique] for clique in self.arguments[3])


@dataclass
class Transcript:
    """Everything that left a run by way of noise or choices, in order."""

    resolutions: list[Resolutions] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    @property
    def units(self) -> int:
        """The lattice units of one row: what every noised count is a multiple of."""
        return int(np.gcd.reduce(np.concatenate([draw.counts.ravel() for draw in self.draws])))

    def noise_rho(self, squared: float) -> float:
        """The zCDP of all noise when one person moves a table by at most the root of this in L2."""
        return math.fsum(squared * self.units**2 / (2 * draw.scale**2) for draw in self.draws)

    def choice_rho(self, sensitivity: int) -> float:
        """The zCDP of all choices when one person moves a table by at most this in L1."""
        ranges = [
            2 * choice.rate * exponential_mechanism.UNITS * choice.most_weight * sensitivity for choice in self.choices
        ]
        return math.fsum(width**2 / 8 for width in ranges)


def watch(monkeypatch: Any, before: Callable[[], None] = lambda: None) -> Transcript:
    """Record every draw of noise and every choice from now on; ``before`` is called ahead of each."""
    seen, true_add, true_pick, true_choose = (
        Transcript(),
        noise._add,
        exponential_mechanism.select_marginal,
        exponential_mechanism.sample_index,
    )

    def add(counts: Any, scale: Any, law: str, randomness: Any) -> Any:
        before()
        answer = true_add(counts, scale, law, randomness)
        seen.draws.append(Draw(np.array(counts), float(scale), law, np.array(answer)))
        seen.order.append("draw")
        return answer

    def choose(deficits: Sequence[int], rate: Any, uniform: Any) -> int:
        before()
        place = true_choose(deficits, rate, uniform)
        seen.choices.append(Choice((), tuple(deficits), float(rate), (place,)))
        seen.order.append("choice")
        return place

    def picked(*arguments: Any) -> Any:
        chosen = true_pick(*arguments)
        last = seen.choices.pop()
        seen.choices.append(Choice(arguments, last.deficits, last.rate, chosen))
        return chosen

    true_looks = candidates.candidate_marginals

    def offered(cliques: Any, resolutions: Resolutions, *more: Any) -> Any:
        seen.resolutions.append(resolutions)
        return true_looks(cliques, resolutions, *more)

    monkeypatch.setattr(candidates, "candidate_marginals", offered)
    monkeypatch.setattr(noise, "_add", add)
    monkeypatch.setattr(exponential_mechanism, "sample_index", choose)
    for module in (aim, mst):
        monkeypatch.setattr(module, "select_marginal", picked)
    return seen


def run_on(method: GraphicalMethod, table: Any, seed: int, settings: RoundSettings = QUICK, rows: int = 1) -> Any:
    """Run a method on counts alone, without reading, planning and recording: for thousands of runs."""
    planned = method.planned(table.schema)
    plan = Planned(rows)
    return graphical_run.fit_and_sample(planned, table, plan, method.algorithm, settings, True, Randomness.of(seed))


@dataclass(frozen=True)
class Planned:
    """All that a run asks of its plan."""

    rows: int


def privacy_loss(seen: Transcript, first: Sequence[int], groups: Sequence[int], member: bool) -> float:
    """The log of how much likelier a transcript is with the canary's row than without it, exactly.

    ``first`` are the canary's cells in the tables of single columns, one for each draw before the first choice, and
    ``groups`` its groups. The loss of a draw needs only the canary's cell, in which the two worlds differ by one row.
    """
    units, total = seen.units, 0.0
    for draw, cell in zip(seen.draws, _cells(seen, first, groups), strict=True):
        noisy = float(draw.answer[cell] - draw.counts[cell]) / units
        sigma = draw.scale / units
        total += (2 * noisy - 1 + 2 * member) / (2 * sigma**2)
    return total + sum(_choice_loss(seen, choice, groups, member) for choice in seen.choices)


def _cells(seen: Transcript, first: Sequence[int], groups: Sequence[int]) -> list[tuple[int, ...]]:
    """The canary's cell of every draw."""
    return [(cell,) for cell in first] + [_cell(seen, choice.chosen, groups) for choice in seen.choices]


def _cell(seen: Transcript, look: CoarsenedMarginal, groups: Sequence[int]) -> tuple[int, ...]:
    """The canary's cell in a table of several columns: its groups, or the coarser ones that they lie in."""
    maps = seen.resolutions[-1].query(look) or (None,) * len(look.clique)
    return tuple(
        groups[place] if coarse is None else int(coarse[groups[place]])
        for place, coarse in zip(look.clique, maps, strict=True)
    )


def _choice_loss(seen: Transcript, choice: Choice, groups: Sequence[int], member: bool) -> float:
    place, worlds = choice.arguments[3].index(choice.chosen), []
    cells = [_cell(seen, look, groups) for look in choice.arguments[3]]
    for there in (True, False):
        scores = [
            _score(choice, look, cell, there - member) for look, cell in zip(choice.arguments[3], cells, strict=True)
        ]
        logits = choice.rate * np.array(scores, float)
        worlds.append(float(logits[place] - logsumexp(logits)))
    return worlds[0] - worlds[1]


def _score(choice: Choice, look: CoarsenedMarginal, cell: tuple[int, ...], moved: int) -> int:
    """The score of a table when its counts hold ``moved`` more of the canary."""
    counts, model, weights, _, _, sigma = choice.arguments[:6]
    here = counts[look].copy()
    here[cell] += moved
    less = round(exponential_mechanism.UNITS * exponential_mechanism.expected_noise_l1(sigma, here.size))
    return weights[look] * (exponential_mechanism.integer_l1(here, model[look]) - less)
