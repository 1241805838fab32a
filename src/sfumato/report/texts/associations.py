"""Sentences about associations between columns and their attenuation by noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sfumato.formatting import counted, list_names, short_number
from sfumato.metrics.expected_errors import NO_RELATION_VISIBLE, undo_attenuation
from sfumato.report.texts import Texts

STRONGLY = 0.5
WEAKLY = 0.3
HUB = 3
"""A column that was measured together with so many others is named as one that ties others."""
MOST_HUBS, MOST_ALONE = 5, 12
LEAST_LOST = 0.02
"""A relation that may have been stronger by less than this is not called weakened."""
say = Texts("release")


def trend_sentence(one: str, other: str, value: float) -> str:
    """Say how two columns with an order go together.

    >>> trend_sentence("income", "education", 0.42)
    'income rises with education (rank correlation 0.42)'
    >>> trend_sentence("age", "children", -0.71)
    'age falls strongly as children rises (rank correlation -0.71)'
    """
    how = _adverb(abs(value))
    trend = f"rises{how} with {other}" if value >= 0 else f"falls{how} as {other} rises"
    return f"{one} {trend} (rank correlation {value:.2f})"


def _adverb(strength: float) -> str:
    return " strongly" if strength >= STRONGLY else " slightly" if strength < WEAKLY else ""


def group_sentence(number: str, group: str, medians: Mapping[str, str], value: float) -> str:
    """Say how a number differs between groups; ``medians`` has two: of the lowest group and of the highest.

    >>> group_sentence("charges", "smoker", {"no": "7,345", "yes": "34,456"}, 0.66)
    'charges differs strongly by smoker: median 7,345 where smoker = no, 34,456 where smoker = yes (strength 0.66)'
    """
    (low, least), (high, most) = medians.items()
    ends = {"low": low, "least": least, "high": high, "most": most}
    return say("associations.groups", number=number, group=group, how=_adverb(value), value=value, **ends)


def differs_somehow(number: str, group: str, value: float) -> str:
    """Say that a number differs between groups whose medians are equal."""
    return say("associations.unlike", number=number, group=group, how=_adverb(value), value=value)


def level_sentence(one: tuple[str, str], other: tuple[str, str], shares: tuple[str, str], value: float) -> str:
    """Say which levels of two columns go together: (column, level) twice, the share within and the share of all rows.

    >>> level_sentence(("job", "Mgr"), ("reason", "DebtCon"), ("31 %", "13 %"), 0.35)
    'job and reason go together: of rows with job = Mgr, 31 % have reason = DebtCon, of all rows 13 % (strength 0.35)'
    """
    return say("associations.levels", one=one, other=other, shares=shares, how=_adverb(value), value=value)


def measured_words(noise: float | None, known: bool) -> str:
    """Say whether two columns were measured together; ``known`` is whether the release tells what was.

    >>> measured_words(33.3, True), measured_words(None, False)
    ('Measured together (a count of the pair: about ±\xa065).', '')
    """
    if not known:
        return ""
    if noise is None:
        return say("associations.unmeasured")
    return say("associations.measured", reach=short_number(1.96 * noise))


def attenuation_text(strength: float, smallest: float | None) -> str:
    """Say what a release may have taken from a relation, by its forecast.

    >>> attenuation_text(0.42, 0.3)
    'By the forecast it may have been as strong as 0.55 in the confidential table.'
    """
    if smallest is None:
        return ""
    if smallest >= NO_RELATION_VISIBLE:
        return say("associations.drowned")
    before = undo_attenuation(strength, smallest)
    if before - strength < LEAST_LOST:
        return ""
    return say("associations.weakened", before=before)


def found_words(shown: int, strong: int, pairs: int, limit: float) -> str:
    """Say how many relations there are among how many pairs.

    >>> found_words(12, 12, 78, 0.3)
    '12 of 78 pairs of columns have a strong relation (0.3 or more).'
    """
    of = f"of {counted(pairs, 'pair')} of columns"
    if strong > shown:
        return f"{strong:,} {of} have a strong relation ({limit:g} or more); here are the {shown} strongest."
    if strong:
        return f"{strong} {of} {'has' if strong == 1 else 'have'} a strong relation ({limit:g} or more)."
    none = f"None {of} has a strong relation ({limit:g} or more)"
    if not shown:
        return f"{none}, and none comes near."
    return f"{none}. The strongest {'is' if shown == 1 else f'{shown} are'} here."


def read_words(rows: int, all_rows: int, left_out: Sequence[str]) -> str:
    """Say what relations were measured on.

    >>> read_words(5_000, 20_000, ())
    'Measured on 5,000 of the 20,000 released rows, evenly spaced.'
    """
    which = f"{rows:,} of the {all_rows:,} released rows, evenly spaced" if rows < all_rows else "all released rows"
    more = f" Too many levels to look at: {list_names(left_out)}." if left_out else ""
    return f"Measured on {which}.{more}"


def tied_words(columns: Sequence[str], beside: Mapping[str, Sequence[str]], tables: int) -> list[str]:
    """Say what a model measured together: how much of the table it ties, what ties most, and what stands alone."""
    alone = [name for name in columns if not beside.get(name)]
    pairs = sum(map(len, beside.values())) // 2
    measured = counted(tables, "table")
    sentences = [
        say("associations.tied", tables=measured, tie="ties" if tables == 1 else "tie", pairs=counted(pairs, "pair"))
    ]
    if pairs < math.comb(len(columns), 2):
        sentences.append(say("associations.apart"))
    hubs = sorted((name for name in columns if len(beside.get(name, ())) >= HUB), key=lambda n: -len(beside[n]))
    if hubs and len(columns) > HUB:
        listed = [f"{name} ({len(beside[name])})" for name in hubs[:MOST_HUBS]]
        sentences.append(say("associations.hubs", names=list_names(listed)))
    if alone:
        sentences.append(_alone(alone, len(columns)))
    return sentences


def _alone(names: Sequence[str], columns: int) -> str:
    if len(names) == columns:
        return say("associations.none_tied")
    were, them = ("was", "it") if len(names) == 1 else ("were", "them")
    named = list_names(names, MOST_ALONE)
    several = counted(len(names), "column")
    return say("associations.alone", columns=several, all=columns, were=were, them=them, names=named)
