"""How sure the main numbers of released rows are: computed when a bundle is saved, and checked again."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from sfumato.errors import NoExpectedErrorsWarning, SfumatoError
from sfumato.report.document import ExpectedErrors, ReleaseDocument
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.release.release import Release

AGREES = 1e-9
"""How far two computations of one number may lie apart, relative to it."""


def expected_errors(release: Release, reruns: int) -> ExpectedErrors | None:
    """Return the main numbers with expected errors; the bundle is there without them, so a failure is a warning."""
    from sfumato.uncertainty.main_numbers import have_main_numbers, main_numbers

    if reruns == 0 or not have_main_numbers(release):
        return None
    try:
        return ExpectedErrors.of(main_numbers(release, reruns))
    except Exception as error:  # noqa: BLE001  the data are paid for, and this is an addition to them
        told = error.headline if isinstance(error, SfumatoError) else type(error).__name__
        warnings.warn(NoExpectedErrorsWarning(f"the report shows no expected errors: {told}"), stacklevel=5)
        return None


def number_problems(folder: Path, document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Compute the main numbers of the released rows again, and compare; the reruns are left to whoever doubts them."""
    from sfumato.uncertainty.main_numbers import main_questions
    from sfumato.uncertainty.values import Values

    rows = pq.ParquetFile(folder / document.tables[0].parquet).read()
    values = Values(rows, schema)
    here = {name: value for each in main_questions(schema, rows) for name, value in each.compute(values).items()}
    for each in document.expected_errors.numbers if document.expected_errors else ():
        if not math.isclose(here.get(each.name, math.nan), each.value, rel_tol=AGREES, abs_tol=AGREES):
            yield f"{each.name} is {here.get(each.name, math.nan):.6g} in the released rows, and not {each.value:.6g}"
        if not (each.error >= 0 and each.low <= each.value <= each.high):
            yield f"the interval of {each.name} does not hold the released number"
