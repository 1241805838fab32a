"""README: expected errors of the main numbers, and commands for any other number."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from sfumato.bundle.description import MOST_LEVELS, PublicRelease
from sfumato.bundle.limitations import noise_half_widths
from sfumato.formatting import format_number
from sfumato.report.blocks import Block, CodeBlock, Paragraphs, Section, TableBlock
from sfumato.report.readme.code_literals import python_code
from sfumato.report.texts import Texts
from sfumato.report.texts.main_numbers import main_numbers_table
from sfumato.report.texts.verdict import quality_lines

MOST_NUMBERS, MOST_TABLES = 10, 12
say = Texts("readme")


def uncertainty_section(subject: PublicRelease) -> Section:
    """Say how to treat uncertainty."""
    look = {"rows": _of_rows, "counts": _of_counts, "values": _of_values}[subject.makes]
    return Section("certainty", "How sure its numbers are", tuple(look(subject)))


def _of_rows(subject: PublicRelease) -> Iterator[Block]:
    if subject.is_copied:
        yield Paragraphs((say("certainty.copies"),))
    if not subject.document.guarantee.formal:
        yield Paragraphs((say("certainty.unknown"),))
        return
    good = quality_lines(subject.forecast)
    if good is not None and good.lines:
        yield Paragraphs((good.basis,))
        yield TableBlock(
            ("what is read off the rows", "expected error"), tuple((words, number) for number, words in good.lines)
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


def _of_counts(subject: PublicRelease) -> Iterator[Block]:
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


def _of_values(subject: PublicRelease) -> Iterator[Block]:
    yield Paragraphs((say("certainty.noise_sd" if "noise_sd" in subject.first.columns else "certainty.no_noise_sd"),))
