"""Processing, purpose and necessity: Article 35(7)(a) and (b) GDPR."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.bundle.description import PublicRelease, citation
from sfumato.formatting import list_names
from sfumato.privacy.accounting.guarantee import Guarantee, one_unit
from sfumato.report.blocks import Block, BulletList, Paragraphs, Section, TableBlock
from sfumato.report.impact_assessment.blanks import NECESSITY, PROCESSING, TO_FILL, dotted_lines
from sfumato.report.texts.headline import explanation, headline, released_columns
from sfumato.report.texts.verdict import UNKNOWN, quality_lines, uses_text

FORM = (
    "A form for a data protection impact assessment, filled in from the release itself. It follows the points of "
    "Article 35(7) of the General Data Protection Regulation: description, necessity, risks, measures."
)
NO_ADVICE = (
    "It is no legal advice and no finding that the release is anonymous. What the release knows stands here in its own "
    "words. Where dots stand, only people know the answer: the program has filled in none of them."
)
HIDDEN_ROWS = (
    "Number of rows of the confidential table: not told here, since the promise hides it, too. Numbers of rows in the "
    "release carry noise or were chosen."
)
UNTOLD_ROWS = "Number of rows of the confidential table: not told here."


def introduction(subject: PublicRelease, verified: str) -> Section:
    """Say what the form is, of which release, and that the release was checked."""
    about = Paragraphs((FORM, NO_ADVICE))
    facts = BulletList((f"The release: {citation(subject)}", f"sfumato verify: {verified}."))
    return Section("about", "This form", (about, facts))


def processing(subject: PublicRelease) -> Section:
    """Describe what was done with the rows: Article 35(7)(a)."""
    return Section("processing", "Description: Art. 35(7)(a)", tuple(_processing(subject)))


def _processing(subject: PublicRelease) -> Iterator[Block]:
    schema, document = subject.schema, subject.document
    said = (f"About the table, in the custodian's words: {schema.description}",) if schema.description else ()
    yield Paragraphs((headline(document), *explanation(document, schema), *said))
    yield BulletList(tuple(_facts(subject)))
    yield Paragraphs((TO_FILL,))
    yield BulletList(dotted_lines(PROCESSING))
    if subject.columns:
        header = ("released column", "what it is", "kind", "role")
        rows = ((c.name, c.description or "", c.kind, c.role or "") for c in subject.columns)
        yield TableBlock(header, tuple(rows))


def _facts(subject: PublicRelease) -> Iterator[str]:
    schema, out = subject.schema, released_columns(subject.document)
    yield f"What is protected: {_unit(subject.document.guarantee)}."
    if schema.person is not None:
        most = "one row" if schema.rows_per_person == 1 else f"{schema.rows_per_person} rows"
        yield f"Persons are told apart by {schema.person}; at most {most} of each were used."
    yield _rows(subject)
    withheld = [name for name in schema.names if name not in out]
    yield (
        f"Columns of the schema that were not released: {list_names(withheld)}."
        if withheld
        else ("All columns of the schema were released; the table may have others.")
    )
    if subject.kept:
        yield f"Released as they are in the confidential table: {list_names(subject.kept)}."
    if schema.contact:
        yield f"Contact that stands in the bundle: {schema.contact}"
    if schema.licence:
        yield f"Terms that stand in the bundle: {schema.licence}"


def _rows(subject: PublicRelease) -> str:
    if subject.schema.rows:
        return f"Number of rows of the confidential table: {subject.schema.rows:,}, which is public."
    return HIDDEN_ROWS if subject.document.guarantee.formal else UNTOLD_ROWS


def _unit(guarantee: Guarantee) -> str:
    return (
        f"{guarantee.change()}"
        if guarantee.formal
        else f"nothing provably; the unit would be {one_unit(guarantee.unit)}"
    )


def necessity(subject: PublicRelease) -> Section:
    """Leave necessity to people, beside what the release is good for: Article 35(7)(b)."""
    return Section("necessity", "Necessity: Art. 35(7)(b)", tuple(_necessity(subject)))


def _necessity(subject: PublicRelease) -> Iterator[Block]:
    yield Paragraphs((TO_FILL,))
    yield BulletList(dotted_lines(NECESSITY))
    good = quality_lines(subject.forecast)
    if good is None:
        yield Paragraphs((UNKNOWN,))
    else:
        yield Paragraphs((f"What may be expected of the release, from public facts: {good.verdict} {good.basis}",))
        yield TableBlock(("expected", "of what"), tuple((line.number, line.words) for line in good.lines))
    found = uses_text(subject.document, subject.forecast)
    yield TableBlock(
        ("what it may be used for", "what it is not for"),
        tuple(_side_by_side(found.good, found.bad)),
    )
    if found.note and good is not None:
        yield Paragraphs((found.note,))


def _side_by_side(left: tuple[str, ...], right: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for place in range(max(len(left), len(right))):
        yield left[place] if place < len(left) else "", right[place] if place < len(right) else ""
