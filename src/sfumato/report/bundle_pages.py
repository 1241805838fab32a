"""All pages of a bundle, and the custodian's copy beside it: bundle/ asks for both through hooks.

The custodian's copy of rows is the comparison with the confidential table, which can be made at any time after the
release as well; that of counts and values is the report with the true ones in it. The bundle is complete before
anything of it is drawn: what goes wrong there is a warning, and loses no release.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.bundle.description import PublicRelease
from sfumato.bundle.document import ReleaseDocument, Tables
from sfumato.bundle.standards.croissant import croissant
from sfumato.bundle.standards.datacard import DataCard
from sfumato.bundle.standards.datapackage import datapackage
from sfumato.bundle.standards.deployments_registry import RegistryEntry
from sfumato.errors import SfumatoError, UnwrittenCopyWarning, place_of
from sfumato.progress import report_progress
from sfumato.report.blocks import Page
from sfumato.report.page import to_html, to_markdown
from sfumato.report.readme_page import readme_of
from sfumato.report.texts.numbers import statistic_texts
from sfumato.schema import Schema
from sfumato.system import write_owner_only

if TYPE_CHECKING:
    from sfumato.bundle.document import ReleaseDocument
    from sfumato.core.release import Release
    from sfumato.table import Table
LATER = "sfumato compare BUNDLE DATA --out PAGE makes it at any time"


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


def render_custodian_copy(release: Release, document: ReleaseDocument, table: Table) -> str:
    """Return the page; it holds confidential values."""
    if release.method.makes == "rows":
        from sfumato.evaluate.compare.run import compare
        from sfumato.report.comparison_page import comparison_page

        return comparison_page(compare(release, table), statistic_texts(release.confidential))
    from sfumato.report.release_page.page import custodian_report

    return custodian_report(document, release.schema, release.tables, table, release.method, release.confidential)


def write_custodian_copy(release: Release, document: ReleaseDocument, table: Table, place: Path) -> None:
    """Write the page for its owner alone; a failure is a warning, as the release has its bundle already."""
    report_progress("drawing the custodian's copy")
    try:
        page = render_custodian_copy(release, document, table)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_owner_only(place, page)
    except Exception as error:  # noqa: BLE001  whatever it is, the bundle is complete
        reason = error.headline if isinstance(error, SfumatoError) else place_of(error)
        later = f"; {LATER}" if release.method.makes == "rows" else ""
        message = f"the custodian's copy {str(place)!r} was not written: {reason}{later}"
        warnings.warn(UnwrittenCopyWarning(message), stacklevel=4)
    except BaseException as stop:
        stop.add_note("the bundle is complete, but the custodian's copy was not written")
        raise
