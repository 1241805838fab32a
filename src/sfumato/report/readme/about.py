"""What a release is and how it was made, and the warnings that stand above everything."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.bundle.description import PublicRelease, size_sentence
from sfumato.privacy.accounting.guarantee import ONE_VALUE
from sfumato.report.blocks import Paragraphs, Section

INVENTED = "Every row is invented: as a whole they resemble those of the table, and none of them belongs to a person."
UNPROVED_ROWS = (
    "No proof says that the rows are not those of real people: the method may hand on values of the confidential rows. "
    "Treat them with the care that the confidential table would get."
)
CHANCE = "Chance was added on purpose, so that no single {unit} of the table decides what lies here."
NO_BOUND = "Chance had a part in it, but no theorem bounds what can be learned about a person from it."


def lead(subject: PublicRelease) -> str:
    """Return the line under it."""
    made = subject.document.created_at
    return f"For those who use these files. Made {made[:10]} with Sfumato {subject.document.versions['sfumato']}."


def introduction_section(subject: PublicRelease) -> Section:
    """Say what lies here."""
    said, drawn = subject.schema.description, subject.document.method.about
    words = (said, " ".join(filter(None, (size_sentence(subject), drawn))), *_nature(subject), *_use(subject))
    return Section("what", "What this is", (Paragraphs(tuple(filter(None, words))),))


def _nature(subject: PublicRelease) -> Iterator[str]:
    """Yield what a row, a cell or a number is."""
    document = subject.document
    if subject.kept:
        drawn = ", ".join(name for name in subject.first.columns if name not in subject.kept)
        yield (
            f"Of each row, {', '.join(subject.kept)} are those of a real row; drawn anew: {drawn or 'nothing'}. A row "
            "here is about a real person."
        )
    elif document.unit.startswith(ONE_VALUE):
        yield f"Only {document.unit} is protected; the rest of a row may be that of a real one."
    elif subject.makes == "rows":
        yield INVENTED if document.guarantee.formal else UNPROVED_ROWS
    elif subject.makes == "counts":
        yield "Every possible cell is listed, empty ones too: that a cell is there says nothing."


def _use(subject: PublicRelease) -> Iterator[str]:
    forecast = subject.forecast
    if forecast is not None and forecast.rows is not None:
        yield f"What it may be used for: {forecast.verdict.removesuffix('.')}."


def method_section(subject: PublicRelease) -> Section:
    """Say in three sentences how it was made."""
    document = subject.document
    unit = document.unit.split(" (")[0]
    first = f"The custodian of the table ran the method {document.method.name}: {document.method.summary}."
    second = CHANCE.format(unit=unit) if document.guarantee.formal else NO_BOUND
    if document.unit.startswith(ONE_VALUE) and document.guarantee.formal:
        second = f"Chance was added on purpose, so that {document.unit} stays hidden within the odds of the promise."
    return Section("made", "How it was made", (Paragraphs((f"{first} {second} {document.guarantee.headline()}",)),))
