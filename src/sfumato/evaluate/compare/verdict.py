"""From measures to words: whether a custodian can hand the rows out, for what, and which measure decides.

Every threshold stands here. Three uses of the rows, single columns, relations and predictions, get one of four marks:

* **as real**: hardly worse than a second real sample of the same size;
* **good** or **poor**: within a first or a second limit on the measure that decides;
* **lost**: beyond both, so that nothing should be read from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.evaluate.compare.result import ColumnComparison, MetricWithYardstick
from sfumato.formatting import percent_fixed

GRADES = ("as good as real rows", "good", "usable in part", "not usable")
"""Nothing beyond a second real sample, and rows that trees cannot tell from real ones; all uses good; not all of them;
single columns far off, or every use at best rough and one far off."""
SLACK = 1.2
"""A measure is as real while it is at most so many times the upper end of what a second real sample has."""
AUC_AS_REAL = 0.55
"""Where real and made rows are told apart no better than this, they are alike."""
LIMITS: dict[str, tuple[float, float]] = {
    "tvd_1": (0.10, 0.25),
    "mean_error": (0.20, 0.60),
    "sd_error": (0.25, 0.80),
    "quantile_error": (0.20, 0.60),
    "relations": (0.75, 0.50),
    "tvd_2": (0.20, 0.45),
    "prediction": (0.75, 0.40),
}
"""Where good ends and where everything is lost; of relations and prediction the share that is kept. A limit never asks
for more than twice what a second real sample has (of shares that are kept: than it has)."""
RELATIONS = ("tvd_2", "pearson_error", "spearman_error", "cramer_error")
SINGLE = ("tvd_1", "mean_error", "sd_error", "quantile_error")
WRONG_TIMES, WRONG_BY = 4.0, 0.05
"""A column is plainly wrong where its tvd is so many times that of a second real sample, and larger by so much."""
RULES_BROKEN = 0.01
"""A share of rows that break rules, above that of real rows, that is said."""
MARKS = ("as real", "good", "poor", "lost")


@dataclass(frozen=True)
class VerdictRow:
    """How one use of the rows fares, and the measure that decided."""

    use: str
    mark: str
    words: str
    """The measure that decided, beside its yardstick."""

    @property
    def rank(self) -> int:
        """0 is best."""
        return MARKS.index(self.mark)


def verdict_of_comparison(
    measures: Mapping[str, MetricWithYardstick], kept: float | None, columns: Sequence[ColumnComparison] = ()
) -> tuple[str, str]:
    """Return the grade and the verdict."""
    found = (_single(measures, columns), _relations(measures, kept), _prediction(measures))
    marks = [mark for mark in found if mark is not None]
    grade = _grade(marks, measures)
    return grade, " ".join([_sentence(grade, marks), *_rules(measures)])


def _is_real(measure: MetricWithYardstick) -> bool:
    return measure.value <= SLACK * measure.yardstick_high + 1e-12


def _mark(name: str, measure: MetricWithYardstick) -> str:
    """Return the mark of a measure of which 0 is perfect."""
    if _is_real(measure):
        return "as real"
    good, lost = (max(limit, 2 * measure.yardstick) for limit in LIMITS[name])
    return "good" if measure.value <= good else "poor" if measure.value <= lost else "lost"


def _decided(use: str, measures: Mapping[str, MetricWithYardstick], names: tuple[str, ...]) -> VerdictRow:
    """Return the worst mark among some measures, told by the one that is furthest beyond its limit."""
    marks = {name: _mark(name, measures[name]) for name in names if name in measures}
    worst = max(marks, key=lambda name: (MARKS.index(marks[name]), measures[name].value / LIMITS[name][0]))
    return VerdictRow(use, marks[worst], metric_beside_yardstick(measures[worst]))


def metric_beside_yardstick(measure: MetricWithYardstick) -> str:
    """Return a measure beside its yardstick, in few words."""
    return f"{measure.name} {measure.value:.3g}, a second real sample {measure.yardstick:.3g}"


def _single(measures: Mapping[str, MetricWithYardstick], columns: Sequence[ColumnComparison]) -> VerdictRow:
    """Return the mark of single columns; one that is plainly wrong must not hide behind the mean over many."""
    mean = _decided("single columns", measures, SINGLE)
    wrong = [each for each in columns if each.tvd > max(WRONG_TIMES * each.yardstick, each.yardstick + WRONG_BY)]
    if not wrong:
        return mean
    worst = max(wrong, key=lambda each: each.tvd)
    mark = "good" if worst.tvd <= LIMITS["tvd_1"][1] else "poor"
    if MARKS.index(mark) <= mean.rank:
        return mean
    return VerdictRow(
        mean.use, mark, f"tvd of {worst.name} {worst.tvd:.3g}, a second real sample {worst.yardstick:.3g}"
    )


def _relations(measures: Mapping[str, MetricWithYardstick], kept: float | None) -> VerdictRow | None:
    """Return the mark of relations: as real where tables and correlations are, else by tables and strength kept."""
    if "tvd_2" not in measures:
        return None
    tables = _decided("relations", measures, ("tvd_2",))
    if all(_is_real(measures[name]) for name in RELATIONS if name in measures):
        return tables
    good, lost = LIMITS["relations"]
    known = "good" if kept is None or kept >= good else "poor" if kept >= lost else "lost"
    mark = max(known, tables.mark, key=MARKS.index)
    strength = "" if kept is None else f"strong ones keep {percent_fixed(kept, 0)} of their strength; "
    return VerdictRow("relations", mark, f"{strength}{tables.words}")


def _prediction(measures: Mapping[str, MetricWithYardstick]) -> VerdictRow | None:
    measure = measures.get("prediction")
    if measure is None:
        return None
    good, lost = LIMITS["prediction"]
    real = measure.value >= measure.yardstick_low
    if real and measure.value < good:  # so few rows that nobody can tell
        return None
    mark = "as real" if real else "good" if measure.value >= good else "poor" if measure.value >= lost else "lost"
    return VerdictRow(
        "predictions", mark, f"models keep {percent_fixed(measure.value, 0)} of what real rows teach them"
    )


def _grade(marks: list[VerdictRow], measures: Mapping[str, MetricWithYardstick]) -> str:
    ranks = [mark.rank for mark in marks]
    auc = measures.get("propensity_auc")
    alike = auc is None or auc.value <= max(AUC_AS_REAL, auc.yardstick_high)
    if max(ranks) == 0:
        return GRADES[0] if alike else GRADES[1]
    if max(ranks) == 1:
        return GRADES[1]
    single = marks[0].rank
    return GRADES[3] if single == MARKS.index("lost") or (min(ranks) > 1 and max(ranks) == 3) else GRADES[2]


def _sentence(grade: str, marks: list[VerdictRow]) -> str:
    """Return every use with its mark and what decided, in one sentence."""
    said = {
        "as real": "{use} are as good as in real rows ({words})",
        "good": "{use} are good ({words})",
        "poor": "{use} are right only roughly ({words})",
        "lost": "{use} are far off ({words})" if grade == GRADES[3] else "not usable for {use} ({words})",
    }
    told = "; ".join(said[mark.mark].format(use=mark.use, words=mark.words) for mark in marks)
    return f"{grade[0].upper()}{grade[1:]}: {told}."


def _rules(measures: Mapping[str, MetricWithYardstick]) -> list[str]:
    measure = measures.get("rule_violations")
    if measure is None or measure.value <= measure.yardstick + RULES_BROKEN:
        return []
    broken = f"{percent_fixed(measure.value)} of the rows break a rule of the schema"
    return [f"{broken} ({percent_fixed(measure.yardstick)} of real rows)."]
