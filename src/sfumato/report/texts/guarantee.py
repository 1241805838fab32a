"""The guarantee in sentences: its meaning first, then its gaps, then epsilon."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.bundle.cost_statement import ledger_sentence
from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import list_names
from sfumato.privacy.accounting.guarantee import ONE_VALUE, Guarantee
from sfumato.privacy.accounting.strength import attack_frequency_text
from sfumato.privacy.exact import at_most, format_fraction, to_fraction
from sfumato.report.texts.headline import headline, released_columns
from sfumato.schema import Schema

HEADINGS = {
    "strong": "Strong protection",
    "moderate": "Moderate protection",
    "weak": "Weak protection",
    "none in effect": "No protection in effect",
}

GAP = ", but not of everything"

EXPOSED, SEEDED = "No formal promise", "No promise: a test run"

GROUPS = (
    "What is common in a group is not hidden: that is what the release is for, and it holds for people who are in the "
    "table and for people who are not."
)

TAKEN = (
    "Facts of the schema that were taken from the private rows are not covered: a largest value or a rare level may "
    "tell of the person who has it."
)

UNPROVED = (
    "Nobody knows: no bound is proved. Assume that people with rare values can be recognised, and read the measured "
    "risks before publishing."
)

KNOWN_SEED = (
    "The noise came from a fixed seed. Whoever knows it can take the noise away, so these files must be kept like the "
    "confidential table itself."
)

OTHERWISE = "Made with secret noise, the promise would be this:"

LASTING = "What others know, now or later, does not weaken it; further releases of the same table do."


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
        said = (*(KNOWN_SEED,) * seeded, "Its parameters do not bound what can be learned about anybody.", UNPROVED)
        return GuaranteeText(EXPOSED, said, (), recorded, guarantee.headline())
    heading = SEEDED if seeded else HEADINGS[guarantee.band] + GAP * has_gaps(guarantee)
    said = (*(KNOWN_SEED, OTHERWISE) * seeded, *_sentences(guarantee))
    return GuaranteeText(heading, said, _gaps(guarantee), recorded, _numbers(guarantee))


def has_gaps(guarantee: Guarantee) -> bool:
    """Whether something is left out that a reader of the heading would take to be covered."""
    return bool(guarantee.uncharged) or guarantee.takes_facts_from_rows or guarantee.rests_on_looks


def _sentences(guarantee: Guarantee) -> tuple[str, ...]:
    odds = (
        f"Someone who is undecided (50 : 50) {_unproved(guarantee)} can be {guarantee.odds()}{_aside(guarantee)}, "
        "whatever else they know and however they compute."
    )
    lasting = (LASTING,) * (guarantee.band in ("strong", "moderate"))
    worth = () if guarantee.uncharged else (guarantee.protection(),)
    return odds, f"In frequencies: {guarantee.frequencies()}", *worth, *lasting


def _unproved(guarantee: Guarantee) -> str:
    """Return between what somebody is undecided before seeing the release."""
    noun = guarantee.unit.partition(" (")[0]
    if guarantee.unit.startswith(ONE_VALUE):
        return f"between {guarantee.bet()}"
    if guarantee.adjacency == "replace":
        return f"between two versions of one {noun}"
    return f"whether one given {noun} is in the table"


def _gaps(guarantee: Guarantee) -> tuple[str, ...]:
    """Return what the promise leaves out; the full statement has the details."""
    found = [GROUPS]
    if guarantee.uncharged:
        found.insert(0, guarantee.protection())
    if guarantee.takes_facts_from_rows:
        found.insert(0, TAKEN)
    if guarantee.unit == "row":
        found.append("It is for one row: someone who fills several rows is protected less.")
    if guarantee.unit.startswith(ONE_VALUE):
        found.append("Only that value is covered; the rest of a row is released as it is.")
    return tuple(found)


def _numbers(guarantee: Guarantee) -> str:
    delta = f" and delta = {at_most(guarantee.exact_delta, 3)}" if guarantee.exact_delta else ""
    return (
        f"In numbers: epsilon = {format_fraction(guarantee.exact_epsilon)}{delta} ({guarantee.kind} differential "
        f"privacy, for "
        f"{guarantee.change()})."
    )


def public_identifiers(document: ReleaseDocument, schema: Schema) -> list[str]:
    """Say who may be identified, as far as the guarantee tells."""
    if document.randomness.mode == "seeded":
        return ["Anyone in the table, by anyone who knows the seed: treat these files like the private table itself."]
    if not document.guarantee.formal:
        return [UNPROVED]
    sentences = [_certainty(document.guarantee), document.guarantee.protection(), GROUPS]
    if document.unit == "row":
        more = " and more than k times the delta" if to_fraction(document.guarantee.delta) else ""
        sentences.append(f"The promise is for one row; someone who fills k rows has k times the epsilon{more}.")
    if document.unit.startswith(ONE_VALUE):
        sentences.append(f"Only {document.unit} is covered; the rest of a row is released as it is, and tells whose.")
    if document.guarantee.takes_facts_from_rows:
        sentences.append(TAKEN)
    names = released_columns(document)
    quasi = [name for name in schema.with_role("quasi-identifier") if name in names]
    if quasi:
        sentences.append(f"Released columns by which people may be known elsewhere: {list_names(quasi)}.")
    return sentences


def _certainty(guarantee: Guarantee) -> str:
    return f"Someone who gave even odds on {guarantee.bet()} can be {guarantee.odds()}{_aside(guarantee)}."


def _aside(guarantee: Guarantee) -> str:
    return f", leaving aside what the choice of {guarantee.uncharged} shows" if guarantee.uncharged else ""


SEEDED_SPOKEN = "This is a test run and not for release: whoever knows its seed can take the noise away."


def three_sentences(document: ReleaseDocument) -> tuple[str, str, str]:
    """Return what may be told to the people concerned and to the public; each sentence is true as it stands."""
    return _what(document), _promised(document), _not_promised(document)


def _what(document: ReleaseDocument) -> str:
    amount = headline(document).removesuffix(".")
    made = f"From the confidential table {document.table!r} this was made with the method {document.method.name}"
    return f"{made}: {_small(amount)}."


def _promised(document: ReleaseDocument) -> str:
    guarantee = document.guarantee
    if document.randomness.mode == "seeded":
        return SEEDED_SPOKEN
    if not guarantee.formal:
        return "No theorem bounds what can be learned from it about anybody who is in the table."
    about = f"where an attempt tries to learn something that only {_source(document)} could tell"
    return (
        f"Chance was added on purpose, and {attack_frequency_text(guarantee.curve)}, {about}; "
        f"{_small(guarantee.protection().removesuffix('.'))}."
    )


def _source(document: ReleaseDocument) -> str:
    """Return what only the table knows of somebody."""
    unit = document.unit.partition(" (")[0]
    if unit.startswith("the "):
        return document.unit
    return f"one {unit} of the table" if unit == "row" else f"the rows of one {unit}"


def _not_promised(document: ReleaseDocument) -> str:
    if not document.guarantee.formal:
        return UNPROVED.partition(". ")[2]
    more = f"; {_small(TAKEN.removesuffix('.'))}" if document.guarantee.takes_facts_from_rows else ""
    return f"{GROUPS.removesuffix('.')}{more}."


def _small(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:]}"
