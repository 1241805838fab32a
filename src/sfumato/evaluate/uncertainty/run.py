"""Estimate the error and an interval of any statistic of a release; of released counts and shares in closed form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.argument_errors import checked_arguments
from sfumato.arrays import FloatArray
from sfumato.core.plan import Stage
from sfumato.errors import ArgumentError, PlanError
from sfumato.evaluate.uncertainty.interval import LEVEL_MEASURED, measured_coverage, notes_of, rerun_interval, within
from sfumato.evaluate.uncertainty.reruns import FIRST_SEED, PublicRelease, rerun
from sfumato.evaluate.uncertainty.result import Estimate, Uncertainty
from sfumato.evaluate.uncertainty.statistic_parser import parse_statistic
from sfumato.evaluate.uncertainty.statistics import Answer, ColumnValues, Question

if TYPE_CHECKING:
    from sfumato.core.release import Release

FORMS = "counts of COLUMN; count of COLUMN = LEVEL; shares of COLUMN; share of COLUMN = LEVEL"

_WORDS = re.compile(r"^(count|share)s?\s+of\s+(.+?)(?:\s*==?\s*(.+))?$", re.IGNORECASE)

CLAMPED = "counts below 0 were set to 0: nearly empty cells are larger than the interval knows"


def count_estimates(public: PublicRelease, asked: Sequence[Any], level: float, population: bool) -> Uncertainty:
    """Return errors of counts and shares in closed form; of anything else nothing can be said from counts."""
    if public.makes != "counts":
        raise PlanError(
            f"{public.method.name} releases values and no rows: nothing can be run again on them",
            next_step="read the scale of their noise under 'stages' in release.json",
        )
    read = [_read(each, public) for each in asked]
    estimates = [e for words, counted, only in read for e in counted.estimates(words, only, level, population)]
    notes = (CLAMPED,) if getattr(public.method, "nonnegative", False) else ()
    return Uncertainty("; ".join(str(each) for each in asked), tuple(estimates), 0, level, population, notes)


@dataclass(frozen=True)
class _ColumnCounts:
    """The counts of one column's labels: sums of the cells of one released table."""

    column: str
    labels: tuple[Any, ...]
    counts: FloatArray
    cells: FloatArray
    """Cells that were added up for each label: each has noise of its own."""
    stage: Stage
    drawn: bool
    """Whether rows were drawn from the noisy counts, which adds chance."""

    @property
    def variance(self) -> float:
        return self.stage.law.deviation**2

    def estimates(self, words: str, only: str | None, level: float, population: bool) -> list[Estimate]:
        """Return the asked labels with the errors that their noise has."""
        from scipy.stats import laplace, norm

        law = laplace(scale=math.sqrt(0.5)) if self.stage.law.is_laplace else norm
        reach = float(law.ppf((1 + level) / 2))
        found: list[Estimate] = []
        for place, label in enumerate(self.labels):
            name = f"{words} of {self.column} = {label}"
            if label is not None and (only is None or str(label) == only):
                value, error = self._one(words, place, population)
                low, high = max(value - reach * error, 0.0), value + reach * error
                high = min(high, 1.0) if words == "share" else high
                found.append(Estimate(name, value, error, min(low, high), high, words))
        if not found:
            raise ArgumentError(
                f"{self.column} has no level {only!r}",
                next_step=f"its levels are: {', '.join(str(label) for label in self.labels[:20])}",
            )
        return found

    def _one(self, words: str, place: int, population: bool) -> tuple[float, float]:
        """Return the value of one label and its standard error."""
        present = np.array([label is not None for label in self.labels])
        total = max(float(self.counts[present].sum()), 1.0)
        count = float(self.counts[place])
        share = min(max(count / total, 0.0), 1.0)
        chance = total * share * (1 - share) * (int(population) + int(self.drawn))
        if words == "count":
            return count, math.sqrt(self.variance * float(self.cells[place]) + chance)
        noise = self.variance * (self.cells[place] * (1 - 2 * share) + share**2 * self.cells[present].sum())
        return count / total, math.sqrt(float(noise) + chance) / total


def _read(words: Any, public: PublicRelease) -> tuple[str, _ColumnCounts, str | None]:
    """Return what is asked of which table; the smallest one that holds the column has the least noise."""
    found = _WORDS.match(words.strip()) if isinstance(words, str) else None
    names = sorted({name for columns in public.tables for name in columns})
    if found is None:
        raise ArgumentError(
            f"{words!r} cannot be read off released counts",
            next_step=f"write one of: {FORMS}; columns are: {', '.join(names)}; or release rows, by AIM for example",
        )
    column = found[2].strip().strip("`'\"")
    holding = [(table.num_rows, columns) for columns, table in public.tables.items() if column in columns]
    if not holding:
        raise ArgumentError(f"no released table counts {column!r}", next_step=f"columns are: {', '.join(names)}")
    columns = min(holding)[1]
    only = found[3].strip().strip("`'\"") if found[3] else None
    return found[1].lower(), _counted(public, columns, column), only


def _counted(public: PublicRelease, columns: tuple[str, ...], column: str) -> _ColumnCounts:
    table: pa.Table = public.tables[columns]
    stage = next(stage for stage in public.stages if stage.name == " x ".join(columns))
    given = table.column(column).to_pylist()
    labels = tuple(dict.fromkeys(given))
    places = np.array([labels.index(each) for each in given])
    counts = np.bincount(places, table.column(table.num_columns - 1).to_numpy()).astype(float)
    drawn = bool(getattr(public.method, "synthetic", False))
    return _ColumnCounts(column, labels, counts, np.bincount(places).astype(float), stage, drawn)


Statistic = str | Callable[..., Any]

FEWEST_RERUNS, MOST_RERUNS = 4, 1000

MOST_NAMED = 5

SAMPLES = 60

"""Redrawn samples of the released rows, where the population is asked for."""

NOISE_LEFT = 0.6

"""Part of the noise of a column's own table that the error of a share has, after all the smoothing."""

UNKNOWN = "nothing is known of {names}: too few released rows"

LEFT_OUT = "rows with a missing value in {columns} are left out"


@checked_arguments
def uncertainty(
    released: Release | str | Path,
    statistic: Statistic | Sequence[Statistic],
    reruns: int = 20,
    level: float = 0.95,
    population: bool = False,
) -> Uncertainty:
    """Return expected errors and intervals of a statistic of a release or a bundle; free, since only that is used.

    ``statistic`` is words such as "mean income by region", a function of a frame that returns a number, a mapping or a
    series, or a list of them. The method is run ``reruns`` times on the released rows, by fixed seeds. An interval is
    for the confidential table; with ``population`` it is for the population that the table is a sample of.
    """
    asked = [statistic] if isinstance(statistic, str) or callable(statistic) else list(statistic)
    if not asked:
        raise ArgumentError("no statistic is named", next_step="give for example 'mean income by region'")
    require_reruns(reruns)
    if not isinstance(level, int | float) or not 0 < level < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"level must lie between 0 and 1, found {level!r}", next_step="give for example 0.95")
    public = PublicRelease.of(released)
    if public.makes != "rows":
        return count_estimates(public, asked, level, population)
    return answered(public, [_question(each, public) for each in asked], reruns, level, population)


def answered(
    public: PublicRelease,
    questions: Sequence[Question],
    reruns: int,
    level: float = LEVEL_MEASURED,
    population: bool = False,
) -> Uncertainty:
    """Return what reruns tell about questions."""
    mechanism, values = public.mechanism(), ColumnValues(public.rows, public.schema)
    repeated = [ColumnValues(rows, public.schema) for rows in rerun(mechanism, reruns)]
    same_size = mechanism.base.num_rows == public.rows.num_rows
    base = values if same_size else ColumnValues(mechanism.base, public.schema)
    drawn = _bootstrap(values, public.table_rows) if population else []
    estimates: list[Estimate] = []
    for question in questions:
        now, start = question.compute(values), question.compute(base)
        again, samples = ([question.compute(each) for each in rows] for rows in (repeated, drawn))
        coverage = measured_coverage(question.kind, public.smallest_relation) if level == LEVEL_MEASURED else None
        least = least_error(public, question)
        for name, value in now.items():
            moved = [each.get(name, math.nan) + value - start[name] for each in again]
            chance = [each.get(name, math.nan) for each in samples]
            spread = rerun_interval(question.kind, value, moved, level, chance, least, public.smallest_relation)
            ends = within(spread, *question.bounds)
            estimates.append(Estimate(name, value, *ends, kind=question.kind, coverage=coverage))
    noted = [note for question in questions for note in _notes(question, values)]
    notes = dict.fromkeys((*public.notes, *noted, *_unknown(estimates), *notes_of(estimates, public.smallest_relation)))
    words = "; ".join(question.words for question in questions)
    return Uncertainty(words, tuple(estimates), reruns, level, population, tuple(notes))


def require_reruns(reruns: int) -> int:
    """Return a number of reruns that can tell something, or refuse it."""
    if isinstance(reruns, bool) or not isinstance(reruns, int) or not FEWEST_RERUNS <= reruns <= MOST_RERUNS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"reruns must be a whole number from {FEWEST_RERUNS} to {MOST_RERUNS:,}, found {reruns!r}",
            next_step="20 are enough for most questions",
        )
    return reruns


def _question(statistic: Any, public: PublicRelease) -> Question:
    if isinstance(statistic, str):
        return parse_statistic(statistic, public.schema, public.rows.column_names)
    if not callable(statistic):
        raise ArgumentError(
            f"a {type(statistic).__name__} is no statistic",
            next_step="give words such as 'mean income', or a function of a frame",
        )
    name = getattr(statistic, "__name__", "statistic")
    name = "statistic" if name == "<lambda>" else name
    return Question(name, "own", (), lambda values: _custom_statistic(statistic, name, values, public.frame_kind))


def _custom_statistic(function: Callable[..., Any], name: str, values: ColumnValues, kind: str) -> Answer:
    """Return what a function of a frame says: a number, a mapping or a series of numbers."""
    from sfumato.table.writing.frames import to_frame

    found = function(to_frame(values.rows, kind if kind in ("arrow", "polars", "duckdb") else "pandas"))
    found = found.to_dict() if hasattr(found, "to_dict") else found
    named: Mapping[Any, Any] = found if isinstance(found, Mapping) else {"": found}
    try:
        return {f"{name}, {key}" if key != "" else name: _number(value) for key, value in named.items()}
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{name} returned a {type(found).__name__} that holds no numbers",
            next_step="return a number, a mapping of names to numbers, or a series",
        ) from None


def _number(value: Any) -> float:
    return math.nan if value is None or str(value) in ("<NA>", "NaT") else float(value)


def _bootstrap(values: ColumnValues, size: int) -> list[ColumnValues]:
    """Return samples of the released rows with replacement, each as large as the table."""
    generator = np.random.default_rng(FIRST_SEED)
    return [values.taken(generator.integers(0, max(values.size, 1), size)) for _ in range(SAMPLES)]


def least_error(public: PublicRelease, question: Question) -> float:
    """Return an error that is known without reruns: of a share the noise of its own table, of a median half a step."""
    if question.kind == "share":
        return NOISE_LEFT * public.noise_of_share(question.columns[0])
    return question.step / 2 if question.kind.endswith(("median", "quantile")) else 0.0


def _unknown(estimates: Sequence[Estimate]) -> list[str]:
    names = [each.name for each in estimates if math.isnan(each.error)]
    shown = "; ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    return [UNKNOWN.format(names=shown)] if names else []


def _notes(question: Question, values: ColumnValues) -> list[str]:
    """Return what must be said about one question: missing values, and what its columns mean."""
    lacking = [name for name in question.columns if values.rows.column(name).null_count]
    told = [] if not lacking or question.words.endswith("missing") else [LEFT_OUT.format(columns=", ".join(lacking))]
    return [*question.notes, *told]
