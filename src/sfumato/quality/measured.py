"""What is measured of a release on the private rows, with noise, and why that is differentially private.

Public, and fixed before a private row is read: the schema, the released rows, hence the cells, the released shares q
of every table, the pairs that are compared, the model and the guess (:mod:`~sfumato.quality.public`), and epsilon with
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
(:mod:`~sfumato.quality.answers`), by its own values alone. Weights are not negative and sum to ``grain`` in each row,
so the sums over all rows are those of a histogram: L1 sensitivity k grain under add-remove, 2 grain under replace
(``sum_norm``). Rows without a target need no rule besides: they lie in a cell of their own. Their sum over all cells is
n grain: with them the number of rows is known without a question of its own.

**Rows.** Without answers, under add-remove, n is counted: L1 sensitivity k.

**Correlations**, where columns are named: :mod:`~sfumato.quality.relations`.

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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.arrays import Whole
from sfumato.privacy.accounting.event import Event, Part
from sfumato.privacy.accounting.sensitivity import misplaced_records, sum_norm, turned_pair_l1
from sfumato.privacy.exact import text
from sfumato.privacy.noise import add_laplace_scale, laplace_scale
from sfumato.privacy.randomness import Randomness
from sfumato.progress import tell
from sfumato.quality.answers import GRAIN, Answers, cells_of
from sfumato.quality.public import Public, counted
from sfumato.quality.relations import LONGEST, related_pairs
from sfumato.release.plan import event_facts
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table import Table
from sfumato.table.rows import stream_values
from sfumato.utility.marginals import ColumnSet, Compared, misplaced_tvd

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
    def parts(self) -> tuple[Part, ...]:
        """What is recorded of each question: cells, L1 sensitivity and the scale of the noise."""
        return tuple(self._part(stage, share) for stage, share in self.shares.items())

    def _part(self, stage: str, share: Fraction) -> Part:
        cells, sensitivity = self._size(stage)
        scale = laplace_scale(share * self.epsilon, sensitivity)
        return Part(stage=stage, cells=cells, sensitivity=sensitivity, scale=scale)

    def _size(self, stage: str) -> tuple[int, int]:
        """Return cells and L1 sensitivity of a question."""
        rows = self.schema.rows_per_person
        if stage == self.related_stage:
            pairs = len(related_pairs(self.related))
            return pairs, sum_norm(self.schema.adjacency, LONGEST * pairs, rows)
        if stage == MISPLACED:
            return 2, turned_pair_l1(GRAIN * misplaced_records(rows))
        if stage == ROWS or self.target is None:
            return 1, sum_norm(self.schema.adjacency, 1, rows)
        return cells_of(self.target), sum_norm(self.schema.adjacency, self.grain, rows)

    @property
    def grain(self) -> int:
        """Steps in which a row's weight on the cells of answers is counted."""
        return GRAIN if self.target is not None and self.target.is_ordered else 1

    def event(self, randomness: str, note: str) -> Event:
        """Return what is recorded before anything is counted."""
        return Event(
            kind="discrete-laplace",
            epsilon=text(self.epsilon),
            parts=self.parts,
            note=note,
            **event_facts(METHOD, self.schema, randomness),
        )


@dataclass(frozen=True)
class Counted:
    """Whole numbers of the private rows, part by part: nothing of them may leave without noise."""

    numbers: tuple[tuple[int, ...], ...]

    def noisy(self, parts: Sequence[Part], randomness: Randomness) -> tuple[tuple[int, ...], ...]:
        """Return every number with the noise that was recorded."""
        drawn = (
            add_laplace_scale(list(numbers), part.scale, randomness)
            for numbers, part in zip(self.numbers, parts, strict=True)
        )
        return tuple(tuple(int(number) for number in each) for each in drawn)


def count(table: Table, public: Public, answers: Answers | None, parts: Sequence[Part]) -> Counted:
    """Count the private rows in one pass."""
    tell("counting the private rows")
    names = public.names
    found = {each: np.zeros_like(public.counts[each]) for each in public.sets}
    answered = np.zeros(0 if answers is None else answers.cells, np.int64)
    related, rows = np.zeros_like(public.related), 0
    for values in stream_values(table, names):
        rows += len(values[names[0]])
        for each, counts in counted(public.cuts, public.sets, values).items():
            found[each] += counts
        if answers is not None:
            answered += answers.sums(values)
        if public.relations is not None:
            related += public.relations.sums(values)
    asked = {MISPLACED: turned(public, found), ROWS: (rows,), ANSWERS: answered, RELATED: related}
    wanted = (next(asked[begin] for begin in asked if part.stage.startswith(begin)) for part in parts)
    return Counted(tuple(tuple(int(number) for number in each) for each in wanted))


def turned(public: Public, found: dict[ColumnSet, Whole]) -> tuple[int, int]:
    """Return A and B of the private counts: floors of exact fractions."""
    singles = misplaced(public, public.singles, found)
    pairs = misplaced(public, public.pairs, found) if public.pairs else singles
    return math.floor(GRAIN * (singles + pairs)), math.floor(GRAIN * (singles - pairs))


def misplaced(public: Public, sets: Sequence[ColumnSet], found: dict[ColumnSet, Whole]) -> Fraction:
    """Return the mean number of records in the wrong place over some tables, as an exact fraction."""
    each = (misplaced_tvd(Compared(names, public.counts[names], found[names])) for names in sets)
    return sum(each, Fraction(0)) / len(sets)
