"""README: expected errors of the main numbers, and commands for any other number."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from sfumato.bundle.description import MOST_LEVELS, PublicRelease
from sfumato.bundle.limitations import noise_half_widths
from sfumato.formatting import format_number
from sfumato.report.blocks import Block, CodeBlock, Paragraphs, Section, TableBlock
from sfumato.report.readme.code_literals import lines, python_list
from sfumato.report.texts.main_numbers import main_numbers_table
from sfumato.report.texts.verdict import quality_lines

MOST_NUMBERS, MOST_TABLES = 10, 12
FREE = "Only these files are used: it costs nothing, and everybody gets the same answer."
POPULATION = (
    "Intervals are for the number that the confidential table has. If that table is itself a sample, and you speak of "
    "everybody it was drawn from, add --population (population=True)."
)
COPIES = (
    "Compute your number on each copy. The mean of the results is the estimate; how far they lie apart is what the "
    "drawing of the rows adds to its uncertainty."
)
BOUGHT = (
    "If quality.json lies beside this file, somebody has paid for measured numbers: how near these rows lie to the "
    "table, with intervals. The guarantee of all that lies here is then the one that quality.json states, or the last "
    "of several: it counts these files and every statement."
)
UNKNOWN = (
    "Nobody can say how far a number of this release lies off: no expected errors are known of a release without a "
    "formal promise. Ask the custodian to compute on the table itself what matters."
)


def uncertainty_section(subject: PublicRelease) -> Section:
    """Say how to treat uncertainty."""
    look = {"rows": _of_rows, "counts": _of_counts, "values": _of_values}[subject.makes]
    return Section("certainty", "How sure its numbers are", tuple(look(subject)))


def _of_rows(subject: PublicRelease) -> Iterator[Block]:
    if subject.is_copied:
        yield Paragraphs((COPIES,))
    if not subject.document.guarantee.formal:
        yield Paragraphs((UNKNOWN,))
        return
    good = quality_lines(subject.forecast)
    if good is not None and good.lines:
        yield Paragraphs((good.basis,))
        yield TableBlock(
            ("what is read off the rows", "expected error"), tuple((words, number) for number, words in good.lines)
        )
    yield from _computed(subject)
    yield from _asking(_questions(subject))
    yield Paragraphs((BOUGHT,))


def _computed(subject: PublicRelease) -> Iterator[Block]:
    """Yield the main numbers with their expected errors, where the release was saved with reruns."""
    found = main_numbers_table(subject.document, subject.schema)
    if found is not None:
        yield Paragraphs(found.sentences)
        yield TableBlock(found.header, tuple(found.rows[:MOST_NUMBERS]), (1, 2, 3))
        if len(found.rows) > MOST_NUMBERS:
            yield Paragraphs((f"{len(found.rows) - MOST_NUMBERS} more stand in report.html and datacard.json.",))


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
    yield Paragraphs((f"For any other number, ask Sfumato (pip install sfumato) in this folder. {FREE}",))
    asked = lines([f"sfumato uncertainty . --statistic {shlex.quote(question)}" for question in questions])
    yield CodeBlock("In a terminal", "sh", asked)
    found = f'found = sfumato.uncertainty(".", {python_list(questions)})'
    shown = ["for each in found.estimates:", "    print(each.name, each.value, each.low, each.high)"]
    yield CodeBlock("In Python", "python", lines("import sfumato", "", found, shown))
    yield Paragraphs((POPULATION,))


def _of_counts(subject: PublicRelease) -> Iterator[Block]:
    widths = noise_half_widths(subject)
    if not subject.document.guarantee.formal:
        yield Paragraphs((UNKNOWN,))
    elif widths:
        yield Paragraphs(
            ("Every count is off by noise of a known law. 95 of 100 counts of a table lie within this of theirs:",)
        )
        rows = tuple(
            (name, f"± {format_number(float(f'{width:.3g}'))}") for name, width in list(widths.items())[:MOST_TABLES]
        )
        yield TableBlock(("table", "95 % of the noise"), rows, (1,))
        if len(widths) > MOST_TABLES:
            yield Paragraphs((f"{len(widths) - MOST_TABLES} more tables stand in datacard.json.",))
        name = subject.columns[0].name if subject.columns else ""
        yield from _asking([f"counts of {name}"] if name.isprintable() and name.isascii() else [])


def _of_values(subject: PublicRelease) -> Iterator[Block]:
    if "noise_sd" in subject.first.columns:
        yield Paragraphs(
            (
                "The column noise_sd holds the standard deviation of the noise on each number: the number that the "
                "noise was added to lies within 1.96 times that in 95 of 100 cases.",
            )
        )
    else:
        yield Paragraphs(("How large the noise is stands in release.json, under stages.",))
