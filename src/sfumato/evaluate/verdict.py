"""One verdict on a release: each use with a number, a limit and a source.

Every threshold stands here. Of a *comparison* three uses of the rows, single columns, associations and predictions, get
one of four marks by what was measured beside a second real sample:

* **as real**: hardly worse than a second real sample of the same size;
* **good** or **poor**: within a first or a second limit on the metric that decides;
* **lost**: beyond both, so that nothing should be read from it.

Of a *forecast*, where nothing was measured, a use is served or not by what the same metrics are expected to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.core.forecast import Forecast
from sfumato.formatting import capitalize_first, join_names, percent_fixed
from sfumato.metrics.binning import CELLS
from sfumato.metrics.expected_errors import ExpectedMetrics, NoiseFacts, expected_metrics

if TYPE_CHECKING:
    from sfumato.evaluate.compare.result import ColumnComparison, MetricWithYardstick

GRADES = ("as good as real rows", "good", "usable in part", "not usable")
"""Nothing beyond a second real sample, and rows that trees cannot tell from real ones; all uses good; not all of them;
single columns far off, or every use at best rough and one far off."""
SLACK = 1.2
"""A measure is as real while it is at most so many times the upper end of what a second real sample has."""
AUC_AS_REAL = 0.55
"""Where real and synthetic rows are told apart no better than this, they are alike."""
LIMITS: dict[str, tuple[float, float]] = {
    "tvd_1_q16": (0.10, 0.25),
    "mean_error_sd": (0.20, 0.60),
    "sd_log_ratio": (0.25, 0.80),
    "quantile_error": (0.20, 0.60),
    "association_kept": (0.75, 0.50),
    "tvd_2_q16": (0.20, 0.45),
    "skill_kept": (0.75, 0.40),
}
"""Where good ends and where everything is lost; of relations and prediction the share that is kept. A limit never asks
for more than twice what a second real sample has (of shares that are kept: than it has)."""
RELATIONS = ("tvd_2_q16", "association_error", "pearson_error")
SINGLE = ("tvd_1_q16", "mean_error_sd", "sd_log_ratio", "quantile_error")
WRONG_TIMES, WRONG_BY = 4.0, 0.05
"""A column is plainly wrong where its tvd is so many times that of a second real sample, and larger by so much."""
RULES_BROKEN = 0.01
"""A share of rows that break rules, above that of real rows, that is said."""
MARKS = ("as real", "good", "poor", "lost")
DROWNED = 0.3
"""A column with this share of its rows in a wrong cell tells nothing that a guess would not."""
TOO_FAR = 0.25
"""Where a quarter of the rows of an average column stands in a wrong cell, noise is comparable to the rows."""
UNREADABLE, NOISY_CELLS = 0.6, 0.5
"""A table in which only relations beyond the first number are seen, and of which the noise of an average cell is this
share of what the cell holds: single columns are blurred, and nothing else is there."""
STRONG_RELATIONS, WEAK_RELATIONS = "strong relations", "weak relations"
ROWS = np.geomspace(1.0, 1e9, 91)
"""Numbers of rows that are tried: each is 1.26 times the one before."""


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
    uses = (_single(measures, columns), _relations(measures, kept), _prediction(measures))
    marks = [mark for mark in uses if mark is not None]
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
    mark = "good" if worst.tvd <= LIMITS["tvd_1_q16"][1] else "poor"
    if MARKS.index(mark) <= mean.rank:
        return mean
    return VerdictRow(
        mean.use, mark, f"tvd of {worst.name} {worst.tvd:.3g}, a second real sample {worst.yardstick:.3g}"
    )


def _relations(measures: Mapping[str, MetricWithYardstick], kept: float | None) -> VerdictRow | None:
    """Return the mark of relations: as real where tables and correlations are, else by tables and strength kept."""
    if "tvd_2_q16" not in measures:
        return None
    tables = _decided("relations", measures, ("tvd_2_q16",))
    if all(_is_real(measures[name]) for name in RELATIONS if name in measures):
        return tables
    good, lost = LIMITS["association_kept"]
    known = "good" if kept is None or kept >= good else "poor" if kept >= lost else "lost"
    mark = max(known, tables.mark, key=MARKS.index)
    strength = "" if kept is None else f"strong ones keep {percent_fixed(kept, 0)} of their strength; "
    return VerdictRow("relations", mark, f"{strength}{tables.words}")


def _prediction(measures: Mapping[str, MetricWithYardstick]) -> VerdictRow | None:
    measure = measures.get("skill_kept")
    if measure is None:
        return None
    good, lost = LIMITS["skill_kept"]
    real = measure.value >= measure.yardstick_low
    if real and measure.value < good:  # so few rows that nobody can tell
        return None
    mark = "as real" if real else "good" if measure.value >= good else "poor" if measure.value >= lost else "lost"
    kept = percent_fixed(measure.value, 0)
    return VerdictRow("predictions", mark, f"models keep {kept} of what real rows teach them")


def _grade(marks: list[VerdictRow], measures: Mapping[str, MetricWithYardstick]) -> str:
    ranks = [mark.rank for mark in marks]
    auc = measures.get("detection_auc")
    alike = auc is None or auc.value <= max(AUC_AS_REAL, auc.yardstick_high)
    if max(ranks) == 0:
        return GRADES[0] if alike else GRADES[1]
    if max(ranks) == 1:
        return GRADES[1]
    single = marks[0].rank
    return GRADES[3] if single == MARKS.index("lost") or (min(ranks) > 1 and max(ranks) == 3) else GRADES[2]


def _sentence(grade: str, marks: list[VerdictRow]) -> str:
    """Return every use with its mark and what decided, in one sentence."""
    sentences = {
        "as real": "{use} are as good as in real rows ({words})",
        "good": "{use} are good ({words})",
        "poor": "{use} are right only roughly ({words})",
        "lost": "{use} are far off ({words})" if grade == GRADES[3] else "not usable for {use} ({words})",
    }
    uses = "; ".join(sentences[mark.mark].format(use=mark.use, words=mark.words) for mark in marks)
    return f"{capitalize_first(grade)}: {uses}."


def _rules(measures: Mapping[str, MetricWithYardstick]) -> list[str]:
    measure = measures.get("rule_violations")
    if measure is None or measure.value <= measure.yardstick + RULES_BROKEN:
        return []
    broken = f"{percent_fixed(measure.value)} of the rows break a rule of the schema"
    return [f"{broken} ({percent_fixed(measure.yardstick)} of real rows)."]


@dataclass(frozen=True)
class VerdictUse:
    """Something that a table is used for, and the error up to which it serves."""

    words: str
    metric: str
    most: float

    def served(self, errors: ExpectedMetrics | Forecast) -> bool | None:
        """Say whether a release with these errors serves; None where it holds nothing of the kind."""
        error = getattr(errors, self.metric)
        return None if error is None else error <= self.most


UNKNOWN_ROWS = "which nobody said: "
"""Before this a verdict without a number of rows says that it depends, and behind it on what."""
SINGLE_COLUMNS, MEANS, PAIRS = "single columns", "means", "cross tables of two columns"
USES = (
    VerdictUse(SINGLE_COLUMNS, "tvd_1_q16", 0.1),
    VerdictUse(MEANS, "mean_error_sd", 0.1),
    VerdictUse(STRONG_RELATIONS, "smallest_relation", 0.5),
    VerdictUse(WEAK_RELATIONS, "smallest_relation", 0.2),
    VerdictUse(PAIRS, "tvd_2_q16", 0.1),
)
"""A tenth of the rows in a wrong cell, a mean off by a tenth of a standard deviation; strong relations are correlations
from .5 on, weak ones from .2 on."""


def verdict_of_forecast(facts: NoiseFacts, rows: float, errors: ExpectedMetrics) -> str:
    """Return in one sentence what a release will be good for."""
    good, bad = (_named([use.words for use in USES if use.served(errors) is answer]) for answer in (True, False))
    refused = f"not for {join_names(bad, 'or')}" if bad else ""
    praised = f"good for {join_names(good)}" if good else ""
    if is_drowned_in_noise(facts, rows, errors):
        return f"The noise is comparable to the rows: {'; '.join(filter(None, (praised, refused)))}."
    praised = praised or "good for a rough look at single columns at most"
    return f"{'; '.join(filter(None, (praised, refused)))}.".capitalize()


def verdict_without_rows(needed: Sequence[tuple[str, int]]) -> str:
    """Return a verdict that leaves the number of rows open."""
    uses = [f"{words} from about {rows:,} rows on" for words, rows in needed]
    if not uses:
        return "Good for nothing, however many rows there are."
    return f"It depends on the number of rows, {UNKNOWN_ROWS}good for {join_names(uses)}."


def _named(uses: Sequence[str]) -> list[str]:
    """Return the uses; strong and weak relations together are relations."""
    if not {STRONG_RELATIONS, WEAK_RELATIONS} <= set(uses):
        return list(uses)
    return ["relations" if use == STRONG_RELATIONS else use for use in uses if use != WEAK_RELATIONS]


def is_drowned_in_noise(facts: NoiseFacts, rows: float, errors: ExpectedMetrics) -> bool:
    """Say whether noise is comparable to the rows.

    Either a quarter of the rows of an average column stands in a wrong cell; or the noise of an average cell is half of
    what it holds (a 16th of the rows, or the share of a level) and hardly any relation can be seen.
    """
    if errors.tvd_1_q16 > TOO_FAR:
        return True
    noise = np.mean([column.noise / rows * min(column.cells, CELLS) for column in facts.columns])
    unseen = errors.smallest_relation is not None and errors.smallest_relation >= UNREADABLE
    return bool(unseen and noise >= NOISY_CELLS)


def rows_needed(facts: NoiseFacts) -> tuple[tuple[str, int], ...]:
    """Return for each use from about how many rows on a release will serve it; uses that none serves are left out."""
    expected = [expected_metrics(facts, float(rows)) for rows in ROWS]
    needed = ((use, [getattr(errors, use.metric) for errors in expected]) for use in USES)
    return tuple(
        (use.words, _first_below(np.array(errors, float), use.most))
        for use, errors in needed
        if errors[-1] is not None and errors[-1] <= use.most
    )


def _first_below(errors: FloatArray, most: float) -> int:
    """Return from how many rows on an error that falls is below a limit; between two tried ones, on a straight line."""
    place = int(np.argmax(errors <= most))
    if place == 0:
        return 1
    logs, high = np.log(errors[[place, place - 1]]), np.log(ROWS[[place, place - 1]])
    return rounded(float(np.exp(np.interp(np.log(most), logs, high))))


def rounded(number: float) -> int:
    """Return a number to two digits.

    >>> rounded(12345.6), rounded(7.2)
    (12000, 7)
    """
    return int(float(f"{number:.1e}")) if number >= 10 else round(number)
