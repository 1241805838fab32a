"""README.html and README.md: what a release is, its columns, how to load it, its limitations and its files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from sfumato.bundle.description import (
    FILE_DESCRIPTIONS,
    MOST_LEVELS,
    PublicRelease,
    citation,
    describe_file,
    page_warnings,
    size_sentence,
    title,
)
from sfumato.bundle.layout import PAGES
from sfumato.bundle.limitations import limitations, noise_half_widths
from sfumato.formatting import format_number
from sfumato.privacy.accounting.guarantee import ONE_VALUE
from sfumato.report.blocks import Block, BulletList, CodeBlock, Page, Paragraphs, Section, TableBlock
from sfumato.report.readme_code import (
    csv_loading_code,
    marginal_loading_code,
    python_code,
    row_loading_code,
    value_loading_code,
)
from sfumato.report.texts import Texts
from sfumato.report.texts.numbers import main_numbers_table
from sfumato.report.texts.summary import quality_lines
from sfumato.schema.column import Column
from sfumato.table.writing.delimited import missing_marker
from sfumato.table.writing.frames import count_name

say = Texts("readme")
MOST_MEANINGS = 40
"""Values of one column whose meaning is written down; schema.toml has all of them."""
MOST_NUMBERS, MOST_TABLES = 10, 12
MOST_RULES, MOST_FILES = 40, 40
ALWAYS = ("release.json", *PAGES)
"""What a bundle holds beside the files whose hashes the pages know."""


def readme_of(subject: PublicRelease) -> Page:
    """Return the guide; it follows from the document and the schema alone."""
    columns = {"rows": _columns_of_rows, "counts": _columns_of_counts, "values": _columns_of_values}
    certainty = {"rows": _certainty_of_rows, "counts": _certainty_of_counts, "values": _certainty_of_values}
    sections = (
        Section("what", "What this is", (_introduction(subject),)),
        Section("made", "How it was made", (_method(subject),)),
        Section("columns", "Columns", tuple(columns[subject.makes](subject))),
        Section("load", "How to load it", tuple(_loading(subject))),
        Section("limits", "What not to conclude", (BulletList(tuple(limitations(subject))),)),
        Section("certainty", "How sure its numbers are", tuple(certainty[subject.makes](subject))),
        *_rules(subject),
        contact_section(subject),
        Section("files", "Files and fingerprint", tuple(_files(subject))),
    )
    document = subject.document
    lead = say("lead", day=document.created_at[:10], version=document.versions["sfumato"])
    footer = f"The report of this release is report.html. Fingerprint {document.fingerprint}"
    return page_for_people(subject, title(subject), lead, sections, "Sfumato release, for users of the data", footer)


def page_for_people(
    subject: PublicRelease, heading: str, lead: str, sections: tuple[Section, ...], kicker: str, footer: str
) -> Page:
    """Return a page about a release, with its warnings on top and the stamp of a test run in the browser's tab."""
    stamp = subject.document.randomness.stamp
    tab = f"{heading} ({stamp})" if stamp else heading
    return Page(heading, lead, page_warnings(subject), sections, kicker, footer, tab)


def _introduction(subject: PublicRelease) -> Paragraphs:
    """Say what lies here."""
    size = " ".join(filter(None, (size_sentence(subject), subject.document.method.about)))
    words = (subject.schema.description, size, *_nature(subject), *_use(subject))
    return Paragraphs(tuple(filter(None, words)))


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


def _method(subject: PublicRelease) -> Paragraphs:
    """Say in three sentences how it was made."""
    document = subject.document
    first = say("what.method", method=document.method.name, summary=document.method.summary)
    second = say("what.no_bound")
    if document.guarantee.formal and document.unit.startswith(ONE_VALUE):
        second = say("what.noise_of_value", unit=document.unit)
    elif document.guarantee.formal:
        second = say("what.noise", unit=document.unit.split(" (")[0])
    return Paragraphs((f"{first} {second} {document.guarantee.headline()}",))


def _loading(subject: PublicRelease) -> Iterator[Block]:
    yield Paragraphs((say("here"),))
    yield from {"rows": row_loading_code, "counts": marginal_loading_code, "values": value_loading_code}[subject.makes](
        subject
    )
    if subject.makes == "rows":
        yield from csv_loading_code(subject)


def _columns_of_rows(subject: PublicRelease) -> Iterator[Block]:
    yield Paragraphs((say("columns.typed"),))
    header = ("column", "what it is", "kind", "unit", "values", "missing in data.csv")
    dialect = set(subject.first.columns) <= set(subject.schema.names)
    yield TableBlock(header, tuple(_row(subject, column, dialect) for column in subject.columns))
    yield from _meanings(subject)


def _row(subject: PublicRelease, column: Column, dialect: bool) -> tuple[str, ...]:
    return *_facts(column), f"{_values(column)}{_form(column)}", _missing(subject, column, dialect)


def _values(column: Column) -> str:
    """Return bounds with marks between thousands, or the first levels."""
    if column.kind != "number" or column.bounds is None:
        return column.domain_words
    return " to ".join(format_number(end) if abs(end) >= 1000 else f"{end:.15g}" for end in column.bounds)


def _facts(column: Column) -> tuple[str, str, str, str]:
    target = ["what readers are to predict"] if column.role == "target" else []
    words = "; ".join([*([column.description] if column.description else []), *target])
    return column.name, words, column.kind, column.unit or ""


def _form(column: Column) -> str:
    """Return what else is known of the values: their steps and decimals."""
    if column.step is not None:
        kind = "first days of a" if column.kind == "date" else "multiples of"
        return f"; {kind} {column.step}"
    return f"; {column.decimals} decimals" if column.decimals else ""


def _missing(subject: PublicRelease, column: Column, dialect: bool) -> str:
    if not column.missing:
        return "never missing"
    return (missing_marker(subject.schema, column.name) if dialect else "") or "empty"


def _columns_of_counts(subject: PublicRelease) -> Iterator[Block]:
    names = sorted({count_name(table.columns) for table in subject.tables}, key=len)
    yield Paragraphs((say("columns.cells", counts=" or ".join(names)),))
    rows = tuple(
        (
            *_facts(column),
            format_number(column.size),
            _values(column),
            "a cell of its own" if column.missing else "never",
        )
        for column in subject.columns
    )
    yield TableBlock(("column", "what it is", "kind", "unit", "cells", "values", "missing"), rows, (4,))
    yield from _meanings(subject)


def _columns_of_values(subject: PublicRelease) -> Iterator[Block]:
    yield Paragraphs((subject.document.method.about or subject.document.method.summary,))
    names = dict.fromkeys(name for table in subject.tables for name in table.columns)
    words = say.table("columns")["values"]
    rows = tuple((name, words.get(name, "a released number")) for name in names)
    yield TableBlock(("column", "what it is"), rows)


def _meanings(subject: PublicRelease) -> Iterator[Block]:
    """Yield what coded values mean."""
    lines = tuple(_meaning(column) for column in subject.columns if column.value_labels)
    if lines:
        yield BulletList(lines)


def _meaning(column: Column) -> str:
    pairs = list(dict(column.value_labels).items())
    more = f"; and {len(pairs) - MOST_MEANINGS} more in schema.toml" if len(pairs) > MOST_MEANINGS else ""
    return f"{column.name}: " + "; ".join(f"{value} = {words}" for value, words in pairs[:MOST_MEANINGS]) + more


def _certainty_of_rows(subject: PublicRelease) -> Iterator[Block]:
    if subject.is_copied:
        yield Paragraphs((say("certainty.copies"),))
    if not subject.document.guarantee.formal:
        yield Paragraphs((say("certainty.unknown"),))
        return
    good = quality_lines(subject.forecast)
    if good is not None and good.lines:
        yield Paragraphs((good.basis,))
        yield TableBlock(
            ("what is read off the rows", "expected error"), tuple((line.words, line.number) for line in good.lines)
        )
    yield from _computed(subject)
    yield from _asking(_questions(subject))
    yield Paragraphs((say("certainty.bought"),))


def _computed(subject: PublicRelease) -> Iterator[Block]:
    """Yield the main numbers with their expected errors, where the release was saved with reruns."""
    numbers = main_numbers_table(subject.document, subject.schema)
    if numbers is not None:
        yield Paragraphs(numbers.sentences)
        yield TableBlock(numbers.header, tuple(numbers.rows[:MOST_NUMBERS]), (1, 2, 3))
        if len(numbers.rows) > MOST_NUMBERS:
            yield Paragraphs((f"{len(numbers.rows) - MOST_NUMBERS} more stand in report.html and datacard.json.",))


def _questions(subject: PublicRelease) -> list[str]:
    """Return questions that may be asked of these rows; names with odd letters are left to the reader."""
    columns = [column for column in subject.columns if column.name.isprintable() and column.name.isascii()]
    mean = next((column.name for column in columns if column.kind in ("integer", "number")), None)
    levelled = (column for column in columns if not column.is_ordered and len(column.levels) <= MOST_LEVELS)
    group = next((column.name for column in levelled), None)
    asked = [f"shares of {group}" if group else None, f"mean {mean}" if mean else None]
    asked.append(f"mean {mean} by {group}" if mean and group else None)
    return [question for question in asked if question]


def _asking(questions: list[str]) -> Iterator[Block]:
    if not questions:
        return
    yield Paragraphs((say("certainty.free"),))
    asked = "\n".join(f"sfumato uncertainty . --statistic {shlex.quote(question)}" for question in questions)
    yield CodeBlock("In a terminal", "sh", asked)
    call = f'result = sfumato.uncertainty(".", {python_code(questions)})'
    loop = "for each in result.estimates:\n    print(each.name, each.value, each.low, each.high)"
    yield CodeBlock("In Python", "python", f"import sfumato\n\n{call}\n{loop}")
    yield Paragraphs((say("certainty.population"),))


def _certainty_of_counts(subject: PublicRelease) -> Iterator[Block]:
    widths = noise_half_widths(subject)
    if not subject.document.guarantee.formal:
        yield Paragraphs((say("certainty.unknown"),))
    elif widths:
        yield Paragraphs((say("certainty.counts"),))
        rows = tuple(
            (name, f"± {format_number(float(f'{width:.3g}'))}") for name, width in list(widths.items())[:MOST_TABLES]
        )
        yield TableBlock(("table", "95 % of the noise"), rows, (1,))
        if len(widths) > MOST_TABLES:
            yield Paragraphs((f"{len(widths) - MOST_TABLES} more tables stand in datacard.json.",))
        name = subject.columns[0].name if subject.columns else ""
        yield from _asking([f"counts of {name}"] if name.isprintable() and name.isascii() else [])


def _certainty_of_values(subject: PublicRelease) -> Iterator[Block]:
    yield Paragraphs((say("certainty.noise_sd" if "noise_sd" in subject.first.columns else "certainty.no_noise_sd"),))


def _rules(subject: PublicRelease) -> Iterator[Section]:
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


def _files(subject: PublicRelease) -> Iterator[Block]:
    """Yield the files, and how to check that they are those of the release."""
    paths = [*subject.document.files_without_pages, *FILE_DESCRIPTIONS]
    named = [path for path in dict.fromkeys(paths) if path in subject.document.files_without_pages or path in ALWAYS]
    rows = tuple((path, describe_file(path), _size(subject, path)) for path in named[:MOST_FILES])
    yield TableBlock(("file", "what it is", "bytes"), rows, (2,))
    if len(named) > MOST_FILES:
        yield Paragraphs((f"{len(named) - MOST_FILES} more data files are listed in datacard.json.",))
    fingerprint = say("ask.fingerprint", fingerprint=subject.document.fingerprint)
    yield Paragraphs((say("ask.unchanged"),))
    yield CodeBlock("", "sh", "sfumato verify .")
    yield Paragraphs((fingerprint, say("ask.hashes"), say("ask.signed")))
    yield CodeBlock("", "sh", "sfumato verify . --key custodian.pub")


def _size(subject: PublicRelease, path: str) -> str:
    record = subject.document.files_without_pages.get(path)
    return "" if record is None else format_number(record.bytes)
