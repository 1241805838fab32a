"""Measure a planned two-stage release in five passes and draw rows.

Proof note: :mod:`sfumato.mechanisms.two_stage.plan`. Levels enter as codes; rows are drawn from released numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.arrays import IntArray
from sfumato.constraints.draw_rows import sample_values
from sfumato.core.method import Output
from sfumato.core.plan import Plan, sample_size
from sfumato.errors import TableError
from sfumato.mechanisms.lattice_sums import LENGTH, noisy_sums
from sfumato.mechanisms.two_stage import gaussian_copula as inputs_stage
from sfumato.mechanisms.two_stage import noise_aware_ridge as response_stage
from sfumato.mechanisms.two_stage.gaussian_copula import InputMarginals, PrivateInputs
from sfumato.mechanisms.two_stage.noise_aware_ridge import CHUNK, CategoricalResponse, Features, NumericResponse
from sfumato.mechanisms.two_stage.plan import SYNTHETIC_ROWS, PlannedTwoStage, TwoStagePlan
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import FloatArray, Rows, values_of_rows
from sfumato.sampling.values import Values, rows_table
from sfumato.table.rows import stream_matrices

if TYPE_CHECKING:
    from sfumato.table import Table

AnyFit = NumericResponse | CategoricalResponse


def run_release(planned: PlannedTwoStage, table: Table, plan: Plan, randomness: Randomness) -> Output:
    """Measure both stages in a few passes, and draw rows with predicted targets."""
    names = [column.name for column in planned.columns]
    measured = release_two_stage(planned.stages, lambda: stream_matrices(table, names), randomness)
    count = sample_size(plan, measured.total, len(names))
    generator = randomness.generator

    def draw(wanted: int) -> Values:
        return values_of_rows(planned.columns, np.hstack(measured.draw(wanted, generator)))

    sampled = sample_values(planned.schema, draw, count, generator)
    facts = {"noisy_total": measured.total, "features": planned.stages.rank, **sampled.statistics}
    drawn = {("synthetic",): rows_table(planned.schema, sampled.values)}
    return Output(drawn, single=True, statistics=facts, notes=sampled.notes)


def release_two_stage(plan: TwoStagePlan, rows: Rows, randomness: Randomness) -> PrivateTwoStage:
    """Return the private release of a table, at the cost of the plan.

    ``rows`` returns a fresh iterator over batches (inputs, then the target) for each of five passes. No batch is kept;
    a row with a value that is not a number counts nowhere.
    """
    return TwoStageRun(plan, rows, randomness).run()


@dataclass(frozen=True, eq=False)
class PrivateTwoStage:
    """A released pair of stages. Nothing in it is the table's own: rows from it cost nothing more."""

    inputs: PrivateInputs
    fit: AnyFit
    total: float
    """The noisy number of rows."""
    parts: tuple[EventPart, ...]

    def draw(self, rows: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return synthetic inputs and their targets (rows by 1): fitted numbers, or levels drawn by fitted chances."""
        drawn = self.inputs.draw(rows, generator)
        return drawn, self.fit.draw(drawn, generator)[:, None]

    def predict(self, inputs: FloatArray) -> FloatArray:
        """Return the fitted targets of any inputs; of levels the code of the most probable one."""
        return self.fit.predict(inputs)[:, None]


@dataclass(frozen=True, eq=False)
class TwoStageRun:
    """One run of a plan: five passes over the rows."""

    plan: TwoStagePlan
    rows: Rows
    randomness: Randomness

    def noisy(self, stage: str, sums: IntArray) -> tuple[FloatArray, float]:
        """Add the stage's noise to true sums; return them and the scale of the noise, in lattice units."""
        return noisy_sums(self.plan.parts, stage, sums, self.randomness)

    def _chunks(self) -> Iterator[FloatArray]:
        """Yield small batches of the rows without missing values."""
        wanted = len(self.plan.axes) + 1
        for batch in self.rows():
            if batch.ndim != 2 or batch.shape[1] != wanted:
                raise TableError(
                    f"rows need {wanted} columns, inputs then the target, found shape {batch.shape}",
                    next_step="give each batch as an array of inputs and the target",
                )
            known = batch[~np.isnan(batch).any(axis=1)]
            for start in range(0, len(known), CHUNK):
                yield np.ascontiguousarray(known[start : start + CHUNK], dtype=np.float64)

    def _sum(self, contribution: Callable[[FloatArray], tuple[IntArray, ...]], *sizes: int) -> tuple[IntArray, ...]:
        """Return integer sums over all rows of what ``contribution`` returns for a batch."""
        sums = tuple(np.zeros(size, np.int64) for size in sizes)
        for chunk in self._chunks():
            for total, added in zip(sums, contribution(chunk), strict=True):
                total += added
        return sums

    def run(self) -> PrivateTwoStage:
        """Go through the stages."""
        marginals, total, counts = self._histograms()
        inputs = self._inputs(marginals, total)
        synthetic = inputs.draw(SYNTHETIC_ROWS, np.random.default_rng(self.randomness.generator.integers(1 << 62)))
        features = Features.of(marginals, self.plan.categorical, synthetic, self.plan.rank)
        start, reach = self._start(features, counts)
        fit = self._fitted(start, features.gram(synthetic), reach, total)
        return PrivateTwoStage(inputs, fit, total, self.plan.parts)

    def _start(self, features: Features, counts: FloatArray) -> tuple[AnyFit, float]:
        """Return the fit that knows the noisy histogram of the target alone, and how far residuals of it reach."""
        if self.plan.classes:
            start = CategoricalResponse.start(features, counts)
            return start, start.reach
        target, (middle, reach) = self.plan.target, response_stage.target_range(counts, self.plan.target_edges)
        return NumericResponse(features, np.zeros(features.count), middle, target.low, target.high), reach

    def _histograms(self) -> tuple[InputMarginals, float, FloatArray]:
        """Return the noisy histograms of the inputs, the noisy number of rows, and the histogram of the target."""
        axes, edges = (*self.plan.axes, self.plan.target), (*self.plan.edges, self.plan.target_edges)
        cells = sum(len(edge) - 1 for edge in edges)
        (counts,) = self._sum(lambda rows: (inputs_stage.count_columns(rows, axes, edges),), cells)
        own = len(counts) - (len(self.plan.target_edges) - 1)
        columns = self.noisy("inputs", counts[:own] * LENGTH)[0] / LENGTH
        target = self.noisy("target", counts[own:] * LENGTH)[0] / LENGTH
        total = max(float(columns.sum()) / len(self.plan.axes), 1.0)
        return InputMarginals.of(self.plan.axes, self.plan.edges, columns), total, target

    def _inputs(self, marginals: InputMarginals, total: float) -> PrivateInputs:
        columns = len(self.plan.axes)
        if columns == 1:
            return PrivateInputs(marginals, np.eye(1))

        def products(rows: FloatArray) -> tuple[IntArray, ...]:
            return (inputs_stage.sum_scores(inputs_stage.score_steps(rows[:, :-1], marginals)),)

        (sums,) = self._sum(products, columns * (columns - 1) // 2)
        noisy, sigma = self.noisy("correlation", sums)
        return PrivateInputs(marginals, inputs_stage.copula_correlation(marginals, noisy, sigma, total))

    def _fitted(self, start: AnyFit, synthetic: FloatArray, reach: float, total: float) -> AnyFit:
        gram, first = self._gram_and_moves(start, synthetic, reach, total)
        fit = self._stepped(start, first, "first", gram, reach, total)
        (squares,) = self._sum(lambda rows: (self._squares(rows, fit, reach),), 1)
        spread, sigma = self.noisy("spread", squares)
        nearer = response_stage.next_clipping_bound(float(spread[0]), sigma, reach, total)
        (second,) = self._sum(lambda rows: (self._moves(rows, fit, nearer),), start.moves)
        return self._stepped(fit, second, "second", gram, nearer, total)

    def _gram_and_moves(
        self, start: AnyFit, synthetic: FloatArray, reach: float, total: float
    ) -> tuple[FloatArray, IntArray]:
        """Go once through the rows for the Gram matrix, where the plan has one, and the first residuals."""
        features = start.features
        if "gram" not in self.plan.shares:
            (moves,) = self._sum(lambda rows: (self._moves(rows, start, reach),), start.moves)
            return synthetic, moves

        def both(rows: FloatArray) -> tuple[IntArray, ...]:
            return response_stage.sum_gram(features.steps(rows[:, :-1])), self._moves(rows, start, reach)

        triangle, moves = self._sum(both, features.count * (features.count + 1) // 2, start.moves)
        noisy, sigma = self.noisy("gram", triangle)
        return response_stage.shrunk_gram(noisy, sigma, features, total, synthetic), moves

    def _moves(self, rows: FloatArray, fit: AnyFit, reach: float) -> IntArray:
        steps = fit.features.steps(rows[:, :-1])
        return response_stage.sum_residual_products(steps, fit.residuals(rows[:, -1], steps, reach))

    def _squares(self, rows: FloatArray, fit: AnyFit, reach: float) -> IntArray:
        left = fit.residuals(rows[:, -1], fit.features.steps(rows[:, :-1]), reach)
        return np.array([(left * left).sum()])

    def _stepped(self, fit: AnyFit, sums: IntArray, stage: str, gram: FloatArray, reach: float, total: float) -> AnyFit:
        noisy, sigma = self.noisy(stage, sums)
        moves = response_stage.real_moves(noisy, fit.features, reach, total)
        noise = float(response_stage.real_moves(np.array(sigma), fit.features, reach, total))
        return fit.stepped(moves, noise, gram)
