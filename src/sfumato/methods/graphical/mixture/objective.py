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

from sfumato.methods.graphical.mixture.layout import Layout, with_views, with_zeros, without_views
from sfumato.methods.graphical.mixture.targets import Array, Targets
from sfumato.methods.graphical.mixture.wide import Batch, Blocks, batches_of, compared, products

FIRST_DECAY, SECOND_DECAY = 0.9, 0.99
"""How fast Adam forgets gradients and their squares."""
TINY = 1e-12
LOWEST_LOGIT = -60.0


@dataclass(frozen=True)
class Objective:
    """The numbers of one fit in float32, as plain arrays that either library reads."""

    layout: Layout
    """The levels of columns."""
    seen: Layout
    """The same, and those of the coarser views of columns that tables have."""
    arrays: dict[str, Any]
    wide: tuple[Batch, ...]

    @classmethod
    def of(cls, targets: Targets, penalty: float) -> Objective:
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


def shares(xp: Any, goal: Objective, arrays: dict[str, Any], logits: Any) -> tuple[Any, Any, Any]:
    """Return the shares of levels (levels x components), the components' weights, and the logs of the shares."""
    raised = xp.exp(logits[:-1])
    logs = logits[:-1] - xp.log(arrays["members"] @ raised)[arrays["owners"]]
    weights = xp.exp(logits[-1] - logits[-1].max())
    return xp.exp(logs), weights / weights.sum(), logs


def value_and_gradient(xp: Any, goal: Objective, arrays: dict[str, Any], logits: Any) -> tuple[Any, Any, Any]:
    """Return the penalised error, its part without the penalty, and the gradient by the logits."""
    levels, weights, logs = shares(xp, goal, arrays, logits)
    seen = with_views(xp, levels, arrays["sums"])
    weighted = seen * weights
    pair_error = weighted[: len(levels)] @ levels.T - arrays["pairs"]
    pair_force = arrays["pairs_weight"] * pair_error
    single_error = weighted.sum(1, keepdims=True) - arrays["single"]
    single_force = arrays["single_weight"] * single_error
    error = 0.25 * (pair_force * pair_error).sum() + 0.5 * (single_force * single_error).sum()
    # By a component's shares the error changes as its weight times ``push``; by its weight as the sums of ``pull``.
    product = with_zeros(xp, pair_force @ levels, arrays["sums"])
    push, pull = product + single_force, 0.5 * product + single_force
    error, push, pull = _with_wide(xp, goal, arrays, seen, weights, (error, push, pull))
    push, pull = without_views(push, arrays["sums"]), (seen * pull).sum(0)
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
    xp: Any, goal: Objective, arrays: dict[str, Any], seen: Any, weights: Any, found: tuple[Any, Any, Any]
) -> tuple[Any, Any, Any]:
    """Add the tables of three columns or more, and the coarse ones."""
    error, push, pull = found
    pushed, pulled = Blocks(goal.seen, push), Blocks(goal.seen, pull)
    for number, batch in enumerate(goal.wide):
        more, pushes = compared(xp, batch, arrays[f"wide_{number}"], arrays[f"weight_{number}"], seen, weights)
        error = error + more
        for axis, part in enumerate(pushes):
            pushed.add(batch, axis, part)
            pulled.add(batch, axis, part / len(pushes))
    return error, pushed.whole(xp), pulled.whole(xp)


def half_squares(targets: Targets, levels: Array, weights: Array) -> float:
    """Return half the sum of squared errors of a mixture in units of the noise of any targets, in float64."""
    levels, weights = levels.astype(np.float64), weights.astype(np.float64)
    seen = with_views(np, levels, targets.views.sums)
    weighted = seen * weights
    pairs = targets.pairs.weight * (weighted[: len(levels)] @ levels.T - targets.pairs.target) ** 2
    found = 0.25 * pairs.sum() + 0.5 * (targets.single.weight * (weighted.sum(1) - targets.single.target) ** 2).sum()
    for places, block in targets.wide.items():
        parts = [seen[targets.views.seen.block(place)] for place in places]
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
