"""README: what a release is and how it was made."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.bundle.description import PublicRelease, size_sentence
from sfumato.privacy.accounting.guarantee import ONE_VALUE
from sfumato.report.blocks import Paragraphs, Section
from sfumato.report.texts import Texts

say = Texts("readme")


def lead(subject: PublicRelease) -> str:
    """Return the line under the heading."""
    document = subject.document
    return say("lead", day=document.created_at[:10], version=document.versions["sfumato"])


def introduction_section(subject: PublicRelease) -> Section:
    """Say what lies here."""
    size = " ".join(filter(None, (size_sentence(subject), subject.document.method.about)))
    words = (subject.schema.description, size, *_nature(subject), *_use(subject))
    return Section("what", "What this is", (Paragraphs(tuple(filter(None, words))),))


def _nature(subject: PublicRelease) -> Iterator[str]:
    """Yield what a row, a cell or a number is."""
    document = subject.document
    if subject.kept:
        drawn = ", ".join(name for name in subject.first.columns if name not in subject.kept)
        yield say("what.kept", kept=", ".join(subject.kept), drawn=drawn or "nothing")
    elif document.unit.startswith(ONE_VALUE):
        yield say("what.one_value", unit=document.unit)
    elif subject.makes == "rows":
        yield say("what.invented" if document.guarantee.formal else "what.unproved")
    elif subject.makes == "counts":
        yield say("what.cells")


def _use(subject: PublicRelease) -> Iterator[str]:
    forecast = subject.forecast
    if forecast is not None and forecast.rows is not None:
        yield say("what.uses", verdict=forecast.verdict.removesuffix("."))


def method_section(subject: PublicRelease) -> Section:
    """Say in three sentences how it was made."""
    document = subject.document
    first = say("what.method", method=document.method.name, summary=document.method.summary)
    second = say("what.no_bound")
    if document.guarantee.formal and document.unit.startswith(ONE_VALUE):
        second = say("what.noise_of_value", unit=document.unit)
    elif document.guarantee.formal:
        second = say("what.noise", unit=document.unit.split(" (")[0])
    return Section("made", "How it was made", (Paragraphs((f"{first} {second} {document.guarantee.headline()}",)),))
