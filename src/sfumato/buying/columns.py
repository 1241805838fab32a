"""From noisy counts to the facts of a column: post-processing, which costs nothing more."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.arrays import Counts
from sfumato.buying import bounds
from sfumato.buying.bounds import common_values, further_out, hidden_share, occupied
from sfumato.buying.forms import Form
from sfumato.schema.column import Column
from sfumato.schema.column_checks import is_text

MOST_CODES = 12
"""Whole numbers with gaps are codes where at most so many are common."""
MOST_YEARLY_EDGES = 40
UNDECODED = "\ufffd"
"""What stands for bytes that are no letters: no value, however many rows hold it."""


@dataclass(frozen=True)
class Cells:
    """Noisy counts of a column between edges."""

    noisy: Counts
    edges: Sequence[float]
    sigma: float

    def span(self) -> tuple[int, int] | None:
        """Return the cells between which rows lie."""
        return occupied(self.noisy, self.sigma)


def number_column(name: str, form: Form, cells: Cells, bought: str) -> Column:
    """Return a column of numbers, or of codes, with bought bounds; values beyond are clamped."""
    said: dict[str, Any] = {"missing": True, "bought": bought}
    found = cells.span()
    low, high = (cells.edges[found[0]], cells.edges[found[1]]) if found else form.span
    if form.whole and found and (codes := _codes(cells, found)):
        return Column(name, "category", values=codes, outside="missing", **said)
    if found and hidden_share(len(cells.noisy), cells.sigma, form.rows) > bounds.HIDDEN_SHARE:
        low, high = further_out(low, high, form.whole)
    said |= {"outside": "clamp", "decimals": form.decimals, "trailing_zeros": form.trailing_zeros}
    if not form.whole:
        return Column(name, "number", bounds=(low, high), **said)
    unit = found is not None and high == cells.edges[found[1]] == cells.edges[found[1] - 1] + 1
    first, last = int(low), int(high) - int(unit)
    return Column(name, "integer", bounds=(first, max(last, first + 1)), **said)


def _codes(cells: Cells, found: tuple[int, int]) -> tuple[int, ...]:
    """Return the values of a column of codes: whole numbers of which few are common, with gaps between them."""
    inside = cells.edges[found[0] : found[1] + 1]
    if any(high - low != 1 for low, high in itertools.pairwise(inside)):
        return ()
    common = common_values(cells.noisy, cells.edges, cells.sigma)
    has_gaps = len(common) < len(inside) - 1
    return common if 1 < len(common) <= MOST_CODES and has_gaps and _covers(common, inside) else ()


def _covers(common: Sequence[int], inside: Sequence[float]) -> bool:
    """Whether the common values reach both ends: otherwise rare ones lie beyond them, and bounds say more."""
    return common[0] == inside[0] and common[-1] == inside[-2]


def date_column(name: str, cells: Cells, bought: str) -> Column | None:
    """Return a column of dates with bought bounds, whole years; none where no year rises above the noise."""
    found = cells.span()
    if found is None:
        return None
    first, last = int(cells.edges[found[0]]), int(cells.edges[found[1]]) - 1
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


def flag_column(name: str, bought: str | None) -> Column:
    """Return a column of true and false."""
    return Column(name, "boolean", missing=True, outside="missing", bought=bought)
