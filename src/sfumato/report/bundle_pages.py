"""All pages of a bundle by file name; bundle/ calls this through a hook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from sfumato.bundle.description import PublicRelease
from sfumato.bundle.document import ReleaseDocument, Tables
from sfumato.bundle.standards.croissant import croissant
from sfumato.bundle.standards.datacard import DataCard
from sfumato.bundle.standards.datapackage import datapackage
from sfumato.bundle.standards.deployments_registry import RegistryEntry
from sfumato.report.blocks import Page
from sfumato.report.page import to_html, to_markdown
from sfumato.report.readme_page import readme_of
from sfumato.schema import Schema


def render_pages(document: ReleaseDocument, schema: Schema, tables: Tables) -> Mapping[str, Callable[[], str]]:
    """Return what draws each page of a release, by the name of its file, from public files alone."""
    subject = PublicRelease(document, schema)

    @cache
    def guide() -> Page:
        return readme_of(subject)

    def report() -> str:
        from sfumato.report.release_page.page import public_report

        return public_report(document, schema, tables)

    return {
        "report.html": report,
        "README.html": lambda: to_html(guide(), document.versions["sfumato"]),
        "README.md": lambda: to_markdown(guide()),
        "datacard.json": lambda: DataCard.of(subject).to_json(),
        "croissant.json": lambda: croissant(subject, tables),
        "datapackage.json": lambda: datapackage(subject, tables),
        "registry.yaml": lambda: RegistryEntry.of(subject).to_yaml(),
    }
