"""How good a release is, by its forecast: a verdict, and a few numbers that anybody can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sfumato.forecast.verdict import UNSAID, USES
from sfumato.release.forecast import NO_RELATION, Forecast
from sfumato.report.words.numbers import counted, named, percent, short

MOST_DROWNED = 8
UNKNOWN = (
    "No forecast is known of this method. The custodian can compare the release with the confidential table, and buy "
    "quality numbers that may be told in public."
)
BASIS = (
    "Expected errors, computed from public facts and from what the release tells itself: the method, its noise, the "
    "columns and about {rows}. Nothing was compared with the confidential table for this."
)


class Line(NamedTuple):
    """One number in large type, and the words behind it."""

    number: str
    words: str


class Good(NamedTuple):
    """A verdict in a few words, the errors by what is read off the release, and what they rest on."""

    verdict: str
    lines: tuple[Line, ...]
    basis: str


def how_good(forecast: Forecast | None) -> Good | None:
    """Return what to expect of a release; None where no forecast is known of its method."""
    if forecast is None:
        return None
    if forecast.rows is None:
        return _by_rows(forecast.verdict)
    return Good(_verdict(forecast), tuple(_lines(forecast)), BASIS.format(rows=counted(forecast.rows, "row")))


def _by_rows(verdict: str) -> Good:
    """Return what there is to say where nobody knows the number of rows: from how many on it serves what.

    >>> _by_rows("It depends on the number of rows, which nobody said: good for means from about 50 rows on.").basis
    'Good for means from about 50 rows on.'
    """
    told = verdict.partition(UNSAID)[2] or verdict
    return Good("It depends on the number of rows.", (), f"{told[0].upper()}{told[1:].removesuffix('.')}.")


def _verdict(forecast: Forecast) -> str:
    """Return in a few words how much of what it might be used for it serves: the uses stand beside it."""
    if forecast.overwhelmed:
        return "The noise is comparable to the rows."
    judged = [served for use in USES if (served := use.served(forecast)) is not None]
    if all(judged):
        return "Expected to be good."
    return "Expected to be good in part." if any(judged) else "Good for a rough look at most."


def _lines(forecast: Forecast) -> Iterator[Line]:
    if forecast.share_error is not None:
        yield Line(f"{short(100 * forecast.share_error)} percentage points", "expected error of a share of rows")
    if forecast.mean_error is not None:
        yield Line(f"{short(forecast.mean_error)} standard deviations", f"expected error of a mean{_range(forecast)}")
    if forecast.tvd_1 is not None:
        yield Line(f"{percent(forecast.tvd_1)} of the rows", "of a single column stand in a wrong cell")
    if forecast.tvd_2 is not None:
        yield Line(f"{percent(forecast.tvd_2)} of the rows", "of a table of two columns stand in a wrong cell")
    if forecast.smallest_relation is not None:
        yield _relation(forecast.smallest_relation)
    if forecast.drowned:
        yield _drowned(forecast.drowned, len(forecast.columns))


def _range(forecast: Forecast) -> str:
    share = forecast.mean_error_range
    return "" if share is None else f" ({percent(share)} of the public range)"


def _relation(smallest: float) -> Line:
    if smallest >= NO_RELATION:
        return Line("No relation", "between two columns can be seen")
    return Line(short(smallest), "weakest correlation (or Cramer's V) that can be seen")


def _drowned(names: tuple[str, ...], columns: int) -> Line:
    verb = "tells" if len(names) == 1 else "tell"
    return Line(f"{len(names)} of {counted(columns, 'column')}", f"{verb} nothing: {named(names, MOST_DROWNED)}")
