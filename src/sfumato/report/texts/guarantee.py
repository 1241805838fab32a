"""The guarantee in sentences: its meaning first, then its gaps, then epsilon."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.bundle.description import ledger_sentence
from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import list_names
from sfumato.privacy.accounting.guarantee import ONE_VALUE, Guarantee
from sfumato.privacy.accounting.strength import attack_frequency_text
from sfumato.privacy.exact import at_most, format_fraction, to_fraction
from sfumato.report.texts import Texts
from sfumato.report.texts.summary import headline, released_columns
from sfumato.schema import Schema

say = Texts("guarantee")


class GuaranteeText(NamedTuple):
    """The promise at a glance: a heading, sentences, what is left out, and the numbers for those who know them."""

    heading: str
    sentences: tuple[str, ...]
    gaps: tuple[str, ...]
    recorded: str
    numbers: str


def guarantee_text(document: ReleaseDocument) -> GuaranteeText:
    """Say what the release promises, and what it does not."""
    guarantee, recorded = document.guarantee, ledger_sentence(document)
    seeded = guarantee.randomness == "seeded"
    if not guarantee.formal:
        sentences = (*(say("known_seed"),) * seeded, say("unbounded"), say("unproved"))
        return GuaranteeText(say("exposed"), sentences, (), recorded, guarantee.headline())
    gap = say("but_gaps") if has_gaps(guarantee) else ""
    heading = say("test_run") if seeded else f"{say.table('headings')[guarantee.band]}{gap}"
    sentences = (*(say("known_seed"), say("otherwise")) * seeded, *_sentences(guarantee))
    return GuaranteeText(heading, sentences, _gaps(guarantee), recorded, _numbers(guarantee))


def has_gaps(guarantee: Guarantee) -> bool:
    """Whether something is left out that a reader of the heading would take to be covered."""
    return bool(guarantee.uncharged) or guarantee.takes_facts_from_rows or guarantee.rests_on_looks


def _sentences(guarantee: Guarantee) -> tuple[str, ...]:
    odds = say("odds", what=_undecided(guarantee), odds=guarantee.odds(), aside=_aside(guarantee))
    lasting = (say("lasting"),) * (guarantee.band in ("strong", "moderate"))
    worth = () if guarantee.uncharged else (guarantee.protection(),)
    return odds, f"In frequencies: {guarantee.frequencies()}", *worth, *lasting


def _undecided(guarantee: Guarantee) -> str:
    """Return between what somebody is undecided before seeing the release."""
    noun = guarantee.unit.partition(" (")[0]
    if guarantee.unit.startswith(ONE_VALUE):
        return f"between {guarantee.even_odds_subject()}"
    if guarantee.adjacency == "replace":
        return f"between two versions of one {noun}"
    return f"whether one given {noun} is in the table"


def _gaps(guarantee: Guarantee) -> tuple[str, ...]:
    """Return what the promise leaves out; the full statement has the details."""
    gaps = [say("taken")] if guarantee.takes_facts_from_rows else []
    gaps += [guarantee.protection()] if guarantee.uncharged else []
    gaps.append(say("groups"))
    if guarantee.unit == "row":
        gaps.append(say("one_row"))
    if guarantee.unit.startswith(ONE_VALUE):
        gaps.append(say("one_value"))
    return tuple(gaps)


def _numbers(guarantee: Guarantee) -> str:
    delta = f" and delta = {at_most(guarantee.exact_delta, 3)}" if guarantee.exact_delta else ""
    epsilon = format_fraction(guarantee.exact_epsilon)
    return say("numbers", epsilon=epsilon, delta=delta, kind=guarantee.kind, change=guarantee.change())


def public_identifiers(document: ReleaseDocument, schema: Schema) -> list[str]:
    """Say who may be identified, as far as the guarantee tells."""
    guarantee = document.guarantee
    if document.randomness.mode == "seeded":
        return [say("seeded")]
    if not guarantee.formal:
        return [say("unproved")]
    certainty = say("even_odds", bet=guarantee.even_odds_subject(), odds=guarantee.odds(), aside=_aside(guarantee))
    sentences = [certainty, guarantee.protection(), say("groups")]
    if document.unit == "row":
        more = " and more than k times the delta" if to_fraction(guarantee.delta) else ""
        sentences.append(say("many_rows", more=more))
    if document.unit.startswith(ONE_VALUE):
        sentences.append(say("the_value", unit=document.unit))
    if guarantee.takes_facts_from_rows:
        sentences.append(say("taken"))
    names = released_columns(document)
    quasi = [name for name in schema.with_role("quasi-identifier") if name in names]
    if quasi:
        sentences.append(say("quasi", names=list_names(quasi)))
    return sentences


def _aside(guarantee: Guarantee) -> str:
    return say("aside", choice=guarantee.uncharged) if guarantee.uncharged else ""


def three_sentences(document: ReleaseDocument) -> tuple[str, str, str]:
    """Return the release in words for the people concerned and the public; each sentence is true as it stands."""
    amount = _lower_first(headline(document).removesuffix("."))
    what = say("spoken.made", table=document.table, method=document.method.name, amount=amount)
    return what, _promised(document), _not_promised(document)


def _promised(document: ReleaseDocument) -> str:
    guarantee = document.guarantee
    if document.randomness.mode == "seeded":
        return say("spoken.seeded")
    if not guarantee.formal:
        return say("spoken.nothing")
    return say(
        "spoken.promised",
        frequencies=attack_frequency_text(guarantee.curve),
        source=_source(document),
        protection=_lower_first(guarantee.protection().removesuffix(".")),
    )


def _source(document: ReleaseDocument) -> str:
    """Return what only the table knows of somebody."""
    unit = document.unit.partition(" (")[0]
    if unit.startswith("the "):
        return document.unit
    return f"one {unit} of the table" if unit == "row" else f"the rows of one {unit}"


def _not_promised(document: ReleaseDocument) -> str:
    if not document.guarantee.formal:
        return say("unproved").partition(". ")[2]
    more = f"; {_lower_first(say('taken').removesuffix('.'))}" if document.guarantee.takes_facts_from_rows else ""
    return f"{say('groups').removesuffix('.')}{more}."


def _lower_first(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:]}"
