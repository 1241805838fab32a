"""What a comparison is given: a release, a bundle or anybody's rows, and the table that they were made from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.comparison.sides import MOST_PAIRS, MOST_ROWS, Layout, Side, read_lenient, read_points
from sfumato.errors import BundleError
from sfumato.release.release import Release
from sfumato.rows.given import Given, given, opened_rows, shared_columns, true_table
from sfumato.schema import Schema

HOW = "compare(released, table)"


@dataclass(frozen=True, eq=False)
class Laid:
    """Everything read and coded, and what is to be said about it."""

    layout: Layout
    true: Side
    made: Side
    holdout: Side | None
    notes: tuple[str, ...]


def laid(released: Any, table: Any, holdout: Any, schema: Schema | str | Path | None, seed: int) -> Laid:
    """Read and code both sides, or refuse with the reason."""
    was = given(released)
    rows = _rows(was, released)
    true = true_table(table, schema, was.schema, HOW)
    made = rows if was.schema is not None else opened_rows(rows, true.schema)
    names, absent = shared_columns(true.schema, made)
    left_out = [f"not in the release, so not compared: {', '.join(absent)}"] if absent else []
    points = read_points(true, true.schema, names, "the table", seed)
    other, told = read_lenient(made, true.schema, names, "the release", seed)
    apart = (
        None
        if holdout is None
        else read_points(true_table(holdout, None, true.schema, HOW), true.schema, names, "the holdout", seed)
    )
    layout = Layout.of(true.schema, [true.schema[name] for name in names], points)
    notes = [*was.notes, *left_out, *told, *_sampled(layout, points, other)]
    held = None if apart is None else layout.side(apart)
    return Laid(layout, layout.side(points), layout.side(other), held, tuple(notes))


def _rows(made: Given, released: Any) -> Any:
    """Return the released rows; counts and values cannot be compared row by row."""
    if made.makes != "rows":
        what = "the release" if isinstance(released, Release) else repr(str(released))
        raise BundleError(
            f"{what} holds {made.makes}, not rows: there is nothing to compare row by row",
            next_step="give a release of synthetic rows; 'sfumato calibrate' measures the error of counts, and "
            "'sfumato utility' what else a release can be used for",
        )
    return made.rows


def _sampled(layout: Layout, *sides: Any) -> list[str]:
    columns, notes = len(layout.cells), list[str]()
    if columns * (columns - 1) // 2 > MOST_PAIRS:
        notes.append(f"of the pairs of columns a fixed sample of {MOST_PAIRS:,} is compared")
    if any(len(side) == MOST_ROWS for side in sides):
        notes.append(f"of a table with more rows, a random sample of {MOST_ROWS:,} is compared")
    if layout.schema.person is not None:
        notes.append("all rows of the table are compared, also those of a person beyond what a release counts")
    return notes
