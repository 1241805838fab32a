"""What is promised, in words that can be repeated: what they are worth first, epsilon last."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.privacy.accounting.guarantee import ONE_VALUE, Guarantee
from sfumato.privacy.exact import at_most, exact, show
from sfumato.report.document import ReleaseDocument
from sfumato.report.words.cost import recorded_in_short
from sfumato.report.words.numbers import named
from sfumato.report.words.released import released_columns
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


class Promise(NamedTuple):
    """The promise at a glance: a heading, sentences, what is left out, and the numbers for those who know them."""

    heading: str
    sentences: tuple[str, ...]
    gaps: tuple[str, ...]
    recorded: str
    numbers: str


def promise(document: ReleaseDocument) -> Promise:
    """Say what the release promises, and what it does not."""
    guarantee, recorded = document.guarantee, recorded_in_short(document)
    seeded = guarantee.randomness == "seeded"
    if not guarantee.formal:
        said = (*(KNOWN_SEED,) * seeded, "Its parameters do not bound what can be learned about anybody.", UNPROVED)
        return Promise(EXPOSED, said, (), recorded, guarantee.headline())
    heading = SEEDED if seeded else HEADINGS[guarantee.band] + GAP * has_gaps(guarantee)
    said = (*(KNOWN_SEED, OTHERWISE) * seeded, *_sentences(guarantee))
    return Promise(heading, said, _gaps(guarantee), recorded, _numbers(guarantee))


def has_gaps(guarantee: Guarantee) -> bool:
    """Whether something is left out that a reader of the heading would take to be covered."""
    return bool(guarantee.uncharged) or guarantee.takes_facts_from_rows or guarantee.rests_on_looks


def _sentences(guarantee: Guarantee) -> tuple[str, ...]:
    odds = (
        f"Someone who is undecided (50 : 50) {_undecided(guarantee)} can be {guarantee.odds()}{_aside(guarantee)}, "
        "whatever else they know and however they compute."
    )
    lasting = (LASTING,) * (guarantee.band in ("strong", "moderate"))
    worth = () if guarantee.uncharged else (guarantee.protection(),)
    return odds, f"In frequencies: {guarantee.frequencies()}", *worth, *lasting


def _undecided(guarantee: Guarantee) -> str:
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
        f"In numbers: epsilon = {show(guarantee.exact_epsilon)}{delta} ({guarantee.kind} differential privacy, for "
        f"{guarantee.change()})."
    )


def identified(document: ReleaseDocument, schema: Schema) -> list[str]:
    """Say who may be identified, as far as the guarantee tells."""
    if document.randomness.mode == "seeded":
        return ["Anyone in the table, by anyone who knows the seed: treat these files like the private table itself."]
    if not document.guarantee.formal:
        return [UNPROVED]
    sentences = [_certainty(document.guarantee), document.guarantee.protection(), GROUPS]
    if document.unit == "row":
        more = " and more than k times the delta" if exact(document.guarantee.delta) else ""
        sentences.append(f"The promise is for one row; someone who fills k rows has k times the epsilon{more}.")
    if document.unit.startswith(ONE_VALUE):
        sentences.append(f"Only {document.unit} is covered; the rest of a row is released as it is, and tells whose.")
    if document.guarantee.takes_facts_from_rows:
        sentences.append(TAKEN)
    names = released_columns(document)
    quasi = [name for name in schema.with_role("quasi-identifier") if name in names]
    if quasi:
        sentences.append(f"Released columns by which people may be known elsewhere: {named(quasi)}.")
    return sentences


def _certainty(guarantee: Guarantee) -> str:
    return f"Someone who gave even odds on {guarantee.bet()} can be {guarantee.odds()}{_aside(guarantee)}."


def _aside(guarantee: Guarantee) -> str:
    return f", leaving aside what the choice of {guarantee.uncharged} shows" if guarantee.uncharged else ""
