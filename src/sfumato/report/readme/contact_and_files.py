"""README: rules kept by every row, contact, citation and list of files."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.bundle.description import FILE_DESCRIPTIONS, PublicRelease, citation, describe_file
from sfumato.bundle.layout import PAGES
from sfumato.formatting import format_number
from sfumato.report.blocks import Block, BulletList, CodeBlock, Paragraphs, Section, TableBlock
from sfumato.report.texts import Texts

MOST_RULES, MOST_FILES = 40, 40
ALWAYS = ("release.json", *PAGES)
"""What a bundle holds beside the files whose hashes the pages know."""
say = Texts("readme")


def rules_section(subject: PublicRelease) -> Iterator[Section]:
    """Say which rules every row keeps; a release of counts or numbers has none."""
    names = {column.name for column in subject.columns}
    rules = [rule for rule in subject.schema.rules if set(rule.columns) <= names]
    if subject.makes != "rows" or not rules:
        return
    listed = CodeBlock("", "text", "\n".join(rule.check for rule in rules[:MOST_RULES]))
    more = (Paragraphs((f"{len(rules) - MOST_RULES} more stand in schema.toml.",)),) if len(rules) > MOST_RULES else ()
    yield Section("rules", "Rules that the rows keep", (Paragraphs((say("ask.rules"),)), listed, *more))


def contact_section(subject: PublicRelease) -> Section:
    """Say whom to ask, under which terms the files may be used, and how to cite them."""
    schema = subject.schema
    contact = f"Contact: {schema.contact}" if schema.contact else say("ask.nameless")
    licence = f"Licence: {schema.licence}" if schema.licence else say("ask.unlicensed")
    custodian = (f"Published by: {schema.custodian}",) if schema.custodian else ()
    blocks: list[Block] = [BulletList((*custodian, contact, *_signed(subject), licence))]
    blocks += [Paragraphs(("To cite it:",)), CodeBlock("", "text", citation(subject))]
    return Section("ask", "Whom to ask, and how to cite", tuple(blocks))


def _signed(subject: PublicRelease) -> tuple[str, ...]:
    confirmation = subject.schema.confirmation
    return () if confirmation is None else (say("ask.confirmed", by=confirmation.by, on=confirmation.on),)


def files_section(subject: PublicRelease) -> Section:
    """List the files, and say how to check that they are those of the release."""
    paths = [*subject.document.files_without_pages, *FILE_DESCRIPTIONS]
    named = [path for path in dict.fromkeys(paths) if path in subject.document.files_without_pages or path in ALWAYS]
    rows = tuple((path, describe_file(path), _size(subject, path)) for path in named[:MOST_FILES])
    more = f"{len(named) - MOST_FILES} more data files are listed in datacard.json." if len(named) > MOST_FILES else ""
    fingerprint = say("ask.fingerprint", fingerprint=subject.document.fingerprint)
    checks = (
        Paragraphs((say("ask.unchanged"),)),
        CodeBlock("", "sh", "sfumato verify ."),
        Paragraphs((fingerprint, say("ask.hashes"), say("ask.signed"))),
        CodeBlock("", "sh", "sfumato verify . --key custodian.pub"),
    )
    blocks = (TableBlock(("file", "what it is", "bytes"), rows, (2,)), *([Paragraphs((more,))] if more else []))
    return Section("files", "Files and fingerprint", (*blocks, *checks))


def _size(subject: PublicRelease, path: str) -> str:
    record = subject.document.files_without_pages.get(path)
    return "" if record is None else format_number(record.bytes)
