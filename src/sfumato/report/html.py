"""One self-contained page about a release.

The public page is computed from the document, the schema and the released tables, and from nothing else. The
custodian's copy also gets true counts, and says so on top.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2

from sfumato.privacy.exact import exact, show
from sfumato.report import charts
from sfumato.report.document import ReleaseDocument, released_schema
from sfumato.report.figures import (
    MOST_COLUMNS, MOST_FIGURES, Counts, Figure, Spread, chart_sets, count_figures, row_figures, say,
)  # fmt: skip
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table

ColumnSet = tuple[str, ...]
Tables = Mapping[ColumnSet, "pa.Table"]


@dataclass(frozen=True)
class PrivateFacts:
    """What only the custodian may see."""

    counts: Mapping[ColumnSet, Counts]
    rows: int


def public_page(document: ReleaseDocument, schema: Schema, tables: Tables) -> str:
    """Return the page that goes into the bundle."""
    return _render(document, schema, _figures(document, schema, tables, None), None)


def private_page(document: ReleaseDocument, schema: Schema, tables: Tables, table: Table) -> str:
    """Return the custodian's copy: true values beside the released ones."""
    sets = _drawn_sets(document, schema, tables)
    counts = table.marginals(sets)
    truth = PrivateFacts(counts, int(counts[sets[0]].sum()))
    return _render(document, schema, _figures(document, schema, tables, counts), truth)


def _drawn_sets(document: ReleaseDocument, schema: Schema, tables: Tables) -> list[ColumnSet]:
    if not document.method.makes_rows:
        return list(tables)
    return chart_sets(document, schema, next(iter(tables.values())).column_names)


def _figures(document: ReleaseDocument, schema: Schema, tables: Tables, truth: Mapping[ColumnSet, Counts] | None,
             ) -> list[Figure]:  # fmt: skip
    if not document.method.makes_rows:
        return count_figures(document, schema, tables, truth)
    from sfumato.table import read

    rows = next(iter(tables.values()))
    sets = _drawn_sets(document, schema, tables)
    return row_figures(document, schema, read(rows, released_schema(schema, rows.column_names)).marginals(sets), truth)


def _render(document: ReleaseDocument, schema: Schema, figures: Sequence[Figure], truth: PrivateFacts | None) -> str:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
                                     lstrip_blocks=True)  # fmt: skip
    text = resources.files("sfumato.report").joinpath("templates/report.html.j2").read_text(encoding="utf-8")
    specs = {f"chart-{i}-{j}": panel.spec for i, f in enumerate(figures, 1) for j, panel in enumerate(f.panels, 1)}
    page = environment.from_string(text).render(
        document=document, banners=card.banners(document, truth), released=card.released(document), figures=figures,
        promise=document.statement.splitlines(), cost=card.cost(document), identified=card.identified(document, schema),
        stages=card.stages(document), statistics=card.statistics(document), columns=card.columns(document, schema),
        hidden_tables=card.hidden(document), epsilon=card.epsilon(document), truth=truth, say=say,
        specs=_json({"config": charts.config(), "charts": specs}), vega=vega_script() if specs else "",
    )  # fmt: skip
    return page + "\n"


@cache
def vega_script() -> str:
    """Return the chart library as one script that needs no network."""
    import vl_convert

    return vl_convert.javascript_bundle().replace("</script", "<\\/script")


def _json(value: Any) -> str:
    """Return JSON that can stand inside a script element: no text in it can end the element."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


