"""One self-contained page about a release.

The public page is computed from the document, the schema and the released tables, and from nothing else. The
custodian's copy also gets true counts, and says so on top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.release.method import Method, ReleasesValues
from sfumato.report.document import ReleaseDocument
from sfumato.report.page import render
from sfumato.report.paper import sheet
from sfumato.report.released.data import Tables, data_shown, drawn_sets
from sfumato.report.released.fine import fine_print
from sfumato.report.released.first import first_screen
from sfumato.report.words.banners import banners
from sfumato.report.words.numbers import say
from sfumato.report.words.statistics import Fact, facts_of
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.quality.document import QualityDocument
    from sfumato.table import Table


def public_page(
    document: ReleaseDocument, schema: Schema, tables: Tables, statements: Sequence[QualityDocument] = ()
) -> str:
    """Return the page that goes into the bundle; with ``statements``, the one that also shows bought numbers."""
    return _render(document, schema, data_shown(document, schema, tables), None, statements=statements)


def private_page(
    document: ReleaseDocument,
    schema: Schema,
    tables: Tables,
    table: Table,
    method: Method,
    confidential: Mapping[str, Any] | None = None,
) -> str:
    """Return the custodian's copy: true values beside the released ones, and numbers about the private rows."""
    own = facts_of(confidential or {})
    if isinstance(method, ReleasesValues):
        some = (schema.releasable[0],)
        shown = data_shown(document, schema, tables, method.true_values(table))
        return _render(document, schema, shown, int(table.marginals([some])[some].sum()), own)
    sets = drawn_sets(document, schema, tables)
    truth = table.marginals(sets)
    return _render(document, schema, data_shown(document, schema, tables, truth), int(truth[sets[0]].sum()), own)


def _render(
    document: ReleaseDocument,
    schema: Schema,
    shown: Mapping[str, Any],
    true_rows: int | None,
    confidential: Sequence[Fact] = (),
    statements: Sequence[QualityDocument] = (),
) -> str:
    return render(
        "report.html.j2",
        version=document.versions["sfumato"],
        document=document,
        private=true_rows is not None,
        banners=banners(document, true_rows),
        sheet=sheet(document),
        confidential=confidential,
        say=say,
        **first_screen(document, schema, statements),
        **shown,
        **fine_print(document, schema),
    )
