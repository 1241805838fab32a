"""The verb sfumato compare: synthetic against private rows, for the custodian."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import (
    CUSTODIAN_NOTICE,
    EvaluationOptions,
    HoldoutOptions,
    PrivatePageOptions,
    Repeat,
    split_names,
)

if TYPE_CHECKING:
    from sfumato.evaluate.column_copies import ColumnCopies, Ratio
    from sfumato.evaluate.compare.result import Comparison, MetricWithYardstick
    from sfumato.table import Table

USES = {"single": "single columns", "pairs": "pairs of columns", "prediction": "prediction"}
MOST_SHOWN = 5
"""Worst columns, pairs and subgroups that are named."""
ALL_COLUMNS = "all"


def compare(
    rows: HoldoutOptions,
    page: PrivatePageOptions,
    console: Console,
    target: Annotated[
        str | None, typer.Option(help="Column that models predict; default: up to 12 columns of the table.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Also compare ECDF, mean, median and quantiles of these columns of numbers or dates, such as "
            "age,income, or 'all', averaged over the copies of the release.",
        ),
    ] = None,
    seed: Repeat = 0,
) -> None:
    """Compare a release with the confidential table.

    Each measure is printed beside the value that as many fresh real rows would reach, estimated from --holdout or from
    halves of DATA. For the custodian's eyes only, so
    it costs nothing.
    """
    from sfumato.evaluate.compare.run import compare as compare_tables

    page.require_free("the page of a comparison")
    with console.progress("comparing"):
        table = rows.read()
        comparison = compare_tables(rows.bundle, table, rows.read_holdout(), target, seed or 0)
        values = {} if columns is None else _compare_values(rows, table, columns)
    saved = None if page.out is None else comparison.save(page.out)
    _show(console, comparison)
    if values:
        _show_values(console, values)
    if saved is not None:
        console.say(f"page: {saved} (custodian's copy, do not publish)", style="bold")
    console.say(CUSTODIAN_NOTICE, style="yellow")
    document = {"notice": CUSTODIAN_NOTICE, **comparison.to_dict()}
    document |= {"values": {name: each.model_dump(mode="json") for name, each in values.items()}} if values else {}
    console.print_json(document | ({} if saved is None else {"page": str(saved)}))


def _compare_values(rows: EvaluationOptions, table: Table, columns: str) -> dict[str, ColumnCopies]:
    from sfumato.evaluate.column_copies import compare_copies

    names = None if columns == ALL_COLUMNS else split_names(columns)
    return compare_copies(table, rows.bundle, rows.facts, names)


def _show_values(console: Console, values: Mapping[str, ColumnCopies]) -> None:
    """Print differences of the ECDF (best: 0), and ratios of mean, median and quantiles (best: 1)."""
    first = next(iter(values.values()))
    headers = ("column", "ECDF, largest", "ECDF, mean square", *(f"{each.name}, ratio" for each in first.ratios))
    lines = [[name, *map(str, (c.ecdf_max, c.ecdf_msq)), *map(_ratio, c.ratios)] for name, c in values.items()]
    title = f"Synthetic against confidential values, {first.copies} cop{'ies' if first.copies > 1 else 'y'}"
    console.table(title, headers, lines)


def _ratio(each: Ratio) -> str:
    return "true value is 0" if each.ratio is None else str(each.ratio)


def _show(console: Console, comparison: Comparison) -> None:
    from sfumato.metrics.catalogue import METRICS

    console.panel(
        f"{comparison.table}: {comparison.grade}",
        comparison.verdict,
        "green" if comparison.grade != "not usable" else "red",
    )
    rows = [[f"{m.name}: {METRICS[m.name].label}", _value(m), _yardstick_text(m)] for m in comparison.measures.values()]
    console.table("Measures, with 95 % intervals", ("measure", "release", "second real sample"), rows)
    equal = [f"{USES[use]}: {_rows_in_words(rows)}" for use, rows in comparison.equivalent_rows.items()]
    console.say(f"As close as a random sample of this many real rows: {'; '.join(equal)}.")
    for line in _worst(comparison):
        console.say(line)
    for note in comparison.notes:
        console.say(f"Note: {note}.")


def _value(measure: MetricWithYardstick) -> str:
    mark = "" if measure.as_good else " *"
    return f"{measure.value:.2g} ({measure.low:.2g} to {measure.high:.2g}){mark}"


def _yardstick_text(measure: MetricWithYardstick) -> str:
    return f"{measure.yardstick:.2g} ({measure.yardstick_low:.2g} to {measure.yardstick_high:.2g})"


def _rows_in_words(rows: float) -> str:
    return f"{rows:,.0f}" if rows < float("inf") else "as many as the table has, or more"


def _worst(comparison: Comparison) -> list[str]:
    """Return the columns, pairs and subgroups that differ most."""
    by_name = {column.name: column for column in comparison.columns}
    columns = [
        f"{n} (tvd {by_name[n].tvd:.3g}, {by_name[n].yardstick:.3g})" for n in comparison.worst_columns[:MOST_SHOWN]
    ]
    pairs = [" x ".join(names) for names in comparison.worst_pairs[:MOST_SHOWN]]
    groups = [
        f"{each.target} where {each.column} is {each.level} (tvd {each.tvd:.3g}, {each.yardstick:.3g})"
        for each in comparison.worst_subgroups[:MOST_SHOWN]
    ]
    named: dict[str, list[Any]] = {"columns": columns, "pairs": pairs, "subgroups": groups}
    lines = [f"Largest differences, {what}: {'; '.join(texts)}." for what, texts in named.items() if texts]
    starred = any(not measure.as_good for measure in comparison.measures.values())
    return ["* worse than a second real sample would be."] * starred + lines
