"""The verdict in sentences: uses that a release serves and uses that it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sfumato.bundle.document import ReleaseDocument
from sfumato.core.forecast import NO_RELATION, Forecast
from sfumato.evaluate.verdict import STRONG_RELATIONS, UNKNOWN_ROWS, USES, WEAK_RELATIONS
from sfumato.formatting import counted, list_names, percent, short_number
from sfumato.report.texts import Texts

MOST_DROWNED = 8
MOST_GROUP = 0.5
"""A group that would have to be larger than this share is any group."""
say = Texts("release")


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
    basis = say("verdict.basis", rows=counted(forecast.rows, "row"))
    return QualityText(_verdict(forecast), tuple(_lines(forecast)), basis)


def _by_rows(verdict: str) -> QualityText:
    """Return what there is to say where nobody knows the number of rows: from how many on it serves what.

    >>> _by_rows("It depends on the number of rows, which nobody said: good for means from about 50 rows on.").basis
    'Good for means from about 50 rows on.'
    """
    needed = verdict.partition(UNKNOWN_ROWS)[2] or verdict
    return QualityText(say("verdict.needs_rows"), (), f"{needed[0].upper()}{needed[1:].removesuffix('.')}.")


def _verdict(forecast: Forecast) -> str:
    """Return in a few words how much of what it might be used for it serves: the uses stand beside it."""
    if forecast.overwhelmed:
        return say("verdict.overwhelmed")
    judged = [served for use in USES if (served := use.served(forecast)) is not None]
    return say("verdict.good" if all(judged) else "verdict.part" if any(judged) else "verdict.rough")


def _lines(forecast: Forecast) -> Iterator[NumberLine]:
    if forecast.share_error is not None:
        yield NumberLine(f"{short_number(100 * forecast.share_error)} percentage points", say("verdict.share"))
    if forecast.mean_error_sd is not None:
        mean = say("verdict.mean", range=_range(forecast))
        yield NumberLine(f"{short_number(forecast.mean_error_sd)} standard deviations", mean)
    if forecast.tvd_1_q16 is not None:
        yield NumberLine(f"{percent(forecast.tvd_1_q16)} of the rows", say("verdict.single"))
    if forecast.tvd_2_q16 is not None:
        yield NumberLine(f"{percent(forecast.tvd_2_q16)} of the rows", say("verdict.pairs"))
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
    return NumberLine(short_number(smallest), say("verdict.relation"))


def _drowned(names: tuple[str, ...], columns: int) -> NumberLine:
    verb = "tells" if len(names) == 1 else "tell"
    return NumberLine(
        f"{len(names)} of {counted(columns, 'column')}", f"{verb} nothing: {list_names(names, MOST_DROWNED)}"
    )


class Uses(NamedTuple):
    """What it serves, what it does not, and what is not known."""

    good: tuple[str, ...]
    bad: tuple[str, ...]
    note: str


def uses_text(document: ReleaseDocument, forecast: Forecast | None) -> Uses:
    """Say what a release may be used for, and what not."""
    good, bad = _forecast_uses(forecast)
    if document.method.makes == "values":
        good = (say("uses.own_numbers"), *good)
    standing = [say("uses.outside")] * bool(document.randomness.stamp)
    standing += [say("uses.anonymous")] * (not document.guarantee.formal)
    always = [say("uses.people"), say("uses.exact")] + [say("uses.certain")] * (document.method.makes == "rows")
    note = say("uses.unknown") if forecast is None else say("uses.no_rows") if forecast.rows is None else ""
    return Uses(good, (*standing, *bad, *_small_groups(forecast), *always), note)


def _forecast_uses(forecast: Forecast | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a forecast says that a release serves, and what it does not."""
    if forecast is None or forecast.rows is None:
        return (), ()
    answers = {use.words: use.served(forecast) for use in USES}
    words = dict(say.table("uses")["words"])
    if answers[STRONG_RELATIONS] and answers[WEAK_RELATIONS]:
        words[STRONG_RELATIONS] = say("uses.relations")
        answers[WEAK_RELATIONS] = None
    good, bad = (tuple(words[use] for use, served in answers.items() if served is wanted) for wanted in (True, False))
    return good, bad


def _small_groups(forecast: Forecast | None) -> tuple[str, ...]:
    """Say below what size a group may be noise alone: twice the error of a share."""
    if forecast is None or forecast.rows is None or forecast.share_error is None:
        return ()
    share = 2 * forecast.share_error
    if share >= MOST_GROUP:
        return (say("uses.any_group"),)
    rows = counted(max(round(share * forecast.rows), 1), "row")
    return (say("uses.small_groups", share=percent(share), rows=rows),)
