"""Main numbers of released rows and their expected errors, computed and checked again."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.bundle.document import ExpectedErrors, MainNumber, ReleaseDocument
from sfumato.errors import ArgumentError, NoExpectedErrorsWarning, SfumatoError
from sfumato.evaluate.uncertainty.reruns import PublicRelease
from sfumato.evaluate.uncertainty.run import FEWEST_RERUNS, answered, require_reruns
from sfumato.evaluate.uncertainty.statistic_parser import MOST_LEVELS, parse_statistic
from sfumato.evaluate.uncertainty.statistics import ColumnValues, Question
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.core.method import Method
    from sfumato.core.plan import Plan
    from sfumato.core.release import Release
    from sfumato.evaluate.uncertainty.result import Uncertainty

AGREES = 1e-9
"""How far two computations of one number may lie apart, relative to it."""
MOST_COLUMNS = 40
LARGEST_SHARES = 3
"""Levels of a column whose shares are main numbers."""
SETTING = "SFUMATO_RERUNS"
"""Environment variable: reruns that the command line makes for a report unless it is told otherwise."""
MOST_FOR_A_REPORT, SECONDS_FOR_A_REPORT = 8, 60.0


def expected_errors(release: Release, reruns: int) -> ExpectedErrors | None:
    """Return the main numbers with expected errors; the bundle is there without them, so a failure is a warning."""
    if reruns == 0 or release.method.makes != "rows" or not release.guarantee.formal:
        return None
    try:
        return _known(main_statistics(release, reruns))
    except Exception as error:  # noqa: BLE001  the data are paid for, and this is an addition to them
        reason = error.headline if isinstance(error, SfumatoError) else type(error).__name__
        warnings.warn(NoExpectedErrorsWarning(f"the report shows no expected errors: {reason}"), stacklevel=5)
        return None


def main_statistics(release: Release, reruns: int) -> Uncertainty:
    """Return the main numbers of a release of rows with their expected errors."""
    public = PublicRelease.of(release)
    return answered(public, main_questions(public.schema, public.rows), require_reruns(reruns))


def _known(uncertainty: Uncertainty) -> ExpectedErrors:
    """Return what is known; a number that the rows cannot tell is left out."""
    known = [each for each in uncertainty.estimates if math.isfinite(each.value) and math.isfinite(each.error)]
    fields = tuple(MainNumber.model_fields)
    numbers = tuple(MainNumber(**{field: getattr(each, field) for field in fields}) for each in known)
    return ExpectedErrors(reruns=uncertainty.reruns, level=uncertainty.level, numbers=numbers)


def main_number_problems(document: ReleaseDocument, schema: Schema, rows: pa.Table) -> Iterator[str]:
    """Compute the main numbers of the released rows again, and compare; the reruns are left to whoever doubts them."""
    values = ColumnValues(rows, schema)
    here = {name: value for each in main_questions(schema, rows) for name, value in each.compute(values).items()}
    for each in document.expected_errors.numbers if document.expected_errors else ():
        if not math.isclose(here.get(each.name, math.nan), each.value, rel_tol=AGREES, abs_tol=AGREES):
            yield f"{each.name} is {here.get(each.name, math.nan):.6g} in the released rows, and not {each.value:.6g}"
        if not (each.error >= 0 and each.low <= each.value <= each.high):
            yield f"the interval of {each.name} does not hold the released number"


def main_questions(schema: Schema, rows: pa.Table) -> list[Question]:
    """Return what the main numbers are: mean, median and sd of numbers, the largest shares of levels."""
    values, questions = ColumnValues(rows, schema), list[Question]()
    names = [name for name in schema.names if name in rows.column_names][:MOST_COLUMNS]
    for name in names:
        column = schema[name]
        if column.is_ordered:
            questions += [parse_statistic(f'{kind} "{name}"', schema, names) for kind in ("mean", "median", "sd")]
        elif column.present_size <= MOST_LEVELS:
            questions.append(_largest(parse_statistic(f'shares of "{name}"', schema, names), values))
    return questions


def _largest(question: Question, values: ColumnValues) -> Question:
    shares = question.compute(values)
    kept = sorted(shares, key=lambda name: -shares[name])[:LARGEST_SHARES]

    def compute(rows: ColumnValues) -> dict[str, float]:
        answer = question.compute(rows)
        return {name: answer[name] for name in kept}

    return Question(question.words, question.kind, question.columns, compute)


def reruns_from_environment() -> int | None:
    """Return the number of reruns that the environment asks for, if any."""
    stated = os.environ.get(SETTING)
    if stated is not None and not stated.isdigit():
        raise ArgumentError(f"{SETTING}={stated} is no number of reruns", next_step=f"set {SETTING}=0, or 4 and more")
    return None if stated is None else int(stated)


def checked_reruns(reruns: int | None) -> int | None:
    """Return the number of reruns that was asked for, here or in the environment; refuse it before the spend."""
    wanted = reruns_from_environment() if reruns is None else reruns
    return require_reruns(wanted) if wanted else wanted


def affordable_reruns(plan: Plan) -> int:
    """Return how many reruns fit into about a minute by the plan's own guess; none where too few would.

    The guess rests on public facts: how long the release itself took is nobody's business.
    """
    fit = int(min(MOST_FOR_A_REPORT, SECONDS_FOR_A_REPORT / max(plan.seconds or 1.0, 1.0)))
    return fit if fit >= FEWEST_RERUNS else 0


def planned_reruns(method: Method, planned: Plan, wanted: int | None) -> int:
    """Return how often the method will be run on the released rows for the report: settled before anything is spent."""
    if method.makes != "rows" or not all(event.is_formal for event in planned.events):
        return 0
    return affordable_reruns(planned) if wanted is None else wanted
