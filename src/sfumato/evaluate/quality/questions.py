"""Counts asked of the private rows, fixed by public facts, with sensitivity, cost and proof.

All of it follows from the released rows, the schema and constants: it costs nothing, and is fixed before a private row
is read. A level is a cell of its own, and so is a missing value. A number or date is cut by the *released* values
alone, with open cells beyond them for private rows that the release does not reach
(:mod:`~sfumato.metrics.binning`).

Public, and fixed before a private row is read: the schema, the released rows, hence the cells, the released shares q
of every table, the pairs that are compared, the model and the guess (:mod:`~sfumato.evaluate.quality.questions`),
and epsilon with
its shares. Neighbours: as the schema says. Add-remove: one person with at most k rows comes or goes; the rows that
count are chosen among that person's own. Replace: one of n rows becomes another, n is public, k = 1.

**Records in the wrong place.** The cells of a table partition the whole public domain. q is 0 in cells that no
released row is in, such as the open ones beyond the released values: a private row there is in the wrong place. For a
table with private counts c, u = (1/2) |n q - c|_1 is n times the total variation distance. One row more in cell i moves
n q - c by q - e_i, of half L1 length 1 - q_i <= 1, whatever q_i is; one replaced by e_i - e_j, of length 1. Let u1 be
its mean over the columns and u2 over the pairs (u2 = u1 where there is no pair). Each moves by at most k
(:func:`~sfumato.privacy.accounting.sensitivity.misplaced_records`). What is measured is the turned pair

    A = floor(G (u1 + u2)),   B = floor(G (u1 - u2)),   G = 1024,

of exact fractions, whose L1 sensitivity is at most 2 G k + 1 (``turned_pair_l1``): one person moves u1 and u2 together,
so that the sum |G d1 + G d2| + |G d1 - G d2| = 2 G max(|d1|, |d2|) does not grow with the second. u1 = (A + B) / 2G and
u2 = (A - B) / 2G within 1/G of a record.

**Answers.** Every row lays a weight of 1, in whole steps, on four cells, or on a fifth where its target is missing
(:mod:`~sfumato.metrics.bounded_scores`), by its own values alone. Weights are not negative and sum to ``grain`` in
each row,
so the sums over all rows are those of a histogram: L1 sensitivity k grain under add-remove, 2 grain under replace
(``sum_norm``). Rows without a target need no rule besides: they lie in a cell of their own. Their sum over all cells is
n grain: with them the number of rows is known without a question of its own.

**Rows.** Without answers, under add-remove, n is counted: L1 sensitivity k.

**Correlations**, where columns are named: :class:`~sfumato.metrics.bounded_scores.NormalScores`.

**Theorem.** Discrete Laplace noise of scale b_j >= D_j / (s_j epsilon) on every whole number of part j, where D_j is
its L1 sensitivity and the shares s_j sum to 1, is epsilon-DP; measures, intervals and words are post-processing.
Proof: as for count tables (docs/proofs.md): the log ratio of neighbours is at most sum_j D_j / b_j <= epsilon. The
release q itself was made from the same table at a cost of its own; given q this is a mechanism with public q, so the
costs add up (adaptive composition).

**Shares.** One half for records in the wrong place and one half for answers; without answers, 4/5 and 1/5 for the rows.
Correlations, where they are bought, get as much as the first two together.
The form was chosen by the half width of 95 % intervals, all of them together: at epsilon 0.05 and 10,000 rows .023 for
a tvd of .1 and .020 for .8 right answers, ten times that at 1,000 rows. Five numbers (u1, u2, right, guessed, n) with a
fifth of epsilon each have .044 and .052; discrete Gaussian noise on the same parts at delta 1e-9 has .049 and .040.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.arrays import IntArray
from sfumato.core.plan import event_facts
from sfumato.errors import PlanError
from sfumato.metrics.binning import ColumnSet, ReleasedMarginals, column_sets, released_columns
from sfumato.metrics.bounded_scores import (
    GRAIN,
    LONGEST,
    BoundedScores,
    NormalScores,
    default_target,
    require_score_columns,
    score_cells,
    score_pairs,
)
from sfumato.metrics.distances import MarginalPair, mean_misplaced_records
from sfumato.metrics.rows_view import read_rows_view
from sfumato.metrics.second_sample import expected_sampling_tvd
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.sensitivity import misplaced_records, turned_pair_l1, vector_sum_sensitivity
from sfumato.privacy.exact import fraction_to_text
from sfumato.privacy.noise import add_laplace_scale, laplace_scale
from sfumato.privacy.randomness import Randomness
from sfumato.progress import report_progress
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table import Table
from sfumato.table.rows import stream_column_arrays

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class PublicFacts:
    """Released rows as they are compared with private ones."""

    schema: Schema
    singles: tuple[ColumnSet, ...]
    pairs: tuple[ColumnSet, ...]
    """All pairs of columns, or a fixed sample of them."""
    released: ReleasedMarginals
    """Their cells and counts."""
    target: Column | None
    """What is predicted; None where no column can be."""
    why: str
    """Why this column is predicted, or none."""
    relations: NormalScores | None = None
    """The columns of which correlations are bought, if any."""
    related: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """The summed products of these among the released rows."""

    @classmethod
    def of(
        cls, rows: pa.Table, schema: Schema, target: str | None = None, correlations: Sequence[str] = ()
    ) -> PublicFacts:
        """Cut and count; refuses a release without rows, and a target that cannot be predicted."""
        (names,) = released_columns({(): rows}, "rows", schema)
        if not names or not rows.num_rows:
            raise PlanError("the release has no rows to measure", next_step="give a release with rows")
        chosen, why = default_target(schema, names, target)
        wanted = require_score_columns(schema, names, correlations)
        values = read_rows_view(rows, schema, names).by_name()
        singles, pairs = column_sets([names], 1), column_sets([names], 2)
        released = ReleasedMarginals.q16(schema, values, (*singles, *pairs))
        relations = NormalScores.of([schema[name] for name in wanted], values) if wanted else None
        related = relations.sums(values) if relations else np.zeros(0, np.int64)
        predicted = None if chosen is None else schema[chosen]
        return cls(schema, singles, pairs, released, predicted, why, relations, related)

    @property
    def names(self) -> tuple[str, ...]:
        """The released columns that are looked at."""
        return tuple(name for (name,) in self.singles)

    @cached_property
    def sets(self) -> tuple[ColumnSet, ...]:
        """Everything that is compared."""
        return (*self.singles, *self.pairs)

    def counts(self, names: ColumnSet) -> IntArray:
        """Return the released counts of a marginal."""
        return self.released.marginals[names].counts

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all released counts: what tells one release from another, whether it was saved or not."""
        digest = hashlib.sha256(repr(self.sets).encode())
        for names in self.sets:
            marginal = self.released.marginals[names]
            digest.update(marginal.counts.astype("<i8").tobytes())
            if marginal.occupied is not None:
                digest.update(marginal.occupied.astype("<i8").tobytes())
        return digest.hexdigest()

    def expected(self, sets: Sequence[ColumnSet], rows: float) -> float:
        """Return the mean distance that a sample of so many rows would have which follow the released shares."""
        return expected_sampling_tvd([self.counts(names) for names in sets], rows)


METHOD = "quality"
MISPLACED = "records in the wrong place"
ANSWERS = "answers about "
ROWS = "number of rows"
RELATED = "products of normal scores of "


@dataclass(frozen=True)
class Questions:
    """What is asked of the private rows and what it costs: all of it from public facts."""

    schema: Schema
    target: Column | None
    epsilon: Fraction
    related: tuple[str, ...] = ()
    """Columns of which correlations are bought."""

    @property
    def shares(self) -> dict[str, Fraction]:
        """The part of epsilon that each question gets."""
        weights = {MISPLACED: 4}
        if self.target is not None:
            weights[ANSWERS + self.target.name] = 4
        elif self.schema.adjacency == "add-remove":
            weights[ROWS] = 1
        if self.related:
            weights[self.related_stage] = 8
        return {stage: Fraction(weight, sum(weights.values())) for stage, weight in weights.items()}

    @property
    def related_stage(self) -> str:
        """How the part of the correlations is called."""
        return RELATED + ", ".join(self.related)

    @property
    def parts(self) -> tuple[EventPart, ...]:
        """What is recorded of each question: cells, L1 sensitivity and the scale of the noise."""
        return tuple(self._part(stage, share) for stage, share in self.shares.items())

    def _part(self, stage: str, share: Fraction) -> EventPart:
        cells, sensitivity = self._size(stage)
        scale = laplace_scale(share * self.epsilon, sensitivity)
        return EventPart(stage=stage, cells=cells, sensitivity=sensitivity, scale=scale)

    def _size(self, stage: str) -> tuple[int, int]:
        """Return cells and L1 sensitivity of a question."""
        rows = self.schema.rows_per_person
        if stage == self.related_stage:
            pairs = len(score_pairs(self.related))
            return pairs, vector_sum_sensitivity(self.schema.adjacency, LONGEST * pairs, rows)
        if stage == MISPLACED:
            return 2, turned_pair_l1(GRAIN * misplaced_records(rows))
        if stage == ROWS or self.target is None:
            return 1, vector_sum_sensitivity(self.schema.adjacency, 1, rows)
        return score_cells(self.target), vector_sum_sensitivity(self.schema.adjacency, self.grain, rows)

    @property
    def grain(self) -> int:
        """Steps in which a row's weight on the cells of answers is counted."""
        return GRAIN if self.target is not None and self.target.is_ordered else 1

    def event(self, randomness: str, note: str) -> Event:
        """Return what is recorded before anything is counted."""
        return Event(
            kind="discrete-laplace",
            epsilon=fraction_to_text(self.epsilon),
            parts=self.parts,
            note=note,
            **event_facts(METHOD, self.schema, randomness),
        )


@dataclass(frozen=True)
class PrivateCounts:
    """Whole numbers of the private rows, part by part: nothing of them may leave without noise."""

    numbers: tuple[tuple[int, ...], ...]

    def noisy(self, parts: Sequence[EventPart], randomness: Randomness) -> tuple[tuple[int, ...], ...]:
        """Return every number with the noise that was recorded."""
        drawn = (
            add_laplace_scale(list(numbers), part.scale, randomness)
            for numbers, part in zip(self.numbers, parts, strict=True)
        )
        return tuple(tuple(int(number) for number in each) for each in drawn)


def count(
    table: Table, public: PublicFacts, answers: BoundedScores | None, parts: Sequence[EventPart]
) -> PrivateCounts:
    """Count the private rows in one pass."""
    report_progress("counting the private rows")
    names = public.names
    counted = public.released.empty_counts()
    answered = np.zeros(0 if answers is None else answers.cells, np.int64)
    related, rows = np.zeros_like(public.related), 0
    for values in stream_column_arrays(table, names):
        rows += len(values[names[0]])
        for each, counts in public.released.count(values).items():
            counted[each] += counts
        if answers is not None:
            answered += answers.sums(values)
        if public.relations is not None:
            related += public.relations.sums(values)
    asked = {MISPLACED: sum_and_difference(public, counted), ROWS: (rows,), ANSWERS: answered, RELATED: related}
    wanted = (next(asked[begin] for begin in asked if part.stage.startswith(begin)) for part in parts)
    return PrivateCounts(tuple(tuple(int(number) for number in each) for each in wanted))


def sum_and_difference(public: PublicFacts, counted: Mapping[ColumnSet, IntArray]) -> tuple[int, int]:
    """Return A and B of the private counts: floors of exact fractions."""
    singles = misplaced(public, public.singles, counted)
    pairs = misplaced(public, public.pairs, counted) if public.pairs else singles
    return math.floor(GRAIN * (singles + pairs)), math.floor(GRAIN * (singles - pairs))


def misplaced(public: PublicFacts, sets: Sequence[ColumnSet], counted: Mapping[ColumnSet, IntArray]) -> Fraction:
    """Return n times tvd_k_q16: the mean number of records in a wrong cell over marginals, as an exact fraction."""
    return mean_misplaced_records(MarginalPair(names, public.counts(names), counted[names]) for names in sets)
