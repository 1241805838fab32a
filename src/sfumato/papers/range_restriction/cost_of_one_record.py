"""What one record really costs, beside the claim: measurements for the errata, on the first sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.methods.pseudo_posterior import (
    Family,
    Fitted,
    Loss,
    OutlierLoss,
    Weighting,
    add_outlier,
    leave_one_out,
    make_family,
)
from sfumato.papers.range_restriction.data import Array, simulated
from sfumato.papers.range_restriction.simulation import FIRST_SEED, NARROW, SIX, WIDE

RESIDUALS = (4.0, 5.0, 6.0, 10.0, 20.0, 50.0)
AT_Z = 2.0
CAPPED = Weighting("capped", target_claim=8.0)
UNITS = (0.001, 0.1, 1.0, 10.0, 1000.0, 1e6)
DRAWS = (100, 1000, 10_000, 100_000)
SHARES = (0.6, 0.3, 0.09, 0.01)


def first_family(unit: float = 1.0) -> Family:
    """Return the first sample under the paper's model, in another unit of x if asked for."""
    sample = simulated(FIRST_SEED)
    return make_family("lognormal", unit * sample.x, sample.z)


def generator(stream: int) -> np.random.Generator:
    """Return the random numbers of one measurement."""
    return np.random.default_rng([FIRST_SEED, stream])


def added(weighting: Weighting, residuals: tuple[float, ...] = RESIDUALS) -> list[OutlierLoss]:
    """Return the loss from adding one record at z = 2 with a large residual, weights computed anew."""
    family = first_family()
    return [add_outlier(family, weighting, r, generator(4), predictors=[AT_Z]) for r in residuals]


def left_out(names: tuple[str, ...]) -> dict[str, Loss]:
    """Return the loss from leaving out one of the 20 records furthest from the fit."""
    family = first_family()
    return {name: leave_one_out(family, SIX[name], generator(5)) for name in names}


def by_unit() -> dict[float, Fitted]:
    """Return the weighted fit of the same data in other units."""
    return {unit: SIX["Weighted"].fit(first_family(unit), generator(1)) for unit in UNITS}


def of_logs() -> Fitted:
    """Return the weighted fit of log x under a normal model: the same model without the Jacobian."""
    sample = simulated(FIRST_SEED)
    return SIX["Weighted"].fit(make_family("normal", np.log(sample.x), sample.z), generator(1))


def truncated_in_tenths() -> tuple[float, float]:
    """Return the epsilons of both truncated synthesizers with x in units ten times as large."""
    family = first_family(0.1)
    wide, narrow = (Weighting("truncated", ranges=ranges).fit(family, generator(1)) for ranges in (WIDE, NARROW))
    return wide.epsilon, narrow.epsilon


def by_draws() -> dict[int, float]:
    """Return the weighted epsilon by the number of draws that are looked at."""
    family = first_family()
    return {draws: Weighting("weighted", draws=draws).fit(family, generator(6)).epsilon for draws in DRAWS}


@dataclass(frozen=True, eq=False)
class RareCategory:
    """The rarest of four categories: its weight and its shares before and after."""

    weight: float
    share: float
    synthetic: float


def rare_category(records: int = 2000, copies: int = 20) -> RareCategory:
    """Return what becomes of a category of 1 % under risk weights."""
    numbers = generator(7)
    codes = numbers.choice(len(SHARES), records, p=SHARES)
    fitted = Weighting("weighted").fit(make_family("categorical", codes), numbers)
    made: list[Array] = [fitted.synthesise(copy, None, numbers) for copy in range(copies)]
    rarest = codes == len(SHARES) - 1
    return RareCategory(
        weight=float(fitted.weights[rarest].max()),
        share=float(rarest.mean()),
        synthetic=float(np.mean([(copy == len(SHARES) - 1).mean() for copy in made])),
    )
