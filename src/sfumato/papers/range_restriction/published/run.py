"""Fit several columns as one family, draw and synthesise as printed, and measure the claims on the private rows.

The columns are modelled one after the other, p(x1) p(x2 | x1) ..., with independent priors, so a posterior with one
weight per record factorises by column. Fitting uses true predecessors; synthesis feeds synthetic ones forward.

There is no formal guarantee here. What the paper calls epsilon is local to the table, a maximum over draws, and itself
a function of the private rows; so are all numbers that are measured here. They are for the custodian: no public file
holds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError, SfumatoError
from sfumato.mechanisms.pseudo_posterior.column_models import CODES, REGRESSIONS
from sfumato.papers.range_restriction.families import NormalInverseGamma, make_family
from sfumato.papers.range_restriction.families.interface import (
    ALL,
    Family,
    FloatArray,
    Kind,
    Posterior,
    RecordPosterior,
    Rows,
    StandardRandomNumbers,
)
from sfumato.papers.range_restriction.families.nuts import Sampling
from sfumato.papers.range_restriction.published.column_models import PublishedColumnModel
from sfumato.papers.range_restriction.published.measured_loss import add_outlier, leave_one_out
from sfumato.papers.range_restriction.published.weights import WeightedPosterior, Weighting
from sfumato.sampling.design_matrix import CoarsePredictors, DesignMatrix, into_domain
from sfumato.schema.column import Column

Values = dict[str, NDArray[Any]]
RIDGE = 1e-3
"""Prior precision of a slope where levels are predictors: a level that few records hold must not stop the model."""
WEAK = (0.5, 0.5)
"""Prior (shape, rate) of a rate in a cell: a cell that few records hold must not stop the model."""
ONE_TARGET = "ranges need a single target: synthesise one column at a time"


def _split(array: FloatArray, widths: Sequence[int]) -> list[FloatArray]:
    return np.split(array, np.cumsum(widths)[:-1], axis=1)


@dataclass(frozen=True, eq=False)
class JointFamily:
    """The families of several columns over the same records."""

    parts: tuple[Any, ...]
    """The families, in the order of the columns."""

    @property
    def name(self) -> str:
        """The families, in order."""
        return " + ".join(part.name for part in self.parts)

    @property
    def kind(self) -> Kind:
        """The kind of the first column; a joint family has no ranges, so that nothing depends on it."""
        return self.parts[0].kind

    @property
    def values(self) -> FloatArray:
        """The values of the first column."""
        return self.parts[0].values

    def numbers(self, draws: int, generator: np.random.Generator) -> StandardRandomNumbers:
        """Draw the random numbers of all columns, side by side."""
        drawn = [part.numbers(draws, generator) for part in self.parts]
        return StandardRandomNumbers(np.hstack([n.normal for n in drawn]), np.hstack([n.uniform for n in drawn]))

    def posterior(self, weights: FloatArray) -> JointPosterior:
        """Return the posteriors of all columns under the same weights."""
        probe = np.random.default_rng(0)
        widths = [part.numbers(1, probe) for part in self.parts]
        posteriors = tuple(part.posterior(weights) for part in self.parts)
        return JointPosterior(
            self, posteriors, tuple(n.normal.shape[1] for n in widths), tuple(n.uniform.shape[1] for n in widths)
        )

    def record_columns(self) -> list[FloatArray]:
        """Return all that is known of the records, column by column."""
        return [column for part in self.parts for column in part.record_columns()]

    def without(self, index: int) -> JointFamily:
        """Return the same columns less one record."""
        return JointFamily(tuple(part.without(index) for part in self.parts))

    def with_record(self, value: float, predictors: Any = None) -> Family:
        """Refuse: an added record needs a value in every column."""
        raise PlanError("a record can be added to one column only", next_step="measure the loss of each column apart")

    def outlier(self, residual: float, predictors: Any = None) -> float:
        """Refuse: see ``with_record``."""
        return float(self.with_record(residual, predictors).values[0])


@dataclass(frozen=True, eq=False)
class JointPosterior(RecordPosterior):
    """Independent posteriors of the columns, given the weights."""

    family: JointFamily
    parts: tuple[Posterior, ...]
    normals: tuple[int, ...]
    uniforms: tuple[int, ...]

    def draw(self, numbers: StandardRandomNumbers) -> FloatArray:
        """Return draws of all columns' parameters, side by side."""
        return np.hstack(self.drawn(numbers))

    def drawn(self, numbers: StandardRandomNumbers) -> list[FloatArray]:
        """Return the draws of each column."""
        split = zip(_split(numbers.normal, self.normals), _split(numbers.uniform, self.uniforms), strict=True)
        return [part.draw(StandardRandomNumbers(*pair)) for part, pair in zip(self.parts, split, strict=True)]

    def separate(self, draws: FloatArray) -> list[FloatArray]:
        """Return joint draws column by column."""
        probe = StandardRandomNumbers(np.zeros((1, sum(self.normals))), np.full((1, sum(self.uniforms)), 0.5))
        widths = [one.shape[1] for one in self.drawn(probe)]
        return list(_split(draws, widths))

    def log_likelihood(self, draws: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the summed log density of each record: draws by records."""
        pairs = zip(self.parts, self.separate(draws), strict=True)
        return np.sum([part.log_likelihood(one, rows) for part, one in pairs], axis=0)

    def log_range(self, draws: FloatArray, low: FloatArray, high: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Refuse: a range belongs to one column."""
        raise PlanError(ONE_TARGET, next_step="leave ranges out, or give one target")

    def outside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Refuse: a range belongs to one column."""
        raise PlanError(ONE_TARGET, next_step="leave ranges out, or give one target")

    def log_density(self, draws: FloatArray) -> FloatArray:
        """Return the log density in the parameters of all columns."""
        return np.sum([p.log_density(d) for p, d in zip(self.parts, self.separate(draws), strict=True)], axis=0)

    def surprise(self) -> FloatArray:
        """Return how odd each record is in its oddest column, in units of that column's mean."""
        parts = [part.surprise() for part in self.parts]
        return np.max([one / max(float(np.mean(one)), 1e-300) for one in parts], axis=0)

    def synthesise(self, draws: FloatArray, index: int, design: Any, generator: np.random.Generator) -> FloatArray:
        """Refuse: columns are synthesised one after the other."""
        raise PlanError("columns are synthesised one after the other", next_step="use synthesise_columns")


def fitted_family(model: PublishedColumnModel, values: Mapping[str, NDArray[Any]], seed: int = 0) -> Family:
    """Return the family of a column over the private records; ``seed`` is for chains."""
    found = values[model.column.name]
    design, how = model.design(values, len(found)), model.predictors
    if model.is_sampled:
        from sfumato.papers.range_restriction.families.sampled_family import custom_family, make_sampled_family

        sampling = Sampling(seed=seed, **(model.sampling or {}))
        if model.own is not None:
            return custom_family(found, design, model.own, sampling=sampling)
        return make_sampled_family(model.family, found, design, sampling=sampling)
    if model.family in REGRESSIONS:
        return make_family(model.family, found, design, _prior(model.given))
    groups = how.size if isinstance(how, CoarsePredictors) and design is not None else None
    if model.family in CODES:
        return make_family(model.family, found, design, categories=model.column.size, groups=groups)
    return make_family(model.family, found, design, None if design is None else WEAK, groups=groups)


def _prior(given: tuple[Column, ...]) -> NormalInverseGamma | None:
    """Return the flat prior, or a weak one on the slopes where levels are among the predictors."""
    if all(column.is_ordered for column in given):
        return None
    size = len(DesignMatrix(given).names) + 1
    precision = RIDGE * np.eye(size)
    precision[0, 0] = 0.0
    return NormalInverseGamma(np.zeros(size), precision, 0.0, 0.0)


def refuse_draws(models: Sequence[PublishedColumnModel], draws: int) -> None:
    """Refuse more draws than the chains of a sampled family keep."""
    for model in models:
        kept = Sampling(seed=0, **(model.sampling or {})).kept
        if model.is_sampled and draws > kept:
            raise PlanError(
                f"{draws:,} draws asked for, the chains of the {model.words} family keep {kept:,}",
                next_step=f"give draws={kept} at most, or longer chains: sampling={{'draws': ...}}",
            )


def fit_columns(models: Sequence[PublishedColumnModel], values: Mapping[str, NDArray[Any]], seed: int = 0) -> Family:
    """Return one family over all targets; a single target is itself."""
    parts = tuple(fitted_family(model, values, (seed + i) % 2**32) for i, model in enumerate(models))
    return parts[0] if len(parts) == 1 else JointFamily(parts)


def _refuse_strange(model: PublishedColumnModel, raw: FloatArray) -> None:
    """Refuse what a model of one's own simulates where it is no value of the column at all."""
    wrong = ~np.isfinite(raw)
    if not model.column.is_ordered:
        wrong |= ~np.isin(raw, np.arange(model.column.size))
    if wrong.any():
        column, what = model.column, "a number" if model.column.is_ordered else f"a code below {model.column.size}"
        problem = f"{int(wrong.sum())} of {len(raw)} values for column {column.name!r} are not {what}"
        raise PlanError(f"the model {model.words} simulates no values", [problem], "correct its simulate function")


@dataclass(frozen=True)
class SyntheticColumns:
    """Synthetic values of the targets, and how many had to be moved into the public bounds."""

    values: Values
    moved: int


def synthesise_columns(
    models: Sequence[PublishedColumnModel],
    posterior: Posterior,
    draws: FloatArray,
    index: int,
    kept: Mapping[str, NDArray[Any]],
    rows: int,
    generator: np.random.Generator,
    factor: float = 1.0,
) -> SyntheticColumns:
    """Make synthetic targets from one parameter draw; each sees the synthetic ones before it.

    ``factor`` is the unit in which a single target was modelled.
    """
    parts = posterior.parts if isinstance(posterior, JointPosterior) else (posterior,)
    separate = posterior.separate(draws) if isinstance(posterior, JointPosterior) else [draws]
    known: Values = dict(kept)
    moved = 0
    for model, part, own in zip(models, parts, separate, strict=True):
        raw = part.synthesise(own, index, model.design(known, rows), generator)
        _refuse_strange(model, raw)
        known[model.column.name], outside = into_domain(model.column, raw * factor if model.column.is_ordered else raw)
        moved += outside
    return SyntheticColumns({model.column.name: known[model.column.name] for model in models}, moved)


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
    return {} if found is None else {"chains": asdict(found)}


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
