"""The warnings across the top of a page: what nobody may miss."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import counted

SEEDED = "the noise came from a fixed seed, and anyone who knows the seed can remove it."


class Banner(NamedTuple):
    """A warning across the top of the page."""

    kind: str
    heading: str
    text: str


def warnings_of(document: ReleaseDocument, true_rows: int | None = None) -> list[Banner]:
    """Return the warnings of a release; only the custodian's copy knows the true number of rows."""
    found: list[Banner] = []
    if true_rows is not None:
        heading = "Custodian's copy: contains confidential values. Do not publish."
        text = f"This page sets true values of {counted(true_rows, 'row')} beside the released ones."
        found.append(Banner("danger", heading, text))
    if document.randomness.stamp:
        found.append(Banner("danger", "NOT FOR RELEASE", f"{document.randomness.stamp.capitalize()}: {SEEDED}"))
    if document.guarantee.uncharged:
        heading = f"The choice of {document.guarantee.uncharged} is not covered"
        found.append(Banner("warning", heading, document.guarantee.protection()))
    if document.guarantee.takes_facts_from_rows:
        text = "The schema was not fixed before anybody looked: the promise does not cover what these facts give away."
        found.append(Banner("warning", "Facts were taken from the private rows", text))
    if document.guarantee.is_weak:
        heading = f"Protection: {document.guarantee.band}"
        found.append(Banner("warning", heading, _sentences(document.guarantee.warnings)))
    if not document.guarantee.formal:
        text = f"A release of the {document.guarantee.kind} kind: its parameters do not bound what can be learned."
        found.append(Banner("warning", "No formal guarantee", text))
    return found


def _sentences(words: tuple[str, ...]) -> str:
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in words)
