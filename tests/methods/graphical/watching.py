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

from sfumato.methods.graphical import run as graphical_run
from sfumato.methods.graphical.choosing import pick, rounds, spanning_tree
from sfumato.methods.graphical.choosing.rounds import Settings
from sfumato.methods.graphical.method import GraphicalMethod
from sfumato.privacy import noise
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema

CANARY = (2, 2, 1)
"""Levels of the one row in its corner: see the audit."""
QUICK = Settings(start_rounds=2, least_rounds=2, steps=2, last_steps=2)
"""Few rounds and short fits: what a run costs in privacy does not depend on them."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Rows of listed levels as codes; counts like a table, thousands of times a second."""

    schema: Schema
    codes: np.ndarray
    progress: None = None

    def marginals(self, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], np.ndarray]:
        return {names: self._count(names) for names in sets}

    def _count(self, names: tuple[str, ...]) -> np.ndarray:
        places, shape = [self.schema.names.index(name) for name in names], self.schema.shape(names)
        cells = np.ravel_multi_index(tuple(self.codes[:, places].T), shape)
        return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)

    def plus(self, row: Sequence[int]) -> Counted:
        return Counted(self.schema, np.vstack([self.codes, row]))


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
    chosen: tuple[int, ...]

    @property
    def most_weight(self) -> int:
        return max(self.arguments[2][clique] for clique in self.arguments[3])


@dataclass
class Transcript:
    """Everything that left a run by way of noise or choices, in order."""

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
        ranges = [2 * choice.rate * pick.UNITS * choice.most_weight * sensitivity for choice in self.choices]
        return math.fsum(width**2 / 8 for width in ranges)


def watch(monkeypatch: Any, before: Callable[[], None] = lambda: None) -> Transcript:
    """Record every draw of noise and every choice from now on; ``before`` is called ahead of each."""
    seen, true_add, true_pick, true_choose = Transcript(), noise._add, pick.pick_table, pick.choose

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

    monkeypatch.setattr(noise, "_add", add)
    monkeypatch.setattr(pick, "choose", choose)
    for module in (rounds, spanning_tree):
        monkeypatch.setattr(module, "pick_table", picked)
    return seen


def run_on(method: GraphicalMethod, table: Any, seed: int, settings: Settings = QUICK, rows: int = 1) -> Any:
    """Run a method on counts alone, without reading, planning and recording: for thousands of runs."""
    planned = method.planned(table.schema)
    plan = Planned(rows)
    return graphical_run.release_rows(planned, table, plan, method.chosen_engine, settings, True, Randomness.of(seed))


@dataclass(frozen=True)
class Planned:
    """All that a run asks of its plan."""

    rows: int


def privacy_loss(seen: Transcript, groups: Sequence[int], member: bool) -> float:
    """The log of how much likelier a transcript is with the canary's row than without it, exactly.

    ``groups`` are the canary's groups. The first draws are one-way tables of levels; the loss of a draw needs only the
    canary's cell, in which the two worlds differ by one row.
    """
    units, total = seen.units, 0.0
    for draw, cell in zip(seen.draws, _cells(seen, groups), strict=True):
        noisy = float(draw.answer[cell] - draw.counts[cell]) / units
        sigma = draw.scale / units
        total += (2 * noisy - 1 + 2 * member) / (2 * sigma**2)
    return total + sum(_choice_loss(choice, groups, member) for choice in seen.choices)


def _cells(seen: Transcript, groups: Sequence[int]) -> list[tuple[int, ...]]:
    """The canary's cell of every draw: its levels in the first tables, its groups in those that were chosen."""
    first = len(seen.draws) - len(seen.choices)
    cells = [(canary,) for canary in CANARY[:first]]
    return cells + [tuple(groups[place] for place in choice.chosen) for choice in seen.choices]


def _choice_loss(choice: Choice, groups: Sequence[int], member: bool) -> float:
    place, worlds = choice.arguments[3].index(choice.chosen), []
    for there in (True, False):
        logits = choice.rate * np.array([_score(choice, c, groups, there - member) for c in choice.arguments[3]], float)
        worlds.append(float(logits[place] - logsumexp(logits)))
    return worlds[0] - worlds[1]


def _score(choice: Choice, clique: tuple[int, ...], groups: Sequence[int], moved: int) -> int:
    """The score of a table when its counts hold ``moved`` more of the canary."""
    counts, model, weights, _, _, sigma = choice.arguments[:6]
    here = counts[clique].copy()
    here[tuple(groups[place] for place in clique)] += moved
    less = round(pick.UNITS * pick.noise_distance(sigma, here.size))
    return weights[clique] * (pick.whole_distance(here, model[clique]) - less)
