"""Render report.html, and the custodian's version of it with true counts.

The public page is computed from the document, the schema and the released tables, and from nothing else. The
custodian's copy also gets true counts, and says so on top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.bundle.description import warnings_of
from sfumato.bundle.document import ReleaseDocument, Tables
from sfumato.core.method import HasTrueValues, Method
from sfumato.formatting import format_number
from sfumato.report.page import print_margins, render_page
from sfumato.report.release_page.data import data_section, marginals_for_true_counts
from sfumato.report.release_page.fine_print import fine_print
from sfumato.report.release_page.first_screen import first_screen
from sfumato.report.texts.statistics import StatisticText, statistic_texts
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.bundle.quality_statement import QualityStatement
    from sfumato.table import Table


def public_report(
    document: ReleaseDocument, schema: Schema, tables: Tables, statements: Sequence[QualityStatement] = ()
) -> str:
    """Return the page that goes into the bundle; with ``statements``, the one that also shows bought numbers."""
    return _render(document, schema, data_section(document, schema, tables), None, statements=statements)


def custodian_report(
    document: ReleaseDocument,
    schema: Schema,
    tables: Tables,
    table: Table,
    method: Method,
    confidential: Mapping[str, Any] | None = None,
) -> str:
    """Return the custodian's copy: true values beside the released ones, and numbers about the private rows."""
    own = statistic_texts(confidential or {})
    if isinstance(method, HasTrueValues):
        some = (schema.releasable[0],)
        shown = data_section(document, schema, tables, method.true_values(table))
        return _render(document, schema, shown, int(table.marginals([some])[some].sum()), own)
    sets = marginals_for_true_counts(document, schema, tables)
    truth = table.marginals(sets)
    return _render(document, schema, data_section(document, schema, tables, truth), int(truth[sets[0]].sum()), own)


def _render(
    document: ReleaseDocument,
    schema: Schema,
    shown: Mapping[str, Any],
    true_rows: int | None,
    confidential: Sequence[StatisticText] = (),
    statements: Sequence[QualityStatement] = (),
) -> str:
    return render_page(
        "report.html.j2",
        version=document.versions["sfumato"],
        document=document,
        private=true_rows is not None,
        banners=warnings_of(document, true_rows),
        sheet=print_margins(document),
        confidential=confidential,
        say=format_number,
        **first_screen(document, schema, statements),
        **shown,
        **fine_print(document, schema),
    )
