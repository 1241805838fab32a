"""Fit, draw and synthesise as printed, and measure the claims on the private rows.

There is no formal guarantee here. What the paper calls epsilon is local to the table, a maximum over draws, and itself
a function of the private rows; so are all numbers below. They are for the custodian: no public file holds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SfumatoError
from sfumato.papers.range_restriction.published.column_models import PublishedColumnModel
from sfumato.papers.range_restriction.published.joint_family import JointFamily, Values, fit_columns, synthesise_columns
from sfumato.papers.range_restriction.published.measured_loss import add_outlier, leave_one_out
from sfumato.papers.range_restriction.published.weights import WeightedPosterior, Weighting

OUTLIER = 10.0
"""Standard deviations at which the added outlier lies."""
ODDEST = 20
"""Records of which each is left out in turn."""
FEW_ODDEST, FEW_DRAWS = 3, 2000
"""The same where several columns are modelled, or many rows: each record left out is a fit of its own."""
MEASURED_IN_FULL = 5_000
LARGEST_MEASURED = 50_000
"""Beyond this many rows leaving records out would take longer than the release; the report says so."""


@dataclass(frozen=True)
class ExposedColumns:
    """Synthetic copies of the target columns, and numbers about the private rows."""

    copies: tuple[Values, ...]
    confidential: dict[str, Any]


def run_published(
    models: Sequence[PublishedColumnModel],
    values: Mapping[str, NDArray[Any]],
    weighting: Weighting,
    copies: int,
    factor: float,
    generator: np.random.Generator,
) -> ExposedColumns:
    """Fit, draw one parameter for each copy, synthesise, and measure. ``factor`` is the unit of a single target."""
    scaled = _in_unit(models, values, factor)
    fitted = _fitted(models, scaled, weighting, generator)
    rows = len(next(iter(values.values())))
    kept = {name: column for name, column in scaled.items() if name not in {m.column.name for m in models}}
    made = [
        synthesise_columns(models, fitted.posterior, fitted.draws, i, kept, rows, generator, factor)
        for i in range(copies)
    ]
    found = _claims(fitted, copies) | _chains(fitted) | _losses(fitted, generator)
    found |= {"moved_into_bounds": sum(one.moved for one in made)}
    return ExposedColumns(tuple(one.values for one in made), found)


def try_fit(
    models: Sequence[PublishedColumnModel],
    values: Mapping[str, NDArray[Any]],
    weighting: Weighting,
    factor: float,
    generator: np.random.Generator,
) -> None:
    """Fit once and keep nothing: what the model cannot take is refused here, before anything is recorded.

    Chains are not run twice: they take minutes. A model of one's own is tried at one point.
    """
    scaled = _in_unit(models, values, factor)
    if not any(model.is_sampled for model in models):
        _fitted(models, scaled, weighting, generator)
    elif any(model.own is not None for model in models):
        fit_columns(models, scaled)


def _fitted(
    models: Sequence[PublishedColumnModel],
    values: Values,
    weighting: Weighting,
    generator: np.random.Generator,
) -> WeightedPosterior:
    return weighting.fit(fit_columns(models, values, int(generator.integers(2**32))), generator)


def _in_unit(models: Sequence[PublishedColumnModel], values: Mapping[str, NDArray[Any]], factor: float) -> Values:
    """Return the values with a single target expressed in its unit: the claim depends on it, the data do not."""
    scaled = dict(values)
    if factor != 1.0:
        name = models[0].column.name
        scaled[name] = np.asarray(scaled[name], float) / factor
    return scaled


def _claims(fitted: WeightedPosterior, copies: int) -> dict[str, Any]:
    found = fitted.diagnostics()
    more = (
        {}
        if found.published_truncated_epsilon is None
        else {"claim_by_equation_15_as_printed": found.published_truncated_epsilon}
    )
    return {
        "claimed_epsilon": found.epsilon,
        "claimed_epsilon_of_all_copies": copies * found.epsilon,
        "target_was_met": fitted.met_target,
        "scale_of_weights": fitted.scale,
        "records": found.records,
        "sum_of_weights": found.sum_of_weights,
        "share_of_zero_weights": found.share_of_zero_weights,
        "sign_of_highest_log_density": "+" if found.density_above_one else "-",
        "claim_with_whole_exponent": found.whole_exponent_epsilon,
        "oscillation_epsilon": found.oscillation_epsilon,
        **more,
    }


def _chains(fitted: WeightedPosterior) -> dict[str, Any]:
    """Return R-hat and effective draws where the posterior was sampled; bad chains were refused before."""
    found: Any = getattr(fitted.posterior, "convergence", None)
    return {} if found is None else {"chains": found.to_dict()}


def _losses(fitted: WeightedPosterior, generator: np.random.Generator) -> dict[str, Any]:
    """Measure losses, or say why not: a table that can be fitted may have no fit with one record less."""
    if len(fitted.weights) > LARGEST_MEASURED:
        return {"losses_measured": f"no: more than {LARGEST_MEASURED:,} records"}
    try:
        return _measured_losses(fitted, generator)
    except (SfumatoError, ArithmeticError, np.linalg.LinAlgError) as error:
        return {"losses_measured": f"no: {type(error).__name__}"}


def _measured_losses(fitted: WeightedPosterior, generator: np.random.Generator) -> dict[str, Any]:
    """Measure what leaving out a record, and adding an outlier, does to the posterior."""
    records = len(fitted.weights)
    odd = ODDEST if records <= MEASURED_IN_FULL else FEW_ODDEST
    if isinstance(fitted.family, JointFamily) or hasattr(fitted.posterior, "convergence"):
        left = leave_one_out(fitted.family, fitted.weighting, generator, records=FEW_ODDEST, draws=FEW_DRAWS)
        return {"leave_one_out_loss": left.epsilon, "leave_one_out_records": FEW_ODDEST}
    left = leave_one_out(fitted.family, fitted.weighting, generator, records=odd)
    found: dict[str, Any] = {"leave_one_out_loss": left.epsilon, "leave_one_out_records": odd}
    added = add_outlier(fitted.family, fitted.weighting, OUTLIER, generator)
    return found | {
        "added_outlier_loss": added.loss.epsilon,
        "added_outlier_claim": added.claim,
        "added_outlier_breaks_the_claim": added.above_claim,
    }
