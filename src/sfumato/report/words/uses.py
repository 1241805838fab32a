"""What a release may be used for and what not: by its forecast, and by what no release of its kind can do."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.forecast.verdict import MEANS, SINGLE, STRONG, TABLES, USES, WEAK
from sfumato.release.forecast import Forecast
from sfumato.report.document import ReleaseDocument
from sfumato.report.words.numbers import counted, percent

WORDS = {
    SINGLE: "Single columns: their shares, histograms and quantiles",
    MEANS: "Means of numbers and of dates",
    STRONG: "Strong relations between two columns (a correlation of 0.5 or more)",
    WEAK: "Weak relations between two columns (a correlation of 0.2 to 0.5)",
    TABLES: "Tables of two columns, cell by cell",
}
RELATIONS = "Relations between two columns (a correlation of 0.2 or more)"
OUTSIDE = "Anybody outside: the seed undoes the noise"
ANONYMOUS = "Being called anonymous or differentially private: nothing is proved"
PEOPLE = "Conclusions about single people"
EXACT = "Results that must be exact: every number here has an error"
SURE = "Tests and standard errors as if the rows had been collected: they would look surer than they are"
OWN_NUMBERS = "The released numbers themselves, each within its noise"
UNKNOWN = "What else it is good for, nobody has computed: no forecast is known of this method."
NO_ROWS = "How far it serves depends on the number of rows, which neither the schema nor the release tells."
ANY_GROUP = "The size of any group: noise alone may have made it"
MOST_GROUP = 0.5
"""A group that would have to be larger than this share is any group."""


class Uses(NamedTuple):
    """What it serves, what it does not, and what is not known."""

    good: tuple[str, ...]
    bad: tuple[str, ...]
    note: str


def uses(document: ReleaseDocument, forecast: Forecast | None) -> Uses:
    """Say what a release may be used for, and what not."""
    good, bad = _foretold(forecast)
    if document.method.makes == "values":
        good = (OWN_NUMBERS, *good)
    standing = (OUTSIDE,) * bool(document.randomness.stamp) + (ANONYMOUS,) * (not document.guarantee.formal)
    rows = (SURE,) * (document.method.makes == "rows")
    note = UNKNOWN if forecast is None else NO_ROWS if forecast.rows is None else ""
    return Uses(good, (*standing, *bad, *_small_groups(forecast), PEOPLE, EXACT, *rows), note)


def _foretold(forecast: Forecast | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a forecast says that a release serves, and what it does not."""
    if forecast is None or forecast.rows is None:
        return (), ()
    answers = {use.words: use.served(forecast) for use in USES}
    if answers[STRONG] and answers[WEAK]:
        words = {**WORDS, STRONG: RELATIONS}
        answers[WEAK] = None
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
