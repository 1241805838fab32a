"""Infer type, bounds, years and codes of a column from noisy histograms (post-processing).

Bounds are read off the noisy counts: from the first to the last place where some run of neighbouring cells holds more
rows than noise alone would give. Cells are wide where noise is: 1, 2, 5, 10, ... hold what lies in a long tail
together, and only where the rows lie within one decade, and are many, is that decade cut into equal cells.

The type is inferred from a histogram of written forms and magnitudes. Every row lies in one cell: missing, date, true
or false, other text, or a number of one of five written forms in one of the decades of numbers. All of it is a function
of the row's own value, and the cells are the same for every table.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from sfumato.arrays import Counts
from sfumato.schema.column import Column
from sfumato.schema.column_checks import is_text

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


MANTISSAS = (1, 2, 5)
ROUND_NUMBERS: tuple[float, ...] = tuple(
    sorted({0.0} | {sign * m * 10.0**k for k in range(-4, 12) for m in MANTISSAS for sign in (-1, 1)})
)
TAIL_EDGES = 6
"""Round numbers beyond the span on each side: what the first count could not see."""
EQUAL_CELLS = (90, 45, 18, 9)
"""Into how many equal cells a decade may be cut."""
UNITS = 10
"""Whole numbers below it have a cell each, where rows are many."""
ROWS_PER_CELL = 10
"""How many standard deviations of the noise an equal cell must hold on average."""
LONGEST_RUN = 16
FALSE_ALARM = 0.02
"""Probability that empty cells alone widen the bounds of one column."""
HIDDEN_SHARE = 1 / 200
"""Share of the rows that noise may hide at one end before the bounds go one round number further out."""
FIRST_YEAR, LAST_YEAR = 1900, 2100


def histogram_edges(span: tuple[float, float], whole: bool, most_cells: float) -> tuple[float, ...]:
    """Return the edges of the second count of a column whose numbers lie between two decades.

    ``most_cells`` is how many cells the rows can fill so that each rises above the noise.

    >>> histogram_edges((100.0, 1000.0), whole=True, most_cells=9)[6:12]
    (100.0, 200.0, 300.0, 400.0, 500.0, 600.0)
    """
    low, high = span
    inside = [edge for edge in ROUND_NUMBERS if low <= edge <= high]
    below, above = [e for e in ROUND_NUMBERS if e < low], [e for e in ROUND_NUMBERS if e > high]
    edges = below[-TAIL_EDGES:] + (_equal(low, high, most_cells) or inside) + above[:TAIL_EDGES]
    if not whole:
        return tuple(edges)
    near_zero = range(UNITS + 1) if most_cells >= UNITS else (0, 1, 2, 5, UNITS)
    units = near_zero if low <= UNITS and high > 0 else ()
    return tuple(sorted({edge for edge in edges if edge == int(edge)} | {float(unit) for unit in units}))


def _equal(low: float, high: float, most_cells: float) -> list[float]:
    """Return the edges of equal cells where the span is one decade, of positive or of negative numbers."""
    cells = next((each for each in EQUAL_CELLS if each <= most_cells), None)
    if cells is None or low * high <= 0 or not math.isclose(max(low / high, high / low), 10):
        return []
    return [_tidy(low + (high - low) * i / cells) for i in range(cells + 1)]


def _tidy(number: float) -> float:
    """Return a number without the last digits of machine arithmetic: 0.30000000000000004 is 0.3."""
    return float(f"{number:.12g}")


def year_edges() -> tuple[float, ...]:
    """Return the edges of the years of dates."""
    return tuple(float(year) for year in range(FIRST_YEAR, LAST_YEAR + 2))


def occupied_range(noisy: Counts, sigma: float) -> tuple[int, int] | None:
    """Return the first cell and the one past the last between which rows lie, from noisy counts alone.

    A run of w neighbouring cells holds rows where its sum is above z sigma sqrt(w), z so large that all runs of empty
    cells together stay below it with probability 1 - FALSE_ALARM. The upper end is that of the shortest such run among
    those that begin last; the lower end likewise.
    """
    sums = np.concatenate([[0], np.cumsum(noisy)])
    lengths = [1 << i for i in range(LONGEST_RUN.bit_length()) if 1 << i <= len(noisy)]
    limit = detection_threshold(len(noisy) * len(lengths), sigma)
    runs = [(int(i), w) for w in lengths for i in np.flatnonzero(sums[w:] - sums[:-w] >= limit * math.sqrt(w))]
    if not runs:
        return None
    start, length = max(runs, key=lambda run: (run[0], -run[1]))
    end, shortest = min((i + w, w) for i, w in runs)
    return min(end - shortest, start), max(start + length, end)


def detection_threshold(tests: int, sigma: float) -> float:
    """Return the noisy count that so many empty cells together reach with probability FALSE_ALARM at most."""
    return float(-special.ndtri(FALSE_ALARM / tests)) * sigma


def widen_one_step(low: float, high: float, whole: bool) -> tuple[float, float]:
    """Return bounds one round number further out: for tails that noise hides, at no cost, as no row is asked again.

    Zero stays, which numbers seldom cross, and so do ends among the first whole numbers, which have cells of their own.

    >>> (
    ...     widen_one_step(5000.0, 50000.0, whole=True),
    ...     widen_one_step(0.0, 0.7, whole=False),
    ...     widen_one_step(0.0, 1.0, whole=True),
    ... )
    ((2000.0, 100000.0), (0.0, 1.0), (0.0, 1.0))
    """
    near = whole and abs(high) <= UNITS
    below = max((each for each in ROUND_NUMBERS if each < low), default=low)
    above = min((each for each in ROUND_NUMBERS if each > high), default=high)
    return low if low == 0 or (near and abs(low) <= UNITS) else below, high if high == 0 or near else above


def hidden_tail_share(cells: int, sigma: float, rows: int) -> float:
    """Return the share of the rows that noise can hide at one end of a second count, from noisy counts alone."""
    return detection_threshold(cells * LONGEST_RUN.bit_length(), sigma) / max(rows, 1)


def frequent_integers(noisy: Counts, edges: Sequence[float], sigma: float) -> tuple[int, ...]:
    """Return the whole numbers of unit cells that hold rows for certain, each by itself and with a margin of two."""
    limit = 2 * detection_threshold(len(noisy), sigma)
    cells = zip(edges[:-1], edges[1:], noisy, strict=True)
    return tuple(int(low) for low, high, rows in cells if high - low == 1 and rows >= limit)


MOST_CODES = 12
"""Whole numbers with gaps are codes where at most so many are common."""
MOST_YEARLY_EDGES = 40
UNDECODED = "\ufffd"
"""What stands for bytes that are no letters: no value, however many rows hold it."""


@dataclass(frozen=True)
class NoisyHistogram:
    """Noisy counts of a column between edges."""

    noisy: Counts
    edges: Sequence[float]
    sigma: float

    def span(self) -> tuple[int, int] | None:
        """Return the cells between which rows lie."""
        return occupied_range(self.noisy, self.sigma)


def number_column(name: str, form: InferredForm, cells: NoisyHistogram, bought: str) -> Column:
    """Return a column of numbers, or of codes, with bought bounds; values beyond are clamped."""
    facts: dict[str, Any] = {"missing": True, "bought": bought}
    span = cells.span()
    low, high = (cells.edges[span[0]], cells.edges[span[1]]) if span else form.span
    if form.whole and span and (codes := _codes(cells, span)):
        return Column(name, "category", values=codes, outside="missing", **facts)
    if span and hidden_tail_share(len(cells.noisy), cells.sigma, form.rows) > HIDDEN_SHARE:
        low, high = widen_one_step(low, high, form.whole)
    facts |= {"outside": "clamp", "decimals": form.decimals, "trailing_zeros": form.trailing_zeros}
    if not form.whole:
        return Column(name, "number", bounds=(low, high), **facts)
    unit = span is not None and high == cells.edges[span[1]] == cells.edges[span[1] - 1] + 1
    first, last = int(low), int(high) - int(unit)
    return Column(name, "integer", bounds=(first, max(last, first + 1)), **facts)


def _codes(cells: NoisyHistogram, span: tuple[int, int]) -> tuple[int, ...]:
    """Return the values of a column of codes: whole numbers of which few are common, with gaps between them."""
    inside = cells.edges[span[0] : span[1] + 1]
    if any(high - low != 1 for low, high in itertools.pairwise(inside)):
        return ()
    common = frequent_integers(cells.noisy, cells.edges, cells.sigma)
    has_gaps = len(common) < len(inside) - 1
    return common if 1 < len(common) <= MOST_CODES and has_gaps and _covers(common, inside) else ()


def _covers(common: Sequence[int], inside: Sequence[float]) -> bool:
    """Whether the common values reach both ends: otherwise rare ones lie beyond them, and bounds say more."""
    return common[0] == inside[0] and common[-1] == inside[-2]


def date_column(name: str, cells: NoisyHistogram, bought: str) -> Column | None:
    """Return a column of dates with bought bounds, whole years; none where no year rises above the noise."""
    span = cells.span()
    if span is None:
        return None
    first, last = int(cells.edges[span[0]]), int(cells.edges[span[1]]) - 1
    bounds = dt.date(first, 1, 1), dt.date(last, 12, 31)
    years = tuple(dt.date(year, 1, 1) for year in range(first, last + 1))
    edges = (*years, bounds[1]) if len(years) <= MOST_YEARLY_EDGES else None
    return Column(name, "date", bounds=bounds, edges=edges, missing=True, outside="clamp", bought=bought)


def text_column(name: str, values: Sequence[str], bought: str) -> Column:
    """Return a category of the texts that were found; where none was, an identifier, which is never released."""
    values = [value for value in values if is_text(value) and UNDECODED not in value]
    if not values:
        return Column(name, "category", role="identifier", missing=True, bought=bought)
    return Column(name, "category", values=tuple(values), missing=True, outside="missing", bought=bought)


def boolean_column(name: str, bought: str | None) -> Column:
    """Return a column of true and false."""
    return Column(name, "boolean", missing=True, outside="missing", bought=bought)
