"""Runs of graphical methods that are watched from outside: what was drawn, what was chosen, with what noise.

Nothing here reads the budget's own books: draws are seen where noise is drawn, choices where they are made.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pytest import MonkeyPatch
from scipy.special import logsumexp

from sfumato.mechanisms.graphical import aim, exponential_mechanism, mst, sharpening
from sfumato.mechanisms.graphical import method as graphical_run
from sfumato.mechanisms.graphical.candidates import Candidates
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, Resolutions
from sfumato.mechanisms.graphical.domain_compression import Grouping
from sfumato.mechanisms.graphical.method import GraphicalMethod, RoundSettings
from sfumato.mechanisms.graphical.sharpening import CuttableGroups, Sharpening
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
    """One noisy table: counts and answer in lattice units; and after how many cuts of groups it was drawn."""

    counts: np.ndarray = field(repr=False)
    scale: float
    law: str
    answer: np.ndarray = field(repr=False)
    stage: int = 0


@dataclass(frozen=True)
class Choice:
    """One choice: what it was made from, with which rate, and what came out."""

    arguments: tuple[Any, ...] = field(repr=False)
    deficits: tuple[int, ...] = field(repr=False)
    rate: float
    chosen: Any
    stage: int = 0
    gains: tuple[Gained, ...] = field(default=(), repr=False)
    """What was computed of the pairs that could be sharpened."""

    @property
    def most_weight(self) -> int:
        return max(self.arguments[2][clique] for clique in self.arguments[3])


@dataclass(frozen=True)
class Gained:
    """What cuts of one pair would gain, and all that it was computed from."""

    cuttable: CuttableGroups
    arguments: tuple[Any, ...]
    gains: Any

    def moved(self, cells: Sequence[int], by: int) -> Any:
        """The gains when the pair's counts hold so many more of a row whose fine cells of all columns are given."""
        pair = self.arguments[1].pair
        counts = self.cuttable.counts[pair].copy()
        counts[tuple(cells[column] for column in pair)] += by
        elsewhere = dataclasses.replace(self.cuttable, counts={**self.cuttable.counts, pair: counts})
        return true_gains(elsewhere, *self.arguments)


@dataclass(frozen=True)
class Cuts:
    """The cuts of all groups of a column: one choice of a vector."""

    gained: Gained
    handicaps: dict[int, int]
    edges: tuple[int, ...]
    rate: float
    most_weight: int = 1


@dataclass
class Transcript:
    """Everything that left a run by way of noise or choices, in order."""

    stages: list[tuple[Resolutions, tuple[Grouping, ...] | None, CuttableGroups | None]] = field(default_factory=list)
    """The resolutions and the groups as they were cut so far, first and after each cut."""
    draws: list[Draw] = field(default_factory=list)
    choices: list[Choice | Cuts] = field(default_factory=list)
    gains: list[Gained] = field(default_factory=list)
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
        seen.draws.append(Draw(np.array(counts), float(scale), law, np.array(answer), len(seen.stages) - 1))
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
        gains, seen.gains = tuple(seen.gains), []
        seen.choices.append(Choice(arguments, last.deficits, last.rate, chosen, len(seen.stages) - 1, gains))
        return chosen

    true_cuts, true_cut, true_compile = aim.select_cuts, Candidates.cut, graphical_run.compile_candidates

    def cuts(gains: Any, handicaps: Any, strength: Any, sensitivity: int, randomness: Any) -> Any:
        """All groups together are one choice: the draws of the groups stand for it."""
        before()
        with MonkeyPatch.context() as patch:
            patch.setattr(exponential_mechanism, "sample_index", true_choose)
            edges = true_cuts(gains, handicaps, strength, sensitivity, randomness)
        gained = next(each for each in seen.choices[-1].gains if each.gains is gains)
        rate = float(exponential_mechanism.selection_rate(strength, sensitivity, 1))
        seen.choices.append(Cuts(gained, dict(handicaps), tuple(edges), rate))
        seen.order.append("choice")
        return edges

    def cut(here: Candidates, *arguments: Any) -> Any:
        after = true_cut(here, *arguments)
        seen.stages.append(_stage(after[0]))
        return after

    def gained(here: CuttableGroups, *arguments: Any) -> Any:
        gains = true_gains(here, *arguments)
        seen.gains.append(Gained(here, arguments, gains))
        return gains

    def compiled(*arguments: Any) -> Candidates:
        made = true_compile(*arguments)
        seen.stages.append(_stage(made))
        return made

    monkeypatch.setattr(graphical_run, "compile_candidates", compiled)
    monkeypatch.setattr(Candidates, "cut", cut)
    monkeypatch.setattr(CuttableGroups, "gains", gained)
    monkeypatch.setattr(aim, "select_cuts", cuts)
    monkeypatch.setattr(noise, "_add", add)
    monkeypatch.setattr(exponential_mechanism, "sample_index", choose)
    for module in (aim, mst):
        monkeypatch.setattr(module, "select_marginal", picked)
    return seen


true_gains = CuttableGroups.gains


def _stage(made: Candidates) -> tuple[Resolutions, tuple[Grouping, ...] | None, CuttableGroups | None]:
    return made.resolutions, None if made.cuttable is None else made.cuttable.groupings, made.cuttable


def run_on(method: GraphicalMethod, table: Any, seed: int, settings: RoundSettings = QUICK, rows: int = 1) -> Any:
    """Run a method on counts alone, without reading, planning and recording: for thousands of runs."""
    planned = method.planned(table.schema)
    plan = Planned(rows)
    return graphical_run.fit_and_sample(planned, table, plan, method.algorithm, settings, True, Randomness.of(seed))


@dataclass(frozen=True)
class Planned:
    """All that a run asks of its plan."""

    rows: int


def privacy_loss(
    seen: Transcript, first: Sequence[int], codes: Sequence[int], groups: Sequence[int], member: bool
) -> float:
    """The log of how much likelier a transcript is with the canary's row than without it, exactly.

    ``first`` are the canary's cells in the tables of single columns, one for each draw before the first choice,
    ``codes`` its fine codes and ``groups`` its groups where none was cut. The loss of a draw needs only the canary's
    cell, in which the two worlds differ by one row.
    """
    units, total = seen.units, 0.0
    tables = [choice for choice in seen.choices if isinstance(choice, Choice)]
    looks = [CoarsenedMarginal(c.chosen.pair) if isinstance(c.chosen, Sharpening) else c.chosen for c in tables]
    later = [
        _cell(seen, look, codes, groups, draw.stage) for look, draw in zip(looks, seen.draws[len(first) :], strict=True)
    ]
    for draw, cell in zip(seen.draws, [*((cell,) for cell in first), *later], strict=True):
        noisy = float(draw.answer[cell] - draw.counts[cell]) / units
        sigma = draw.scale / units
        total += (2 * noisy - 1 + 2 * member) / (2 * sigma**2)
    for choice in seen.choices:
        loss = _cuts_loss if isinstance(choice, Cuts) else _choice_loss
        total += loss(seen, choice, codes, groups, member)
    return total


def _cell(
    seen: Transcript, look: CoarsenedMarginal, codes: Sequence[int], groups: Sequence[int], stage: int
) -> tuple[int, ...]:
    """The canary's cell in a table of several columns: its groups, or the coarser ones that they lie in."""
    resolutions, groupings, _ = seen.stages[stage]
    here = groups if groupings is None else [int(g.groups[code]) for g, code in zip(groupings, codes, strict=True)]
    maps = resolutions.query(look) or (None,) * len(look.clique)
    return tuple(
        here[place] if coarse is None else int(coarse[here[place]])
        for place, coarse in zip(look.clique, maps, strict=True)
    )


def _fine_cells(cuttable: CuttableGroups, codes: Sequence[int]) -> list[int]:
    """The canary's cell in each column, as pairs that may be sharpened are counted."""
    return [
        int(grouping.groups[code]) if starts is None else int(np.searchsorted(starts, code, side="right") - 1)
        for grouping, starts, code in zip(cuttable.groupings, cuttable.starts, codes, strict=True)
    ]


def _choice_loss(seen: Transcript, choice: Choice, codes: Sequence[int], groups: Sequence[int], member: bool) -> float:
    looks, others = choice.arguments[3], list(choice.arguments[8]) if len(choice.arguments) > 8 else []
    place, worlds = [*looks, *others].index(choice.chosen), []
    cells = [_cell(seen, look, codes, groups, choice.stage) for look in looks]
    for there in (True, False):
        scores = [_score(choice, look, cell, there - member) for look, cell in zip(looks, cells, strict=True)]
        scores += [choice.most_weight * _sharpened(choice, each, codes, there - member) for each in others]
        logits = choice.rate * np.array(scores, float)
        worlds.append(float(logits[place] - logsumexp(logits)))
    return worlds[0] - worlds[1]


def _sharpened(choice: Choice, each: Sharpening, codes: Sequence[int], moved: int) -> int:
    """The score of sharpening a pair when its counts hold ``moved`` more of the canary."""
    gained = next(one for one in choice.gains if one.arguments[1] == each)
    gains = gained.moved(_fine_cells(gained.cuttable, codes), moved)
    return sharpening.sharpening_score(gains, choice.arguments[4], choice.arguments[6])


def _cuts_loss(seen: Transcript, cuts: Cuts, codes: Sequence[int], groups: Sequence[int], member: bool) -> float:
    worlds = []
    for there in (True, False):
        gains, total = cuts.gained.moved(_fine_cells(cuts.gained.cuttable, codes), there - member), 0.0
        for group, (edges, units) in gains.items():
            logits = cuts.rate * np.append(units - cuts.handicaps[group], 0).astype(float)
            hit = [place for place, edge in enumerate(edges) if int(edge) in cuts.edges]
            total += float(logits[hit[0] if hit else len(edges)] - logsumexp(logits))
        worlds.append(total)
    return worlds[0] - worlds[1]


def _score(choice: Choice, look: CoarsenedMarginal, cell: tuple[int, ...], moved: int) -> int:
    """The score of a table when its counts hold ``moved`` more of the canary."""
    counts, model, weights, _, _, sigma = choice.arguments[:6]
    here = counts[look].copy()
    here[cell] += moved
    less = round(exponential_mechanism.UNITS * exponential_mechanism.expected_noise_l1(sigma, here.size))
    return weights[look] * (exponential_mechanism.integer_l1(here, model[look]) - less)
