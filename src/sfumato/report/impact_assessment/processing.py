"""Processing, purpose and necessity: Article 35(7)(a) and (b) GDPR."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from sfumato.bundle.description import PublicRelease, citation
from sfumato.formatting import list_names
from sfumato.privacy.accounting.guarantee import Guarantee, one_unit
from sfumato.report.blocks import Block, BulletList, Paragraphs, Section, TableBlock
from sfumato.report.impact_assessment.blanks import say, to_fill_in
from sfumato.report.texts import Texts
from sfumato.report.texts.headline import explanation, headline, released_columns
from sfumato.report.texts.verdict import quality_lines, uses_text


def introduction(subject: PublicRelease, verified: str) -> Section:
    """Say what the form is, of which release, and that the release was checked."""
    about = Paragraphs((say("form"), say("no_advice")))
    facts = BulletList((f"The release: {citation(subject)}", f"sfumato verify: {verified}."))
    return Section("about", "This form", (about, facts))


def processing(subject: PublicRelease) -> Section:
    """Describe what was done with the rows: Article 35(7)(a)."""
    return Section("processing", "Description: Art. 35(7)(a)", tuple(_processing(subject)))


def _processing(subject: PublicRelease) -> Iterator[Block]:
    schema, document = subject.schema, subject.document
    own = (f"About the table, in the custodian's words: {schema.description}",) if schema.description else ()
    yield Paragraphs((headline(document), *explanation(document, schema), *own))
    yield BulletList(tuple(_facts(subject)))
    yield from to_fill_in("processing")
    if subject.columns:
        header = ("released column", "what it is", "kind", "role")
        rows = ((c.name, c.description or "", c.kind, c.role or "") for c in subject.columns)
        yield TableBlock(header, tuple(rows))


def _facts(subject: PublicRelease) -> Iterator[str]:
    schema, out = subject.schema, released_columns(subject.document)
    yield f"What is protected: {_unit(subject.document.guarantee)}."
    if schema.person is not None:
        most = "one row" if schema.rows_per_person == 1 else f"{schema.rows_per_person} rows"
        yield say("persons", person=schema.person, most=most)
    yield _rows(subject)
    withheld = [name for name in schema.names if name not in out]
    yield say("withheld", names=list_names(withheld)) if withheld else say("nothing_withheld")
    if subject.kept:
        yield say("kept", names=list_names(subject.kept))
    if schema.contact:
        yield f"Contact that stands in the bundle: {schema.contact}"
    if schema.licence:
        yield f"Terms that stand in the bundle: {schema.licence}"


def _rows(subject: PublicRelease) -> str:
    if subject.schema.rows:
        return say("public_rows", rows=subject.schema.rows)
    return say("hidden_rows" if subject.document.guarantee.formal else "unknown_rows")


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
    yield from to_fill_in("necessity")
    quality = quality_lines(subject.forecast)
    if quality is None:
        yield Paragraphs((Texts("release")("verdict.unknown"),))
    else:
        expected = f"What may be expected of the release, from public facts: {quality.verdict} {quality.basis}"
        yield Paragraphs((expected,))
        yield TableBlock(("expected", "of what"), tuple((line.number, line.words) for line in quality.lines))
    uses = uses_text(subject.document, subject.forecast)
    yield TableBlock(
        ("what it may be used for", "what it is not for"), tuple(zip_longest(uses.good, uses.bad, fillvalue=""))
    )
    if uses.note and quality is not None:
        yield Paragraphs((uses.note,))
