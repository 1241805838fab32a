"""The pages of a bundle: what draws each of them, for whoever writes a bundle and for whoever checks one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from sfumato.report.document import ReleaseDocument
from sfumato.report.released.data import Tables
from sfumato.report.standards.croissant import croissant
from sfumato.report.standards.datapackage import datapackage
from sfumato.report.standards.registry_entry import RegistryEntry
from sfumato.report.users.datacard import DataCard
from sfumato.report.users.guide import guide_of
from sfumato.report.users.markdown import markdown
from sfumato.report.users.page import page
from sfumato.report.users.parts import Guide
from sfumato.report.users.subject import Subject
from sfumato.schema import Schema


class Pages:
    """Every page of a release; each is drawn when it is asked for, from public files alone."""

    def __init__(self, document: ReleaseDocument, schema: Schema, tables: Tables) -> None:
        self.document, self.schema, self.tables = document, schema, tables
        self._subject = Subject(document, schema)

    @cached_property
    def _guide(self) -> Guide:
        return guide_of(self._subject)

    def _report(self) -> str:
        from sfumato.report.release_page import public_page

        return public_page(self.document, self.schema, self.tables)

    @property
    def drawings(self) -> Mapping[str, Callable[[], str]]:
        """What draws each page, by the name of its file."""
        return {
            "report.html": self._report,
            "README.html": lambda: page(self._guide, self._subject),
            "README.md": lambda: markdown(self._guide),
            "datacard.json": lambda: DataCard.of(self._subject).to_json(),
            "croissant.json": lambda: croissant(self._subject, self.tables),
            "datapackage.json": lambda: datapackage(self._subject, self.tables),
            "registry.yaml": lambda: RegistryEntry.of(self._subject).to_yaml(),
        }
