"""The penalised error of a mixture of products and its gradient, written once for NumPy and for JAX.

The parameters are one table of logits, levels x components, with one more row for the weights of the components.
P(x) = sum_k w_k prod_c p_kc(x_c), so that all one- and two-way tables are A w and A diag(w) A'. What is minimised is

    half the sum of ((mu - y) / sigma)^2 over the measured cells + penalty * sum_k w_k sum_c KL(p_kc || p_c)

The second term is the information that the component gives about each column. Without it a mixture bends to the noise
until it is stopped. With it the number of components and the stopping hardly matter: see
:mod:`sfumato.methods.graphical.mixture.penalty`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.methods.graphical.mixture.targets import Array, Layout, Targets
from sfumato.methods.graphical.tree.junction import Clique

FIRST_DECAY, SECOND_DECAY = 0.9, 0.99
"""How fast Adam forgets gradients and their squares."""
TINY = 1e-12
LOWEST_LOGIT = -60.0


@dataclass(frozen=True)
class Objective:
    """The numbers of one fit in float32, as plain arrays that either library reads."""

    layout: Layout
    arrays: dict[str, Any]
    wide: tuple[Clique, ...]

    @classmethod
    def of(cls, targets: Targets, penalty: float) -> Objective:
        """Scale the objective by the measured cells, so that it is of order one whatever the table."""
        scale = 1.0 / max(targets.cells, 1)
        numbers: dict[str, Any] = {
            "members": targets.layout.members,
            "owners": targets.layout.owners,
            "log_reference": np.log(targets.reference)[:, None],
            "penalty": np.asarray(penalty * scale),
            "single": targets.single.target[:, None],
            "single_weight": targets.single.weight[:, None] * scale,
            "pairs": targets.pairs.target,
            "pairs_weight": targets.pairs.weight * scale,
        }
        for number, block in enumerate(targets.wide.values()):
            numbers[f"wide_{number}"], numbers[f"weight_{number}"] = block.target, block.weight * scale
        arrays = {name: array if name == "owners" else array.astype(np.float32) for name, array in numbers.items()}
        return cls(targets.layout, arrays, tuple(targets.wide))


def shares(xp: Any, goal: Objective, arrays: dict[str, Any], logits: Any) -> tuple[Any, Any, Any]:
    """Return the shares of levels (levels x components), the components' weights, and the logs of the shares."""
    raised = xp.exp(logits[:-1])
    logs = logits[:-1] - xp.log(arrays["members"] @ raised)[arrays["owners"]]
    weights = xp.exp(logits[-1] - logits[-1].max())
    return xp.exp(logs), weights / weights.sum(), logs


def value_and_gradient(xp: Any, goal: Objective, arrays: dict[str, Any], logits: Any) -> tuple[Any, Any, Any]:
    """Return the penalised error, its part without the penalty, and the gradient by the logits."""
    levels, weights, logs = shares(xp, goal, arrays, logits)
    weighted = levels * weights
    pair_error = weighted @ levels.T - arrays["pairs"]
    pair_force = arrays["pairs_weight"] * pair_error
    single_error = weighted.sum(1, keepdims=True) - arrays["single"]
    single_force = arrays["single_weight"] * single_error
    error = 0.25 * (pair_force * pair_error).sum() + 0.5 * (single_force * single_error).sum()
    # By a component's shares the error changes as its weight times ``push``; by its weight as the sums of ``pull``.
    product = pair_force @ levels
    push, pull = product + single_force, 0.5 * product + single_force
    error, push, pull = _with_wide(xp, goal, arrays, levels, weights, (error, push, pull))
    ratio = arrays["penalty"] * (logs - arrays["log_reference"])
    information = (levels * ratio).sum(0)
    gradient = _by_logits(xp, arrays, levels, weights, push + ratio, (levels * pull).sum(0) + information)
    return error + weights @ information, error, gradient


def _by_logits(xp: Any, arrays: dict[str, Any], levels: Any, weights: Any, push: Any, pull: Any) -> Any:
    """Carry the derivatives by shares and by weights through both softmaxes."""
    inner = levels * push
    below = arrays["members"] @ inner
    by_levels = (inner - levels * below[arrays["owners"]]) * weights
    by_weights = weights * (pull - weights @ pull)
    return xp.concatenate([by_levels, by_weights[None]])


def _with_wide(
    xp: Any, goal: Objective, arrays: dict[str, Any], levels: Any, weights: Any, found: tuple[Any, Any, Any]
) -> tuple[Any, Any, Any]:
    """Add the tables of three columns or more, one by one."""
    error, push, pull = found
    for number, clique in enumerate(goal.wide):
        parts = [levels[goal.layout.block(column)] for column in clique]
        shape = goal.layout.shape(clique)
        fitted = (products(parts[:-1]) * weights) @ parts[-1].T
        difference = fitted.reshape(shape) - arrays[f"wide_{number}"]
        force = arrays[f"weight_{number}"] * difference
        error = error + 0.5 * (force * difference).sum()
        for axis, column in enumerate(clique):
            others = parts[:axis] + parts[axis + 1 :]
            share = xp.moveaxis(force, axis, 0).reshape(shape[axis], -1) @ products(others)
            push = _added(xp, push, goal.layout.block(column), share)
            pull = _added(xp, pull, goal.layout.block(column), share / len(clique))
    return error, push, pull


def _added(xp: Any, whole: Any, block: slice, part: Any) -> Any:
    return xp.concatenate([whole[: block.start], whole[block] + part, whole[block.stop :]])


def products(parts: list[Any]) -> Any:
    """Return the products of shares over all cells of several columns: cells x components."""
    table = parts[0]
    for part in parts[1:]:
        table = (table[:, None, :] * part[None, :, :]).reshape(-1, table.shape[-1])
    return table


def half_squares(targets: Targets, levels: Array, weights: Array) -> float:
    """Return half the sum of squared errors of a mixture in units of the noise of any targets, in float64."""
    levels, weights = levels.astype(np.float64), weights.astype(np.float64)
    weighted = levels * weights
    pairs = targets.pairs.weight * (weighted @ levels.T - targets.pairs.target) ** 2
    found = 0.25 * pairs.sum() + 0.5 * (targets.single.weight * (weighted.sum(1) - targets.single.target) ** 2).sum()
    for clique, block in targets.wide.items():
        parts = [levels[targets.layout.block(column)] for column in clique]
        cells = (products(parts[:-1]) * weights) @ parts[-1].T
        found += 0.5 * (block.weight * (cells.reshape(block.target.shape) - block.target) ** 2).sum()
    return float(found)


def adam(xp: Any, goal: Objective, arrays: dict[str, Any], state: tuple[Any, ...], rate: Any) -> tuple[Any, ...]:
    """Take one step. The state holds logits, means of gradients and squares, the count, and the value."""
    logits, mean, square, count = state[:4]
    value, _, gradient = value_and_gradient(xp, goal, arrays, logits)
    mean = FIRST_DECAY * mean + (1.0 - FIRST_DECAY) * gradient
    square = SECOND_DECAY * square + (1.0 - SECOND_DECAY) * gradient * gradient
    count = count + 1
    reach = rate * (1.0 - SECOND_DECAY**count) ** 0.5 / (1.0 - FIRST_DECAY**count)
    return logits - xp.float32(reach) * mean / (xp.sqrt(square) + TINY), mean, square, count, value


def recentred(layout: Layout, logits: Array) -> Array:
    """Return the same distribution with the largest logit of each column at 0, so that nothing overflows."""
    highest = np.maximum.reduceat(logits[:-1], layout.offsets[:-1], axis=0)
    inner = logits[:-1] - highest[layout.owners]
    return np.concatenate([np.maximum(inner, LOWEST_LOGIT), logits[-1:] - logits[-1].max()]).astype(np.float32)
