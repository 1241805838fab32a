"""The release in sentences: what it is, how good it is expected to be, and what it may be used for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sfumato.bundle.document import ReleaseDocument
from sfumato.core.forecast import NO_RELATION, Forecast
from sfumato.evaluate.verdict import STRONG_RELATIONS, UNKNOWN_ROWS, USES, WEAK_RELATIONS
from sfumato.formatting import capitalize_first, counted, format_number, list_names, percent, short_number
from sfumato.report.texts import Texts
from sfumato.schema import Schema

PLAIN = ("yes or no", "other")
"""Kinds that have no plural."""
MOST_TABLES = 5
say = Texts("release")
MOST_DROWNED = 8
MOST_GROUP = 0.5
"""A group that would have to be larger than this share is any group."""


def headline(document: ReleaseDocument) -> str:
    """Say in one short sentence what was released."""
    lines = sum(table.rows for table in document.tables)
    if document.method.makes == "values":
        return say("headline.one_number" if lines == 1 else "headline.numbers", numbers=counted(lines, "number"))
    if document.method.makes == "counts":
        return say("headline.counts", cells=counted(lines, "cell"), tables=counted(len(document.tables), "table"))
    first, *others = document.tables
    what = "row" if document.statistics.get("not_synthesised") else "synthetic row"
    copies = f"{counted(1 + len(others), 'copy')}, the first of " if others else ""
    return f"{copies}{counted(first.rows, what)} with {counted(len(first.columns), 'column')}."


def explanation(document: ReleaseDocument, schema: Schema) -> list[str]:
    """Say where it comes from, what is in it and how it was made."""
    method = document.method
    origin = say("headline.made", table=document.table, method=method.name, summary=method.summary)
    if method.makes == "counts":
        sign = say("headline.clamped" if method.parameters.get("nonnegative") else "headline.unbiased")
        return [origin, f"{_tables(document)}.", f"{say('headline.whole_domain')} {sign}"]
    columns = _columns(document.tables[0].columns, document, schema) if method.makes == "rows" else []
    return [origin, *columns, *filter(None, [method.about])]


def _tables(document: ReleaseDocument) -> str:
    tables = [" x ".join(table.columns) for table in document.tables]
    more = f"; and {format_number(len(tables) - MOST_TABLES)} more" if len(tables) > MOST_TABLES else ""
    return f"{'; '.join(tables[:MOST_TABLES])}{more}"


def _columns(names: Sequence[str], document: ReleaseDocument, schema: Schema) -> list[str]:
    kept = document.statistics.get("not_synthesised") or []
    drawn = [name for name in names if name not in kept]
    columns = [f"Columns ({_kinds(names, schema)}): {list_names(names)}."]
    return columns + ([f"{', '.join(kept)}: released as they are; {', '.join(drawn)}: synthetic."] if kept else [])


def _kinds(names: Sequence[str], schema: Schema) -> str:
    """Return of which kinds columns are, the commonest first; a method may add columns that the schema lacks."""
    words = say.table("headline")["kinds"]
    kinds = Counter(words[schema[name].kind] if name in schema else "other" for name in names)
    return list_names([_so_many(number, kind) for kind, number in kinds.most_common()])


def _so_many(number: int, kind: str) -> str:
    return f"{format_number(number)} {kind}" if kind in PLAIN else counted(number, kind)


def released_columns(document: ReleaseDocument) -> set[str]:
    """Return the columns of the private table of which something is released."""
    names = {name for table in document.tables for name in table.columns}
    used = document.method.parameters.get("columns") or [document.method.parameters.get("column")]
    return names | {name for name in used if isinstance(name, str)} if document.method.makes == "values" else names


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
    return QualityText(say("verdict.needs_rows"), (), f"{capitalize_first(needed).removesuffix('.')}.")


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
