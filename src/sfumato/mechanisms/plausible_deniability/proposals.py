"""Proposal distributions: make candidates from seeds, count plausible seeds, run one attempt.

Both models work on codes. Distinct rows of the table and how often each occurs are all they keep: that is what the
engine returns from one GROUP BY, and seeds with equal codes are equally plausible.

- :class:`PrefixProposal` keeps the first attributes of the seed, in an order, and draws the others one after the other
  from conditional tables (Bindschaedler, Shokri and Gunter 2017). How many are kept is random. Given y, p_s(y) depends
  on the seed only through the length of the prefix in which s and y agree, so the seeds of a cell are counted by
  looking up prefixes: no scan.
- :class:`KernelProposal` moves every attribute by itself: nearby bins of ordered columns, rarely another level of
  others. p_s(y) is a product, so counting adds whole costs along sorted rows and skips runs that cannot lie in the
  cell.

The noise of the test is drawn inside the measurement: noisy counts of plausible seeds are compared with k. Its scale is
rounded up, never down; delta is claimed as exp(-epsilon0 (k - t)), a factor of 1 + exp(-epsilon0) above the tail of the
noise, which more than covers that rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.core.plan import Plan
from sfumato.entropy.values import shannon
from sfumato.mechanisms.noisy_marginals import measure_marginals
from sfumato.mechanisms.plausible_deniability.privacy_test import PrivacyTest, cell_index, prior_share
from sfumato.mechanisms.tree_model import TreeModel, fit_tree_to_plan, noisy_total
from sfumato.privacy.exact import Number, to_fraction
from sfumato.privacy.noise import add_laplace
from sfumato.privacy.randomness import Randomness, UniformSource
from sfumato.sampling.values import draw_conditional
from sfumato.schema import Schema

Codes = NDArray[np.int64]

MOST_COLUMNS = 1000
"""Columns of the kernel model up to which sums of costs, impossible ones included, surely stay below 2^63."""


@dataclass(frozen=True)
class SeedRows:
    """The distinct rows of the private table, as codes, and how often each occurs."""

    codes: Codes
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, codes: Codes, counts: NDArray[np.int64]) -> SeedRows:
        """Return the rows in sorted order: engines hand them over in any order, and a seed must repeat a run.

        An empty table is a row that occurs 0 times: it takes the same steps, and no place holds a row.
        """
        if not len(codes):
            return cls(np.zeros((1, codes.shape[1]), np.int64), np.zeros(1, np.int64))
        order = np.lexsort(codes.T)
        return cls(codes[order], counts[order])

    @property
    def total(self) -> int:
        """The number of rows: private."""
        return int(self.counts.sum())

    def draw(self, places: int, wanted: int, uniform: UniformSource) -> NDArray[np.int64]:
        """Return row numbers of uniform seeds among ``places`` places; -1 for a place that holds no row."""
        ends = np.cumsum(self.counts)
        chosen = np.searchsorted(ends, uniform.random(wanted) * places, side="right")
        return np.where(chosen < len(ends), chosen, -1)


class Proposal(Protocol):
    """A family p_s(y) that can be drawn from and counted."""

    def propose(self, seeds: Codes, uniform: UniformSource) -> Codes:
        """Return one candidate for each seed."""
        ...

    def plausible(self, table: SeedRows, seeds: Codes, candidates: Codes, gamma: float) -> NDArray[np.int64]:
        """Return how many rows of the table lie in the cell of each seed, given its candidate."""
        ...


@dataclass(frozen=True)
class PrefixProposal:
    """Keep a random number of leading attributes, draw the others from conditional tables."""

    names: tuple[str, ...]
    tree: TreeModel
    keep: tuple[float, ...]
    """Probability of keeping 0, 1, ... attributes, in this model's order."""

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The columns in the order in which they are kept or drawn: parents first, coarse columns early.

        Coarse columns tell seeds apart least, so that more of them can be kept.
        """
        spread = {name: shannon(shares) for name, shares in self.tree.shares.items()}
        placed: list[str] = []
        while len(placed) < len(spread):
            ready = [n for n in spread if n not in placed and self.tree.parents.get(n, "") in (*placed, "")]
            placed.append(min(ready, key=spread.__getitem__))
        return tuple(placed)

    @cached_property
    def places(self) -> list[int]:
        """The columns in that order, as positions in the codes."""
        return [self.names.index(name) for name in self.order]

    def propose(self, seeds: Codes, uniform: UniformSource) -> Codes:
        """Return candidates: each keeps its own number of attributes."""
        kept = np.searchsorted(np.cumsum(self.keep)[:-1], uniform.random(len(seeds)), side="right")
        candidates = seeds.copy()
        for step, (name, place) in enumerate(zip(self.order, self.places, strict=True)):
            parent = self.tree.parents.get(name)
            parent_codes = np.zeros(len(seeds), np.int64) if parent is None else candidates[:, self.names.index(parent)]
            drawn = draw_conditional(self.tree.table(name), parent_codes, uniform)
            candidates[:, place] = np.where(step < kept, candidates[:, place], drawn)
        return candidates

    def log_proposals(self, candidates: Codes) -> FloatArray:
        """Return log p_s(y) for seeds that agree with y in exactly 0, 1, ... leading attributes."""
        tails = np.zeros((len(candidates), len(self.places) + 1))
        tails[:, :-1] = np.cumsum(self.log_steps(candidates)[:, ::-1], axis=1)[:, ::-1]
        with np.errstate(divide="ignore"):
            terms = np.log(np.array(self.keep)) + tails[:, : len(self.keep)]
        return np.logaddexp.accumulate(terms, axis=1)

    def log_steps(self, candidates: Codes) -> FloatArray:
        """Return the log-probability of each attribute of a candidate given those before it."""
        steps = np.empty(candidates.shape)
        for step, (name, place) in enumerate(zip(self.order, self.places, strict=True)):
            parent = self.tree.parents.get(name)
            parent_codes = (
                np.zeros(len(candidates), np.int64) if parent is None else candidates[:, self.names.index(parent)]
            )
            with np.errstate(divide="ignore"):
                steps[:, step] = np.log(self.tree.table(name)[parent_codes, candidates[:, place]])
        return steps

    def plausible(self, table: SeedRows, seeds: Codes, candidates: Codes, gamma: float) -> NDArray[np.int64]:
        """Return how many rows lie in the cell of each seed: those whose agreement gives the same cell."""
        longest = len(self.keep) - 1
        order = self.places[:longest]
        agree = PrefixIndex.of(table, order).agreeing(candidates)
        exactly = agree - np.append(agree[:, 1:], np.zeros((len(agree), 1), np.int64), axis=1)
        own = np.cumprod(seeds[:, order] == candidates[:, order], axis=1).sum(axis=1)
        cells = cell_index(self.log_proposals(candidates), gamma)
        return (exactly * (cells == cells[np.arange(len(cells)), own][:, None])).sum(axis=1)


@dataclass(frozen=True)
class PrefixIndex:
    """For every prefix of the columns the keys that occur and how many rows have them."""

    order: tuple[int, ...]
    sizes: tuple[int, ...]
    keys: tuple[NDArray[np.int64], ...]
    counts: tuple[NDArray[np.int64], ...]
    total: int

    @classmethod
    def of(cls, table: SeedRows, order: Sequence[int]) -> PrefixIndex:
        """Sort the rows once; a key is the group of the shorter prefix and the next code, so keys come sorted, too."""
        places = np.lexsort(table.codes[:, order[::-1]].astype(np.int32).T) if order else np.arange(len(table.codes))
        rows, weights = table.codes[places], table.counts[places]
        group, keys, counts, sizes = np.zeros(len(rows), np.int64), list[Codes](), list[Codes](), list[int]()
        for place in order:
            size = int(rows[:, place].max(initial=0)) + 1
            key = group * size + rows[:, place]
            starts = np.flatnonzero(np.diff(key, prepend=-1))
            keys.append(key[starts])
            counts.append(np.add.reduceat(weights, starts))
            sizes.append(size)
            group = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
        return cls(tuple(order), tuple(sizes), tuple(keys), tuple(counts), table.total)

    def agreeing(self, candidates: Codes) -> NDArray[np.int64]:
        """Return, for prefixes of length 0, 1, ..., how many rows agree with each candidate."""
        agree = np.zeros((len(candidates), len(self.order) + 1), np.int64)
        agree[:, 0] = self.total
        group, alive = np.zeros(len(candidates), np.int64), np.ones(len(candidates), bool)
        for step, (place, size) in enumerate(zip(self.order, self.sizes, strict=True)):
            wanted = group * size + candidates[:, place]
            group = np.minimum(np.searchsorted(self.keys[step], wanted), len(self.keys[step]) - 1)
            alive &= (self.keys[step][group] == wanted) & (candidates[:, place] < size)
            agree[:, step + 1] = np.where(alive, self.counts[step][group], 0)
        return agree


@dataclass(frozen=True)
class KernelProposal:
    """Move every attribute by itself, by a public kernel."""

    kernels: tuple[FloatArray, ...]
    """For each column the probabilities of moving from a code (row) to a code."""

    @classmethod
    def of(cls, schema: Schema, names: Sequence[str], bandwidth: float, stay: float) -> KernelProposal:
        """Return kernels that fall by a factor of e over ``bandwidth`` bins, and keep other levels with ``stay``."""
        return cls(tuple(_kernel(schema, name, bandwidth, stay) for name in names))

    def propose(self, seeds: Codes, uniform: UniformSource) -> Codes:
        """Return one candidate for each seed."""
        moved = [draw_conditional(kernel, seeds[:, i], uniform) for i, kernel in enumerate(self.kernels)]
        return np.column_stack(moved)

    def plausible(self, table: SeedRows, seeds: Codes, candidates: Codes, gamma: float) -> NDArray[np.int64]:
        """Return how many rows lie in the cell of each seed, counted by a compiled loop."""
        from sfumato.mechanisms.plausible_deniability.seed_counting import (
            SortedRows,
            cell_width,
            count_plausible_seeds,
            whole_costs,
        )

        sizes, costs = np.array([len(kernel) for kernel in self.kernels]), whole_costs(self.kernels)
        rows = SortedRows.of(table.codes, table.counts, costs)
        return count_plausible_seeds(costs, sizes, cell_width(gamma, len(sizes)), rows, seeds, candidates)


def kernel_bytes(sizes: Sequence[int]) -> int:
    """Return the bytes that the kernels and the costs of columns of these sizes take."""
    return 8 * (3 * sum(size * size for size in sizes) + len(sizes) * max(sizes) ** 2)


def _kernel(schema: Schema, name: str, bandwidth: float, stay: float) -> FloatArray:
    """Return the kernel of one column; a level without an order, and the missing one, moves to all others alike."""
    column = schema[name]
    others = max(column.size - 1, 1)
    kernel = np.full((column.size, column.size), (1 - stay) / others)
    np.fill_diagonal(kernel, stay)
    if column.is_ordered or column.kind == "ordinal":
        place = np.arange(column.present_size)
        near = np.exp(-np.abs(place[:, None] - place) / bandwidth)
        mass = 1 - (1 - stay) / others if column.missing else 1.0
        kernel[: len(place), : len(place)] = mass * near / near.sum(axis=1, keepdims=True)
    return kernel / kernel.sum(axis=1, keepdims=True)


def learn_tree(
    counts: Mapping[tuple[str, ...], Codes], plan: Plan, rows: int | None, randomness: Randomness
) -> tuple[TreeModel, float]:
    """Return the seed model's tree, learned from tables with the plan's noise, and the number of rows it knows of.

    ``rows`` is that number where it is public.
    """
    noisy = measure_marginals(counts, plan, list(counts), randomness)
    total = float(rows) if rows is not None else noisy_total(noisy)
    return fit_tree_to_plan(noisy, plan, total, coarse_first=True), total


def fixed_prefix(keep: Number, names: Sequence[str]) -> tuple[float, ...]:
    """Return the law under which a stated number of attributes is always kept."""
    return (*([0.0] * min(int(to_fraction(keep)), len(names))), 1.0)


def choose_keep(tree: TreeModel, total: float, k: int, uniform: UniformSource, probes: int = 2000) -> tuple[float, ...]:
    """Return how many attributes to keep, from the noisy model alone: as many as leave k rows alike, for most rows.

    Uses nothing but released parameters, so it is post-processing.
    """
    drawn: Mapping[str, Codes] = tree.draw(probes, uniform)
    model = PrefixProposal(tuple(drawn), tree, (1.0,))
    steps = model.log_steps(np.column_stack(list(drawn.values())))
    alike = total * np.exp(np.cumsum(steps, axis=1))
    enough = (alike >= ROOM * k).mean(axis=0) >= MOST
    most = int(np.argmin(enough)) if not enough.all() else len(enough)
    least = max(most - 2, 0)
    return tuple([0.0] * least + [1 / (most - least + 1)] * (most - least + 1))


ROOM = 1.5
"""Expected rows alike, in units of k, that make a prefix worth keeping."""
MOST = 0.6
"""Share of rows for which that must hold."""


def attempt_rows(
    table: SeedRows, proposal: Proposal, fallback: Codes, test: PrivacyTest, randomness: Randomness
) -> Codes:
    """Make one attempt for each row of ``fallback``, and return the candidates that pass and the fallback elsewhere.

    All steps are taken for all rows, whatever passes.
    """
    uniform, count = randomness.uniform, len(fallback)
    chosen = table.draw(max(table.total, test.k), count, uniform)
    seeds = table.codes[chosen]
    candidates = proposal.propose(seeds, uniform)
    plausible = proposal.plausible(table, seeds, candidates, test.gamma)
    passes = add_laplace(plausible, repr(test.epsilon0), 1, randomness) >= test.k
    tried = uniform.random(count) >= prior_share(test.k, test.gamma, test.epsilon0)
    return np.where((passes & tried & (chosen >= 0))[:, None], candidates, fallback)
