"""README: rules kept by every row, contact, citation and list of files."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.bundle.description import FILE_DESCRIPTIONS, PublicRelease, citation, describe_file
from sfumato.bundle.layout import PAGES
from sfumato.formatting import format_number
from sfumato.report.blocks import Block, BulletList, CodeBlock, Paragraphs, Section, TableBlock
from sfumato.report.readme.code_literals import lines

MOST_RULES, MOST_FILES = 40, 40
NAMELESS = (
    'Contact: .................... (nobody was named; the custodian writes contact = "..." under [table] in the '
    "schema before a release)"
)
UNLICENSED = (
    "Licence: .................... (none was stated, so ask before you pass the files on; the custodian writes "
    'licence = "..." under [table] in the schema)'
)
HASHES = (
    "Without Sfumato: release.json lists the SHA-256 of every other file. Hashes find damage, and not a forger who "
    "replaced all of it."
)
SIGNED = (
    "If signature.json lies beside this file, the custodian signed the release. Get the public key from the custodian "
    "by another way than these files, and check that it is signed by that key:"
)


def rules_section(subject: PublicRelease) -> Iterator[Section]:
    """Say which rules every row keeps; a release of counts or numbers has none."""
    names = {column.name for column in subject.columns}
    rules = [rule for rule in subject.schema.rules if set(rule.columns) <= names]
    if subject.makes != "rows" or not rules:
        return
    kept = "Every row keeps these rules, as every row of the table does:"
    listed = CodeBlock("", "text", lines([rule.check for rule in rules[:MOST_RULES]]))
    more = (Paragraphs((f"{len(rules) - MOST_RULES} more stand in schema.toml.",)),) if len(rules) > MOST_RULES else ()
    yield Section("rules", "Rules that the rows keep", (Paragraphs((kept,)), listed, *more))


def contact_section(subject: PublicRelease) -> Section:
    """Say whom to ask, under which terms the files may be used, and how to cite them."""
    schema = subject.schema
    contact = f"Contact: {schema.contact}" if schema.contact else NAMELESS
    licence = f"Licence: {schema.licence}" if schema.licence else UNLICENSED
    custodian = (f"Published by: {schema.custodian}",) if schema.custodian else ()
    blocks: list[Block] = [BulletList((*custodian, contact, *_signed(subject), licence))]
    blocks += [Paragraphs(("To cite it:",)), CodeBlock("", "text", citation(subject))]
    return Section("ask", "Whom to ask, and how to cite", tuple(blocks))


def _signed(subject: PublicRelease) -> tuple[str, ...]:
    signed = subject.schema.confirmation
    return () if signed is None else (f"The facts about the table were confirmed by {signed.by} on {signed.on}.",)


def files_section(subject: PublicRelease) -> Section:
    """List the files, and say how to check that they are those of the release."""
    paths = [*subject.document.files_without_pages, *FILE_DESCRIPTIONS]
    named = [path for path in dict.fromkeys(paths) if path in subject.document.files_without_pages or path in ALWAYS]
    rows = tuple((path, describe_file(path), _size(subject, path)) for path in named[:MOST_FILES])
    more = f"{len(named) - MOST_FILES} more data files are listed in datacard.json." if len(named) > MOST_FILES else ""
    fingerprint = f"It prints the fingerprint of the release, which must be {subject.document.fingerprint}."
    checks = (
        Paragraphs(("Whether these are the files of the release, unchanged, is told by:",)),
        CodeBlock("", "sh", "sfumato verify ."),
        Paragraphs((fingerprint, HASHES, SIGNED)),
        CodeBlock("", "sh", "sfumato verify . --key custodian.pub"),
    )
    blocks = (TableBlock(("file", "what it is", "bytes"), rows, (2,)), *([Paragraphs((more,))] if more else []))
    return Section("files", "Files and fingerprint", (*blocks, *checks))


ALWAYS = ("release.json", *PAGES)
"""What a bundle holds beside the files whose hashes the pages know."""


def _size(subject: PublicRelease, path: str) -> str:
    record = subject.document.files_without_pages.get(path)
    return "" if record is None else format_number(record.bytes)
