"""Histogram of written forms and magnitudes from which a column's type is inferred.

Every row lies in one cell: missing, date, true or false, other text, or a number of one of five written forms in one of
the decades of numbers. All of it is a function of the row's own value, and the cells are the same for every table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts
from sfumato.schema.column import Column

MISSING, DATE, BOOLEAN, TEXT = range(4)
PLAIN_FORMS = ("missing", "date", "true or false", "text")
NUMBERS = ("whole", "whole with .0", "1 decimal", "2 decimals", "more decimals")
"""Forms of numbers; a form's code is its place here plus that of the plain forms."""
LARGEST_DECADE, SMALLEST_DECADE = 10, -3
MAGNITUDE_EDGES: tuple[float, ...] = tuple(
    [-(10.0**k) for k in range(LARGEST_DECADE, SMALLEST_DECADE - 1, -1)]
    + [0.0]
    + [10.0**k for k in range(SMALLEST_DECADE, LARGEST_DECADE + 1)]
)
"""Edges of the sizes of numbers; what lies beyond the outermost counts with the outermost."""
CERTAIN_SIGMAS = 3.5
"""Standard deviations of the noise from which on a count is taken for one of rows: of 150 empty cells, one in 30."""
FIRST_SEEN_SIGMAS = 4.5
"""The same for a column as a whole, below which nothing is said about it: noise alone is there in one of 2,000."""
NEIGHBOUR = 2.5
"""The same for a decade beside one that is certain."""
MIXED_SHARE = 0.02
"""Texts among numbers above which a column is read as texts: codes with leading zeros, sizes such as S and 42."""
WHOLE_TEXT = r"^[+-]?(0|[1-9][0-9]{0,14})$"
POINT_ZERO = r"^[+-]?(0|[1-9][0-9]{0,14})\.0+$"
ONE_DECIMAL, TWO_DECIMALS = r"^[+-]?[0-9]{0,15}\.[0-9]$", r"^[+-]?[0-9]{0,15}\.[0-9]{2}$"
CODE_TEXT = r"^[+-]?(0[0-9]+|[0-9]{16,})$"
"""Digits that are no number: leading zeros are lost in one, and so are digits beyond the fifteenth."""
NUMBER_TEXT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
DATE_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}($|[T ])"
Reading = Literal["text", "number", "date", "flag", "nothing"]
FORM_CELLS = len(PLAIN_FORMS) + len(NUMBERS) * (len(MAGNITUDE_EDGES) - 1)


def form_expression(raw: Any) -> Any:
    """Return the form of each value of a raw column as an engine expression."""
    import ibis

    first = len(PLAIN_FORMS)
    if raw.type().is_string():
        text = raw.strip()
        rules = (
            (text.isnull() | (text == ""), MISSING),
            (text.re_search(WHOLE_TEXT), first),
            (text.re_search(POINT_ZERO), first + 1),
            (text.re_search(ONE_DECIMAL), first + 2),
            (text.re_search(TWO_DECIMALS), first + 3),
            (text.re_search(CODE_TEXT), TEXT),
            (text.re_search(NUMBER_TEXT), first + 4),
            (text.re_search(DATE_TEXT) & text.try_cast("date").notnull(), DATE),
            (text.lower().isin(["true", "false"]), BOOLEAN),
        )
        return ibis.cases(*rules, else_=TEXT)
    if raw.type().is_integer():
        return ibis.cases((raw.isnull(), MISSING), else_=first)
    value = number(raw)
    near = value.clip(-1e15, 1e15)
    digits = [(near == near.round(places), first + place) for places, place in ((0, 0), (1, 2), (2, 3))]
    return ibis.cases((value.isnull(), MISSING), *digits, else_=first + 4)


def number(raw: Any) -> Any:
    """Return the number that a raw value is, null where it is none."""
    if raw.type().is_string():
        text = raw.strip()
        is_number = text.re_search(NUMBER_TEXT) & ~text.re_search(CODE_TEXT)
        raw = is_number.ifelse(text, None).try_cast("float64")
    value = raw.cast("float64")
    return (value.isnan() | value.isinf()).ifelse(None, value)


def form_column(name: str) -> Column:
    """Return the column of form codes as the counting sees it."""
    return Column(name, "integer", bounds=(0, len(PLAIN_FORMS) + len(NUMBERS) - 1))


def decade_column(name: str) -> Column:
    """Return the column of numbers in decades as the counting sees it."""
    return Column(
        name,
        "number",
        bounds=(MAGNITUDE_EDGES[0], MAGNITUDE_EDGES[-1]),
        edges=MAGNITUDE_EDGES,
        missing=True,
        outside="clamp",
    )


def form_counts(joint: Counts) -> Counts:
    """Return the cells of the first count from the table of forms by decades: a row lies in one of them at most."""
    plain = joint[: len(PLAIN_FORMS)].sum(axis=1)
    return np.concatenate([plain, joint[len(PLAIN_FORMS) :, :-1].ravel()])


@dataclass(frozen=True)
class InferredForm:
    """The form of a column that the noisy first count shows."""

    reading: Reading
    whole: bool = False
    decimals: int | None = None
    trailing_zeros: bool = False
    span: tuple[float, float] = (0.0, 1.0)
    """The decades in which the numbers lie."""
    rows: int = 0
    """Noisy number of rows with a number."""
    missing_rows: int = 0
    """Noisy number of rows without a value."""


def infer_form(noisy: Counts, sigma: float) -> InferredForm:
    """Return how a column is read, from noisy counts alone."""
    plain, numbers = noisy[: len(PLAIN_FORMS)], noisy[len(PLAIN_FORMS) :].reshape(len(NUMBERS), -1)
    present = _seen(numbers, sigma)
    in_numbers = int(numbers[present].sum())
    rows = {"number": in_numbers, "date": int(plain[DATE]), "flag": int(plain[BOOLEAN]), "text": int(plain[TEXT])}
    limit, missing = CERTAIN_SIGMAS * sigma, int(plain[MISSING])
    if rows["text"] >= limit and rows["text"] >= MIXED_SHARE * sum(max(n, 0) for n in rows.values()):
        return InferredForm("text", missing_rows=missing)
    best: Any = max(rows, key=lambda reading: rows[reading])
    if rows[best] < FIRST_SEEN_SIGMAS * sigma:
        return InferredForm("nothing", missing_rows=missing)
    if best != "number":
        return InferredForm(best, missing_rows=missing)
    decades = np.flatnonzero(present.any(axis=0))
    totals = numbers[:, decades].sum(axis=1)
    written = present.any(axis=1) | (totals >= limit * np.sqrt(len(decades)))
    return _numbers(np.flatnonzero(written), decades, in_numbers, missing)


def _seen(numbers: Counts, sigma: float) -> NDArray[np.bool_]:
    """Return the cells of numbers that hold rows: certain ones, and likely ones beside them."""
    certain = numbers >= CERTAIN_SIGMAS * sigma
    beside = np.zeros_like(certain)
    beside[:, 1:] |= certain[:, :-1]
    beside[:, :-1] |= certain[:, 1:]
    return certain | (beside & (numbers >= NEIGHBOUR * sigma))


def _numbers(forms: NDArray[Any], decades: NDArray[Any], rows: int, missing: int) -> InferredForm:
    whole, only_zeros = bool(forms[-1] <= 1), bool(forms[0] == 1 == forms[-1])
    digits = {1: 1 if only_zeros else None, 2: 1, 3: 2}.get(int(forms[-1]))
    low, high = MAGNITUDE_EDGES[int(decades[0])], MAGNITUDE_EDGES[int(decades[-1]) + 1]
    return InferredForm("number", whole, digits, only_zeros, _from_zero(low, high), rows, missing)


def _from_zero(low: float, high: float) -> tuple[float, float]:
    """Return a span that begins, or ends, at zero where it holds more than one decade: equal cells lose nothing."""
    if low > 0 and high / low > 10:
        return 0.0, high
    return (low, 0.0) if high < 0 and low / high > 10 else (low, high)
