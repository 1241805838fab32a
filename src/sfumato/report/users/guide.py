"""The guide to a release: every section in the order in which a user of the data needs it."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.report.users import about
from sfumato.report.users.asking import files_told, rules_told, whom_to_ask
from sfumato.report.users.certainty import certainty_told
from sfumato.report.users.columns import columns_told
from sfumato.report.users.limits import limits_told
from sfumato.report.users.load_counts import count_listings, value_listings
from sfumato.report.users.load_rows import row_listings
from sfumato.report.users.load_text import text_blocks
from sfumato.report.users.parts import Block, Guide, Prose, Section
from sfumato.report.users.subject import Subject

HERE = "All lines are for the folder that holds these files."


def guide_of(subject: Subject) -> Guide:
    """Return the guide; it follows from the document and the schema alone."""
    sections = (
        about.what_it_is(subject),
        about.how_made(subject),
        columns_told(subject),
        Section("load", "How to load it", tuple(_loading(subject))),
        limits_told(subject),
        certainty_told(subject),
        *rules_told(subject),
        whom_to_ask(subject),
        files_told(subject),
    )
    return Guide(about.title(subject), about.lead(subject), about.top(subject), sections)


def _loading(subject: Subject) -> Iterator[Block]:
    yield Prose((HERE,))
    yield from {"rows": row_listings, "counts": count_listings, "values": value_listings}[subject.makes](subject)
    if subject.makes == "rows":
        yield from text_blocks(subject)
