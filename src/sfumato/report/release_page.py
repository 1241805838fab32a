"""One self-contained page about a release.

The public page is computed from the document, the schema and the released tables, and from nothing else. The
custodian's copy also gets true counts, and says so on top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.release.method import Method, ReleasesValues
from sfumato.report import card
from sfumato.report.charts.figures import Figure, chart_sets, count_figures, row_figures
from sfumato.report.charts.graph import graph_figure
from sfumato.report.charts.values import value_figures
from sfumato.report.charts.views import ColumnSet, Counts, say
from sfumato.report.document import ReleaseDocument, released_schema
from sfumato.report.facts import Fact, facts_of, statistics
from sfumato.report.page import render
from sfumato.report.vouched import who_vouched
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table

Tables = Mapping[ColumnSet, "pa.Table"]


def public_page(document: ReleaseDocument, schema: Schema, tables: Tables) -> str:
    """Return the page that goes into the bundle."""
    return _render(document, schema, _figures(document, schema, tables, None), None)


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
        figures = value_figures(tables, method.true_values(table))
        return _render(document, schema, figures, int(table.marginals([some])[some].sum()), own)
    sets = _drawn_sets(document, schema, tables)
    truth = table.marginals(sets)
    return _render(document, schema, _figures(document, schema, tables, truth), int(truth[sets[0]].sum()), own)


def _drawn_sets(document: ReleaseDocument, schema: Schema, tables: Tables) -> list[ColumnSet]:
    if document.method.makes == "counts":
        return list(tables)
    return chart_sets(document, schema, next(iter(tables.values())).column_names)


def _figures(
    document: ReleaseDocument, schema: Schema, tables: Tables, truth: Mapping[ColumnSet, Counts] | None
) -> list[Figure]:
    if document.method.makes == "values":
        return value_figures(tables)
    if document.method.makes == "counts":
        return count_figures(document, schema, tables, truth)
    from sfumato.table import read

    rows = next(iter(tables.values()))
    counts = read(rows, released_schema(schema, rows.column_names)).marginals(_drawn_sets(document, schema, tables))
    return [*graph_figure(document, schema), *row_figures(document, schema, counts, truth)]


def _render(
    document: ReleaseDocument,
    schema: Schema,
    figures: Sequence[Figure],
    true_rows: int | None,
    confidential: Sequence[Fact] = (),
) -> str:
    specs = {f"chart-{i}-{j}": panel.spec for i, f in enumerate(figures, 1) for j, panel in enumerate(f.panels, 1)}
    return render(
        "report.html.j2",
        specs,
        version=document.versions["sfumato"],
        document=document,
        private=true_rows is not None,
        banners=card.banners(document, true_rows),
        epsilon=card.epsilon(document),
        released=card.released(document),
        promise=document.statement.splitlines(),
        cost=card.cost(document),
        identified=card.identified(document, schema),
        stages=card.stages(document),
        stage_note=card.stage_note(document),
        figures=figures,
        not_drawn=card.not_drawn(document),
        statistics=statistics(document),
        confidential=confidential,
        vouched=who_vouched(schema),
        columns=card.columns(document, schema),
        say=say,
    )
