"""Assemble the README: introduction, method, columns, loading, limitations, files."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.bundle.description import PublicRelease, page_warnings, title
from sfumato.bundle.limitations import limitations
from sfumato.report.blocks import Block, BulletList, Page, Paragraphs, Section
from sfumato.report.readme import about
from sfumato.report.readme.columns import columns_section
from sfumato.report.readme.contact_and_files import contact_section, files_section, rules_section
from sfumato.report.readme.loading import (
    csv_loading_code,
    marginal_loading_code,
    row_loading_code,
    value_loading_code,
)
from sfumato.report.readme.uncertainty import uncertainty_section
from sfumato.report.texts import Texts

say = Texts("readme")


def readme_of(subject: PublicRelease) -> Page:
    """Return the guide; it follows from the document and the schema alone."""
    sections = (
        about.introduction_section(subject),
        about.method_section(subject),
        columns_section(subject),
        Section("load", "How to load it", tuple(_loading(subject))),
        _limitations_section(subject),
        uncertainty_section(subject),
        *rules_section(subject),
        contact_section(subject),
        files_section(subject),
    )
    document, heading = subject.document, title(subject)
    stamp = f" ({document.randomness.stamp})" if document.randomness.stamp else ""
    return Page(
        heading,
        about.lead(subject),
        page_warnings(subject),
        sections,
        kicker="Sfumato release, for users of the data",
        footer=f"The report of this release is report.html. Fingerprint {document.fingerprint}",
        tab=f"{heading}{stamp}",
    )


def _limitations_section(subject: PublicRelease) -> Section:
    """Say what not to conclude."""
    return Section("limits", "What not to conclude", (BulletList(tuple(limitations(subject))),))


def _loading(subject: PublicRelease) -> Iterator[Block]:
    yield Paragraphs((say("here"),))
    yield from {"rows": row_loading_code, "counts": marginal_loading_code, "values": value_loading_code}[subject.makes](
        subject
    )
    if subject.makes == "rows":
        yield from csv_loading_code(subject)
