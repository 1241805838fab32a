"""Penalised least-squares loss of a mixture and its gradient, for NumPy and JAX.

Coarse tables are many and small, so the time goes into calls, not into numbers. Tables of like shape are therefore
stacked and compared at once. Their axes are sorted by size and filled up by cells of no weight, so that few shapes are
left: all axes but the longest to one power of two, the longest to its own, and pairs to squares.

The parameters are one table of logits, levels x components, with one more row for the weights of the components.
P(x) = sum_k w_k prod_c p_kc(x_c), so that all one- and two-way tables are A w and A diag(w) A'. What is minimised is

    half the sum of ((mu - y) / sigma)^2 over the measured cells + penalty * sum_k w_k sum_c KL(p_kc || p_c)

The second term is the information that the component gives about each column. Without it a mixture bends to the noise
until it is stopped. With it the number of components and the stopping hardly matter: see
:mod:`sfumato.mechanisms.graphical.mixture.fit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.mixture.targets import (
    Array,
    LevelLayout,
    TargetBlock,
    Targets,
    append_coarse,
    fold_coarse,
    with_zeros,
)

MOST_CELLS = 2**13
"""Cells of one batch: what is stacked times the components must stay near the processor."""


@dataclass(frozen=True, eq=False)
class MarginalBatch:
    """Stacked tables: which levels each axis of each table has, and which of them are real."""

    places: tuple[Clique, ...]
    sizes: tuple[tuple[int, ...], ...]
    rows: tuple[NDArray[np.intp], ...]
    """For each axis tables x levels."""
    block: TargetBlock
    """Targets and weights, the tables stacked along the first axis."""

    @staticmethod
    def of(layout: LevelLayout, shape: tuple[int, ...], tables: Sequence[tuple[Clique, TargetBlock]]) -> MarginalBatch:
        """Stack tables whose axes are no longer than those of ``shape``."""
        target, weight = np.zeros((2, len(tables), *shape))
        for number, (places, block) in enumerate(tables):
            inside = (number, *(slice(size) for size in layout.shape(places)))
            target[inside], weight[inside] = block.target, block.weight
        cliques = tuple(places for places, _ in tables)
        rows = tuple(
            np.stack([_rows(layout, places[axis], length) for places in cliques]) for axis, length in enumerate(shape)
        )
        return MarginalBatch(cliques, tuple(map(layout.shape, cliques)), rows, TargetBlock(target, weight))


def _rows(layout: LevelLayout, place: int, length: int) -> NDArray[np.intp]:
    """Return where a place's levels lie; the last one again and again where the axis is longer."""
    block = layout.block(place)
    return np.minimum(block.start + np.arange(length), block.stop - 1)


def batches_of(targets: Targets) -> tuple[MarginalBatch, ...]:
    """Stack what is alike. Tables at the columns' own levels, of which there are few, stay alone and as they are."""
    layout, alone = targets.views.seen, list[MarginalBatch]()
    alike: dict[tuple[int, ...], list[tuple[Clique, TargetBlock]]] = {}
    for places, block in targets.wide.items():
        if targets.views.are_columns(places):
            alone.append(MarginalBatch.of(layout, layout.shape(places), [(places, block)]))
        else:
            places, block = _sorted(layout, places, block)
            alike.setdefault(_filled(layout.shape(places)), []).append((places, block))
    stacked = [
        MarginalBatch.of(layout, shape, tables[low : low + _at_once(shape)])
        for shape, tables in alike.items()
        for low in range(0, len(tables), _at_once(shape))
    ]
    return (*alone, *stacked)


def _sorted(layout: LevelLayout, places: Clique, block: TargetBlock) -> tuple[Clique, TargetBlock]:
    order = sorted(range(len(places)), key=lambda axis: layout.sizes[places[axis]])
    turned = TargetBlock(block.target.transpose(order), block.weight.transpose(order))
    return tuple(places[axis] for axis in order), turned


def _filled(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that a table with ascending axes is filled up to.

    >>> _filled((2, 3, 5)), _filled((2, 5))
    ((4, 4, 8), (8, 8))
    """
    last = _power(shape[-1])
    return (last, last) if len(shape) == 2 else (_power(shape[-2]),) * (len(shape) - 1) + (last,)


def _power(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _at_once(shape: tuple[int, ...]) -> int:
    return max(MOST_CELLS // int(np.prod(shape)), 1)


def batch_loss(
    xp: Any, batch: MarginalBatch, target: Any, weight: Any, seen: Any, weights: Any
) -> tuple[Any, list[Any]]:
    """Return the error of a batch, and for each axis its derivatives by shares: tables x levels x components."""
    parts = [seen[rows] for rows in batch.rows]
    fitted = (products(parts[:-1]) * weights) @ xp.swapaxes(parts[-1], 1, 2)
    difference = fitted.reshape(target.shape) - target
    force = weight * difference
    pushes = [
        force.transpose(_first(axis, len(parts))).reshape(*rows.shape, -1) @ products(parts[:axis] + parts[axis + 1 :])
        for axis, rows in enumerate(batch.rows)
    ]
    return 0.5 * (force * difference).sum(), pushes


def _first(axis: int, count: int) -> list[int]:
    """Return the order of a stack's axes that brings one of a table's before the others."""
    return [0, axis + 1, *(other + 1 for other in range(count) if other != axis)]


def products(parts: list[Any]) -> Any:
    """Return the products of shares over all cells of several columns: cells x components, of each table of a stack."""
    table = parts[0]
    for part in parts[1:]:
        cells = table.shape[-2] * part.shape[-2]
        stack = table.shape[:-2]
        table = (table[..., :, None, :] * part[..., None, :, :]).reshape(*stack, cells, table.shape[-1])
    return table


class GradientBlocks:
    """Numbers by levels, cut into the blocks that tables add to: joined once, however many tables there are."""

    def __init__(self, layout: LevelLayout, whole: Any) -> None:
        self._layout, self._start = layout, whole
        self._parts: dict[int, Any] = {}

    def add(self, batch: MarginalBatch, axis: int, stacked: Any) -> None:
        """Add to the block of each table's place on one axis."""
        for number, (places, sizes) in enumerate(zip(batch.places, batch.sizes, strict=True)):
            place = places[axis]
            known = self._parts[place] if place in self._parts else self._start[self._layout.block(place)]
            self._parts[place] = known + stacked[number, : sizes[axis]]

    def whole(self, xp: Any) -> Any:
        """Return all numbers."""
        if not self._parts:
            return self._start
        places = range(len(self._layout.sizes))
        return xp.concatenate(
            [self._parts[p] if p in self._parts else self._start[self._layout.block(p)] for p in places]
        )


FIRST_DECAY, SECOND_DECAY = 0.9, 0.99
"""How fast Adam forgets gradients and their squares."""

TINY = 1e-12

LOWEST_LOGIT = -60.0


@dataclass(frozen=True)
class MixtureLoss:
    """The numbers of one fit in float32, as plain arrays that either library reads."""

    layout: LevelLayout
    """The levels of columns."""
    seen: LevelLayout
    """The same, and those of the coarser views of columns that tables have."""
    arrays: dict[str, Any]
    wide: tuple[MarginalBatch, ...]

    @classmethod
    def of(cls, targets: Targets, penalty: float) -> MixtureLoss:
        """Scale the objective by the measured cells, so that it is of order one whatever the table."""
        scale = 1.0 / max(targets.cells, 1)
        numbers: dict[str, Any] = {
            "members": targets.layout.members,
            "owners": targets.layout.owners,
            "sums": targets.views.sums,
            "log_reference": np.log(targets.reference)[:, None],
            "penalty": np.asarray(penalty * scale),
            "single": targets.single.target[:, None],
            "single_weight": targets.single.weight[:, None] * scale,
            "pairs": targets.pairs.target,
            "pairs_weight": targets.pairs.weight * scale,
        }
        wide = batches_of(targets)
        for number, batch in enumerate(wide):
            numbers[f"wide_{number}"], numbers[f"weight_{number}"] = batch.block.target, batch.block.weight * scale
        arrays = {name: array if name == "owners" else array.astype(np.float32) for name, array in numbers.items()}
        return cls(targets.layout, targets.views.seen, arrays, wide)


def shares(xp: Any, goal: MixtureLoss, arrays: dict[str, Any], logits: Any) -> tuple[Any, Any, Any]:
    """Return the shares of levels (levels x components), the components' weights, and the logs of the shares."""
    raised = xp.exp(logits[:-1])
    logs = logits[:-1] - xp.log(arrays["members"] @ raised)[arrays["owners"]]
    weights = xp.exp(logits[-1] - logits[-1].max())
    return xp.exp(logs), weights / weights.sum(), logs


def value_and_gradient(xp: Any, goal: MixtureLoss, arrays: dict[str, Any], logits: Any) -> tuple[Any, Any, Any]:
    """Return the penalised error, its part without the penalty, and the gradient by the logits."""
    levels, weights, logs = shares(xp, goal, arrays, logits)
    all_levels = append_coarse(xp, levels, arrays["sums"])
    weighted = all_levels * weights
    pair_error = weighted[: len(levels)] @ levels.T - arrays["pairs"]
    pair_force = arrays["pairs_weight"] * pair_error
    single_error = weighted.sum(1, keepdims=True) - arrays["single"]
    single_force = arrays["single_weight"] * single_error
    error = 0.25 * (pair_force * pair_error).sum() + 0.5 * (single_force * single_error).sum()
    # By a component's shares the error changes as its weight times ``push``; by its weight as the sums of ``pull``.
    product = with_zeros(xp, pair_force @ levels, arrays["sums"])
    push, pull = product + single_force, 0.5 * product + single_force
    error, push, pull = _with_wide(xp, goal, arrays, all_levels, weights, (error, push, pull))
    push, pull = fold_coarse(push, arrays["sums"]), (all_levels * pull).sum(0)
    ratio = arrays["penalty"] * (logs - arrays["log_reference"])
    information = (levels * ratio).sum(0)
    gradient = _by_logits(xp, arrays, levels, weights, push + ratio, pull + information)
    return error + weights @ information, error, gradient


def _by_logits(xp: Any, arrays: dict[str, Any], levels: Any, weights: Any, push: Any, pull: Any) -> Any:
    """Carry the derivatives by shares and by weights through both softmaxes."""
    inner = levels * push
    below = arrays["members"] @ inner
    by_levels = (inner - levels * below[arrays["owners"]]) * weights
    by_weights = weights * (pull - weights @ pull)
    return xp.concatenate([by_levels, by_weights[None]])


def _with_wide(
    xp: Any, goal: MixtureLoss, arrays: dict[str, Any], seen: Any, weights: Any, found: tuple[Any, Any, Any]
) -> tuple[Any, Any, Any]:
    """Add the tables of three columns or more, and the coarse ones."""
    error, push, pull = found
    pushed, pulled = GradientBlocks(goal.seen, push), GradientBlocks(goal.seen, pull)
    for number, batch in enumerate(goal.wide):
        more, pushes = batch_loss(xp, batch, arrays[f"wide_{number}"], arrays[f"weight_{number}"], seen, weights)
        error = error + more
        for axis, part in enumerate(pushes):
            pushed.add(batch, axis, part)
            pulled.add(batch, axis, part / len(pushes))
    return error, pushed.whole(xp), pulled.whole(xp)


def half_squares(targets: Targets, levels: Array, weights: Array) -> float:
    """Return half the sum of squared errors of a mixture in units of the noise of any targets, in float64."""
    levels, weights = levels.astype(np.float64), weights.astype(np.float64)
    all_levels = append_coarse(np, levels, targets.views.sums)
    weighted = all_levels * weights
    pairs = targets.pairs.weight * (weighted[: len(levels)] @ levels.T - targets.pairs.target) ** 2
    total = 0.25 * pairs.sum() + 0.5 * (targets.single.weight * (weighted.sum(1) - targets.single.target) ** 2).sum()
    for places, block in targets.wide.items():
        parts = [all_levels[targets.views.seen.block(place)] for place in places]
        cells = (products(parts[:-1]) * weights) @ parts[-1].T
        total += 0.5 * (block.weight * (cells.reshape(block.target.shape) - block.target) ** 2).sum()
    return float(total)


def adam(xp: Any, goal: MixtureLoss, arrays: dict[str, Any], state: tuple[Any, ...], rate: Any) -> tuple[Any, ...]:
    """Take one step. The state holds logits, means of gradients and squares, the count, and the value."""
    logits, mean, square, count = state[:4]
    value, _, gradient = value_and_gradient(xp, goal, arrays, logits)
    mean = FIRST_DECAY * mean + (1.0 - FIRST_DECAY) * gradient
    square = SECOND_DECAY * square + (1.0 - SECOND_DECAY) * gradient * gradient
    count = count + 1
    reach = rate * (1.0 - SECOND_DECAY**count) ** 0.5 / (1.0 - FIRST_DECAY**count)
    return logits - xp.float32(reach) * mean / (xp.sqrt(square) + TINY), mean, square, count, value


def centre_logits(layout: LevelLayout, logits: Array) -> Array:
    """Return the same distribution with the largest logit of each column at 0, so that nothing overflows."""
    highest = np.maximum.reduceat(logits[:-1], layout.offsets[:-1], axis=0)
    inner = logits[:-1] - highest[layout.owners]
    return np.concatenate([np.maximum(inner, LOWEST_LOGIT), logits[-1:] - logits[-1].max()]).astype(np.float32)
