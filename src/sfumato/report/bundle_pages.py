"""All pages of a bundle by file name; bundle/ calls this through a hook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.standards.croissant import croissant
from sfumato.bundle.standards.datacard import DataCard
from sfumato.bundle.standards.datapackage import datapackage
from sfumato.bundle.standards.deployments_registry import RegistryEntry
from sfumato.bundle.subject import PublicRelease
from sfumato.report.blocks import Page
from sfumato.report.page import to_html, to_markdown
from sfumato.report.readme.readme import readme_of
from sfumato.report.release_page.data import Tables
from sfumato.schema import Schema


class BundlePages:
    """Every page of a release; each is drawn when it is asked for, from public files alone."""

    def __init__(self, document: ReleaseDocument, schema: Schema, tables: Tables) -> None:
        self.document, self.schema, self.tables = document, schema, tables
        self._subject = PublicRelease(document, schema)

    @cached_property
    def _guide(self) -> Page:
        return readme_of(self._subject)

    def _report(self) -> str:
        from sfumato.report.release_page.page import public_report

        return public_report(self.document, self.schema, self.tables)

    @property
    def drawings(self) -> Mapping[str, Callable[[], str]]:
        """What draws each page, by the name of its file."""
        return {
            "report.html": self._report,
            "README.html": lambda: to_html(self._guide, self.document.versions["sfumato"]),
            "README.md": lambda: to_markdown(self._guide),
            "datacard.json": lambda: DataCard.of(self._subject).to_json(),
            "croissant.json": lambda: croissant(self._subject, self.tables),
            "datapackage.json": lambda: datapackage(self._subject, self.tables),
            "registry.yaml": lambda: RegistryEntry.of(self._subject).to_yaml(),
        }
