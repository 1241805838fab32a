"""Turn noisy counts into metrics with simultaneous intervals (post-processing)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.bundle.quality_statement import NoisyMetric
from sfumato.evaluate.quality.questions import MISPLACED, ROWS, PublicFacts, Questions
from sfumato.metrics.bounded_scores import GRAIN
from sfumato.metrics.noisy_ratio import LEVEL, LinearTest, NoiseTerm, ratio_interval
from sfumato.schema.column import Column

DIGITS = 6
SKILLS = ("prediction_accuracy", "prediction_range_error")
Numbers = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Sum:
    """A noisy sum in records: its value and the noise in it."""

    value: float
    scale: float
    cells: int
    step: float

    def terms(self, start: float, gain: float) -> tuple[NoiseTerm, ...]:
        """Return its noise inside a test of p."""
        return (NoiseTerm(self.scale, start, gain, self.step),) * self.cells


@dataclass(frozen=True)
class NoisyCounts:
    """The noisy numbers of one statement, by what they count."""

    questions: Questions
    numbers: Numbers

    def part(self, stage: str) -> tuple[Sequence[int], float]:
        """Return the noisy numbers of a part and the scale of their noise."""
        parts = [part.stage for part in self.questions.parts]
        return self.numbers[parts.index(stage)], self.questions.parts[parts.index(stage)].scale

    def misplaced(self, sign: int) -> Sum:
        """Return u1 (sign 1) or u2 (sign -1), in records."""
        (a, b), scale = self.part(MISPLACED)
        return Sum((a + sign * b) / (2 * GRAIN), scale / (2 * GRAIN), 2, 1 / (2 * GRAIN))

    def rows(self) -> Sum:
        """Return the number of rows: public, counted, or the sum over the cells of answers."""
        if self.questions.schema.rows is not None:
            return Sum(float(self.questions.schema.rows), 0.0, 0, 0.0)
        if self.questions.target is None:
            counted, scale = self.part(ROWS)
            return Sum(float(counted[0]), scale, 1, 1.0)
        return self.answers(range(5))

    def related(self, place: int, unit: float) -> Sum:
        """Return the sum of products of one pair, in rows of correlation 1."""
        sums, scale = self.part(self.questions.related_stage)
        return Sum(sums[place] / unit, scale / unit, 1, 1 / unit)

    def answers(self, places: Sequence[int]) -> Sum:
        """Return what lies in some cells of answers, in records."""
        stage, grain = self.questions.parts[1].stage, self.questions.grain
        cells, scale = self.part(stage)
        here = [cells[place] for place in places if place < len(cells)]
        return Sum(sum(here) / grain, scale / grain, len(here), 1 / grain)


def metrics_of(
    questions: Questions, public: PublicFacts, numbers: Numbers, level: float = LEVEL
) -> tuple[NoisyMetric, ...]:
    """Return the measures with intervals that hold together."""
    reading, tests = NoisyCounts(questions, numbers), dict[str, LinearTest]()
    rows = reading.rows()
    tests["tvd_1_q16"] = _distance(reading.misplaced(1), rows)
    if public.pairs:
        tests["tvd_2_q16"] = _distance(reading.misplaced(-1), rows)
    if questions.target is not None:
        tests[skill_name(questions.target)] = _share(reading.answers((0, 1)), reading.answers((2, 3)))
        tests["guess"] = _share(reading.answers((0, 2)), reading.answers((1, 3)))
    related = _related(reading, public, rows)
    alpha = (1 - level) / (len(tests) + len(related))
    intervals = {name: ratio_interval(test, alpha) for name, test in tests.items()}
    words = words_of(public)
    beside = {
        "tvd_1_q16": public.expected(public.singles, rows.value),
        **dict.fromkeys(SKILLS, intervals.get("guess", (None,))[0]),
    }
    beside |= {"tvd_2_q16": public.expected(public.pairs, rows.value)} if public.pairs else {}
    plain = (_measure(name, words[name], ends, beside.get(name)) for name, ends in intervals.items())
    return (*plain, *(each.measure(alpha) for each in related))


@dataclass(frozen=True)
class _NoisyCorrelation:
    """One correlation: the test of (1 + p) / 2, and what it is in the released rows."""

    pair: tuple[str, str]
    test: LinearTest
    released: float

    def measure(self, alpha: float) -> NoisyMetric:
        """Return the correlation with its interval."""
        value, low, high = (2 * end - 1 for end in ratio_interval(self.test, alpha))
        words = f"correlation of the normal scores of {' and '.join(self.pair)}; the yardstick is that of the release"
        return _measure(f"normal_score_correlation {'~'.join(self.pair)}", words, (value, low, high), self.released)


def _related(reading: NoisyCounts, public: PublicFacts, rows: Sum) -> list[_NoisyCorrelation]:
    if public.relations is None:
        return []
    size = float(public.counts(public.singles[0]).sum())
    related: list[_NoisyCorrelation] = []
    for place, pair in enumerate(public.relations.pairs):
        unit = public.relations.unit(pair)
        x = reading.related(place, unit)
        test = LinearTest((x.value + rows.value) / 2, -rows.value, (*x.terms(0.5, 0.0), *rows.terms(0.5, -1.0)))
        related.append(_NoisyCorrelation(pair, test, float(public.related[place]) / (unit * size)))
    return related


def skill_name(target: Column) -> str:
    """Return what the score of the model is called: of levels accuracy, of numbers an error over the public range."""
    return SKILLS[target.is_ordered]


def _measure(name: str, words: str, ends: tuple[float, float, float], yardstick: float | None) -> NoisyMetric:
    value, low, high = (round(end, DIGITS) for end in ends)
    return NoisyMetric(name, words, value, low, high, None if yardstick is None else round(yardstick, DIGITS))


def _distance(misplaced: Sum, rows: Sum) -> LinearTest:
    """Test u - p n."""
    return LinearTest(misplaced.value, -rows.value, (*misplaced.terms(1.0, 0.0), *rows.terms(0.0, -1.0)))


def _share(some: Sum, others: Sum) -> LinearTest:
    """Test (1 - p) some - p others."""
    return LinearTest(some.value, -(some.value + others.value), (*some.terms(1.0, -1.0), *others.terms(0.0, -1.0)))


def words_of(public: PublicFacts) -> dict[str, str]:
    """Return what each measure means."""
    columns, pairs = len(public.singles), len(public.pairs)
    wrong = "share of rows that lie in the wrong cell of"
    words = {
        "tvd_1_q16": f"{wrong} a column, mean over {columns} column{'s' if columns > 1 else ''}",
        "tvd_2_q16": f"{wrong} a pair of columns, mean over {pairs} pair{'s' if pairs > 1 else ''}",
    }
    target = public.target
    if target is None:
        return words
    if target.is_ordered:
        error = f"error of {target.name} on true rows as a share of its public range, by"
        return words | {
            "prediction_range_error": f"mean {error} a model that learnt from the released rows (smaller is better)",
            "guess": f"mean {error} the released median",
        }
    rows = f"share of true rows whose {target.name} is"
    return words | {
        "prediction_accuracy": f"{rows} told right by a model that learnt from the released rows",
        "guess": f"{rows} the commonest level of the released rows",
    }
