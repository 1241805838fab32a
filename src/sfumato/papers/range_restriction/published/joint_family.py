"""Several columns as one family with one weight per record.

The columns are modelled one after the other, p(x1) p(x2 | x1) ..., with independent priors, so a posterior with one
weight per record factorises by column. Fitting uses true predecessors; synthesis feeds synthetic ones forward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.mechanisms.pseudo_posterior.column_models import CODES, REGRESSIONS
from sfumato.papers.range_restriction.families import NormalInverseGamma, make_family
from sfumato.papers.range_restriction.families.interface import (
    ALL,
    Family,
    FloatArray,
    Kind,
    ParameterDraws,
    Posterior,
    RecordPosterior,
    Rows,
    StandardRandomNumbers,
)
from sfumato.papers.range_restriction.families.nuts import Sampling
from sfumato.papers.range_restriction.published.column_models import PublishedColumnModel
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

    @property
    def parameters(self) -> int:
        """The largest number of weights, summed, that one of the columns needs more than."""
        return max(part.parameters for part in self.parts)

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

    def draw(self, numbers: StandardRandomNumbers) -> ParameterDraws:
        """Return draws of all columns' parameters, side by side."""
        return ParameterDraws(np.hstack([draws.theta for draws in self.drawn(numbers)]))

    def drawn(self, numbers: StandardRandomNumbers) -> list[ParameterDraws]:
        """Return the draws of each column."""
        split = zip(_split(numbers.normal, self.normals), _split(numbers.uniform, self.uniforms), strict=True)
        return [part.draw(StandardRandomNumbers(*pair)) for part, pair in zip(self.parts, split, strict=True)]

    def separate(self, draws: ParameterDraws) -> list[ParameterDraws]:
        """Return joint draws column by column."""
        probe = StandardRandomNumbers(np.zeros((1, sum(self.normals))), np.full((1, sum(self.uniforms)), 0.5))
        widths = [one.theta.shape[1] for one in self.drawn(probe)]
        return [ParameterDraws(theta) for theta in _split(draws.theta, widths)]

    def log_likelihood(self, draws: ParameterDraws, rows: Rows = ALL) -> FloatArray:
        """Return the summed log density of each record: draws by records."""
        pairs = zip(self.parts, self.separate(draws), strict=True)
        return np.sum([part.log_likelihood(one, rows) for part, one in pairs], axis=0)

    def log_range(self, draws: ParameterDraws, low: FloatArray, high: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Refuse: a range belongs to one column."""
        raise PlanError(ONE_TARGET, next_step="leave ranges out, or give one target")

    def outside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Refuse: a range belongs to one column."""
        raise PlanError(ONE_TARGET, next_step="leave ranges out, or give one target")

    def log_density(self, draws: ParameterDraws) -> FloatArray:
        """Return the log density in the parameters of all columns."""
        return np.sum([p.log_density(d) for p, d in zip(self.parts, self.separate(draws), strict=True)], axis=0)

    def surprise(self) -> FloatArray:
        """Return how odd each record is in its oddest column, in units of that column's mean."""
        parts = [part.surprise() for part in self.parts]
        return np.max([one / max(float(np.mean(one)), 1e-300) for one in parts], axis=0)

    def synthesise(self, draws: ParameterDraws, index: int, design: Any, generator: np.random.Generator) -> FloatArray:
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
        raise PlanError(f"the model {model.words} simulates no values", [problem], "mend its simulate function")


@dataclass(frozen=True)
class SyntheticColumns:
    """Synthetic values of the targets, and how many had to be moved into the public bounds."""

    values: Values
    moved: int


def synthesise_columns(
    models: Sequence[PublishedColumnModel],
    posterior: Posterior,
    draws: ParameterDraws,
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
