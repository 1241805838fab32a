"""A release in three sentences that can be read aloud: what it is, what is promised, what is not."""

from __future__ import annotations

from sfumato.privacy.accounting.frequencies import successes
from sfumato.report.document import ReleaseDocument
from sfumato.report.words.promise import GROUPS, TAKEN, UNPROVED
from sfumato.report.words.released import headline

SEEDED = "This is a test run and not for release: whoever knows its seed can take the noise away."


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
        return SEEDED
    if not guarantee.formal:
        return "No theorem bounds what can be learned from it about anybody who is in the table."
    about = f"where an attempt tries to learn something that only {_source(document)} could tell"
    return (
        f"Chance was added on purpose, and {successes(guarantee.curve)}, {about}; "
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
