"""The verdict in sentences: uses that a release serves and uses that it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sfumato.bundle.document import ReleaseDocument
from sfumato.core.forecast import NO_RELATION, Forecast
from sfumato.evaluate.verdict import MEANS, PAIRS, SINGLE_COLUMNS, STRONG_RELATIONS, UNKNOWN_ROWS, USES, WEAK_RELATIONS
from sfumato.formatting import counted, list_names, percent, short_number

MOST_DROWNED = 8

UNKNOWN = (
    "No forecast is known of this method. The custodian can compare the release with the confidential table, and buy "
    "quality numbers that may be told in public."
)

BASIS = (
    "Expected errors, computed from public facts and from what the release tells itself: the method, its noise, the "
    "columns and about {rows}. Nothing was compared with the confidential table for this."
)


class NumberLine(NamedTuple):
    """One number in large type, and the words behind it."""

    number: str
    words: str


class QualityText(NamedTuple):
    """A verdict in a few words, the errors by what is read off the release, and what they rest on."""

    verdict: str
    lines: tuple[NumberLine, ...]
    basis: str


def quality_lines(forecast: Forecast | None) -> QualityText | None:
    """Return what to expect of a release; None where no forecast is known of its method."""
    if forecast is None:
        return None
    if forecast.rows is None:
        return _by_rows(forecast.verdict)
    return QualityText(_verdict(forecast), tuple(_lines(forecast)), BASIS.format(rows=counted(forecast.rows, "row")))


def _by_rows(verdict: str) -> QualityText:
    """Return what there is to say where nobody knows the number of rows: from how many on it serves what.

    >>> _by_rows("It depends on the number of rows, which nobody said: good for means from about 50 rows on.").basis
    'Good for means from about 50 rows on.'
    """
    told = verdict.partition(UNKNOWN_ROWS)[2] or verdict
    return QualityText("It depends on the number of rows.", (), f"{told[0].upper()}{told[1:].removesuffix('.')}.")


def _verdict(forecast: Forecast) -> str:
    """Return in a few words how much of what it might be used for it serves: the uses stand beside it."""
    if forecast.overwhelmed:
        return "The noise is comparable to the rows."
    judged = [served for use in USES if (served := use.served(forecast)) is not None]
    if all(judged):
        return "Expected to be good."
    return "Expected to be good in part." if any(judged) else "Good for a rough look at most."


def _lines(forecast: Forecast) -> Iterator[NumberLine]:
    if forecast.share_error is not None:
        yield NumberLine(
            f"{short_number(100 * forecast.share_error)} percentage points", "expected error of a share of rows"
        )
    if forecast.mean_error_sd is not None:
        yield NumberLine(
            f"{short_number(forecast.mean_error_sd)} standard deviations", f"expected error of a mean{_range(forecast)}"
        )
    if forecast.tvd_1_q16 is not None:
        yield NumberLine(f"{percent(forecast.tvd_1_q16)} of the rows", "of a single column stand in a wrong cell")
    if forecast.tvd_2_q16 is not None:
        yield NumberLine(
            f"{percent(forecast.tvd_2_q16)} of the rows", "of a table of two columns stand in a wrong cell"
        )
    if forecast.smallest_relation is not None:
        yield _relation(forecast.smallest_relation)
    if forecast.drowned:
        yield _drowned(forecast.drowned, len(forecast.columns))


def _range(forecast: Forecast) -> str:
    share = forecast.mean_error_range
    return "" if share is None else f" ({percent(share)} of the public range)"


def _relation(smallest: float) -> NumberLine:
    if smallest >= NO_RELATION:
        return NumberLine("No relation", "between two columns can be seen")
    return NumberLine(short_number(smallest), "weakest correlation (or Cramer's V) that can be seen")


def _drowned(names: tuple[str, ...], columns: int) -> NumberLine:
    verb = "tells" if len(names) == 1 else "tell"
    return NumberLine(
        f"{len(names)} of {counted(columns, 'column')}", f"{verb} nothing: {list_names(names, MOST_DROWNED)}"
    )


WORDS = {
    SINGLE_COLUMNS: "Single columns: their shares, histograms and quantiles",
    MEANS: "Means of numbers and of dates",
    STRONG_RELATIONS: "Strong relations between two columns (a correlation of 0.5 or more)",
    WEAK_RELATIONS: "Weak relations between two columns (a correlation of 0.2 to 0.5)",
    PAIRS: "Tables of two columns, cell by cell",
}

RELATIONS = "Relations between two columns (a correlation of 0.2 or more)"

OUTSIDE = "Anybody outside: the seed undoes the noise"

ANONYMOUS = "Being called anonymous or differentially private: nothing is proved"

PEOPLE = "Conclusions about single people"

EXACT = "Results that must be exact: every number here has an error"

SURE = "Tests and standard errors as if the rows had been collected: they would look surer than they are"

OWN_NUMBERS = "The released numbers themselves, each within its noise"

UNKNOWN_USE = "What else it is good for, nobody has computed: no forecast is known of this method."

NO_ROWS = "How far it serves depends on the number of rows, which neither the schema nor the release tells."

ANY_GROUP = "The size of any group: noise alone may have made it"

MOST_GROUP = 0.5

"""A group that would have to be larger than this share is any group."""


class Uses(NamedTuple):
    """What it serves, what it does not, and what is not known."""

    good: tuple[str, ...]
    bad: tuple[str, ...]
    note: str


def uses_text(document: ReleaseDocument, forecast: Forecast | None) -> Uses:
    """Say what a release may be used for, and what not."""
    good, bad = _forecast_uses(forecast)
    if document.method.makes == "values":
        good = (OWN_NUMBERS, *good)
    standing = (OUTSIDE,) * bool(document.randomness.stamp) + (ANONYMOUS,) * (not document.guarantee.formal)
    rows = (SURE,) * (document.method.makes == "rows")
    note = UNKNOWN_USE if forecast is None else NO_ROWS if forecast.rows is None else ""
    return Uses(good, (*standing, *bad, *_small_groups(forecast), PEOPLE, EXACT, *rows), note)


def _forecast_uses(forecast: Forecast | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a forecast says that a release serves, and what it does not."""
    if forecast is None or forecast.rows is None:
        return (), ()
    answers = {use.words: use.served(forecast) for use in USES}
    if answers[STRONG_RELATIONS] and answers[WEAK_RELATIONS]:
        words = {**WORDS, STRONG_RELATIONS: RELATIONS}
        answers[WEAK_RELATIONS] = None
    else:
        words = WORDS
    good, bad = (tuple(words[use] for use, served in answers.items() if served is wanted) for wanted in (True, False))
    return good, bad


def _small_groups(forecast: Forecast | None) -> tuple[str, ...]:
    """Say below what size a group may be noise alone: twice the error of a share."""
    if forecast is None or forecast.rows is None or forecast.share_error is None:
        return ()
    share = 2 * forecast.share_error
    if share >= MOST_GROUP:
        return (ANY_GROUP,)
    rows = counted(max(round(share * forecast.rows), 1), "row")
    return (f"Groups below about {percent(share)} of the rows (some {rows}): noise alone may have made them",)
