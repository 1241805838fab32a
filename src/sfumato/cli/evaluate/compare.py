"""The verb sfumato compare: private against synthetic rows, for the custodian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import DEFAULT_DIALECT, AsJson, Data, Dialect, with_options
from sfumato.cli.released import MadeRows, OwnSchema, PrivatePage, facts_of, require_free
from sfumato.cli.risk.location import CONFIDENTIAL

if TYPE_CHECKING:
    from sfumato.evaluate.compare.result import Comparison, MetricWithYardstick

WHAT = "the page of a comparison"
USES = {"single": "single columns", "pairs": "pairs of columns", "prediction": "prediction"}
MOST_SHOWN = 5
"""Worst columns, pairs and subgroups that are named."""


@with_options
def compare(
    bundle: MadeRows,
    data: Data,
    holdout: Annotated[
        str | None, typer.Option(help="Real rows that were not in DATA: the yardstick. Halves of DATA unless said.")
    ] = None,
    schema: OwnSchema = None,
    target: Annotated[
        str | None, typer.Option(help="Column that models predict; up to 12 columns of the table unless said.")
    ] = None,
    out: PrivatePage = None,
    seed: Annotated[int, typer.Option(help="Repeat the same random splits.")] = 0,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Compare a release with the confidential table: how good it is, beside a second real sample. For your eyes.

    Costs nothing, because nothing of it may be published. A measure means little by itself: beside it stands what as
    many fresh real rows would have.
    """
    from sfumato.evaluate.compare.run import compare as compared
    from sfumato.table import read

    voice, facts = Voice(json), facts_of(bundle, schema)
    require_free(out, WHAT)
    with voice.counting("comparing"):
        table = read(data, facts, **dialect.stated())
        apart = None if holdout is None else read(holdout, facts, **dialect.stated())
        found = compared(bundle, table, apart, target, seed)
    page = None if out is None else found.save(out)
    _show(voice, found)
    if page is not None:
        voice.say(f"page: {page} (custodian's copy, do not publish)", style="bold")
    voice.say(CONFIDENTIAL, style="yellow")
    voice.document({"notice": CONFIDENTIAL, **found.to_dict(), **({} if page is None else {"page": str(page)})})


def _show(voice: Voice, found: Comparison) -> None:
    voice.panel(f"{found.table}: {found.grade}", found.verdict, "green" if found.grade != "not usable" else "red")
    from sfumato.metrics.catalogue import METRICS

    rows = [[f"{m.name}: {METRICS[m.name].label}", _value(m), _yardstick_text(m)] for m in found.measures.values()]
    voice.table("Measures, with 95 % intervals", ("measure", "release", "second real sample"), rows)
    equal = [f"{USES[use]}: {_rows_in_words(rows)}" for use, rows in found.equivalent_rows.items()]
    voice.say(f"As near as a random sample of so many real rows: {'; '.join(equal)}.")
    for line in _worst(found):
        voice.say(line)
    for note in found.notes:
        voice.say(f"Note: {note}.")


def _value(measure: MetricWithYardstick) -> str:
    mark = "" if measure.as_good else " *"
    return f"{measure.value:.2g} ({measure.low:.2g} to {measure.high:.2g}){mark}"


def _yardstick_text(measure: MetricWithYardstick) -> str:
    return f"{measure.yardstick:.2g} ({measure.yardstick_low:.2g} to {measure.yardstick_high:.2g})"


def _rows_in_words(rows: float) -> str:
    return f"{rows:,.0f}" if rows < float("inf") else "as many as the table has, or more"


def _worst(found: Comparison) -> list[str]:
    """Return what is furthest off, by name."""
    by_name = {column.name: column for column in found.columns}
    columns = [f"{n} (tvd {by_name[n].tvd:.3g}, {by_name[n].yardstick:.3g})" for n in found.worst_columns[:MOST_SHOWN]]
    pairs = [" x ".join(names) for names in found.worst_pairs[:MOST_SHOWN]]
    groups = [
        f"{each.target} where {each.column} is {each.level} (tvd {each.tvd:.3g}, {each.yardstick:.3g})"
        for each in found.worst_subgroups[:MOST_SHOWN]
    ]
    named: dict[str, list[Any]] = {"columns": columns, "pairs": pairs, "subgroups": groups}
    lines = [f"Furthest off, {what}: {'; '.join(texts)}." for what, texts in named.items() if texts]
    starred = any(not measure.as_good for measure in found.measures.values())
    return ["* further off than a second real sample would be."] * starred + lines
