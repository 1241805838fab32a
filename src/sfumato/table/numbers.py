"""Raw numbers of chosen columns, batch by batch: for methods that sum values instead of counting cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import TableError
from sfumato.table.counting import CHANGED
from sfumato.table.values import countable, kept_rows

if TYPE_CHECKING:
    from sfumato.table import Table


def stream_numbers(table: Table, names: Sequence[str]) -> Iterator[NDArray[np.float64]]:
    """Yield matrices of float64, one row per record that counts and one column per name, in the order of the names.

    Values are read and clamped as for counting; at most ``rows_per_person`` rows of a person come. The columns must be
    numbers with bounds and without missing values; what does not fit is refused, as it was when the table was checked.
    """
    schema, engine = table.schema, table.source.engine
    kept = kept_rows(engine.table, schema)
    expression = kept.select(**{name: countable(kept[name], schema[name]).cast("float64") for name in names})
    bounds = np.array([schema[name].numeric_bounds for name in names], dtype=float)
    done = 0
    for batch in engine.batches(expression):
        matrix = np.empty((batch.num_rows, len(names)))
        for position in range(len(names)):
            matrix[:, position] = batch.column(position).to_numpy(zero_copy_only=False)
        _refuse_outside(names, ~((matrix >= bounds[:, 0]) & (matrix <= bounds[:, 1])))
        yield matrix
        done += batch.num_rows
        if table.progress is not None:
            table.progress(done)


def _refuse_outside(names: Sequence[str], outside: NDArray[np.bool_]) -> None:
    if not outside.any():
        return
    counts = zip(names, outside.sum(axis=0), strict=True)
    bad = [f"{name}: {count:,} values missing or outside the schema" for name, count in counts if count]
    raise TableError("the table does not fit its schema (it may have changed while it was read)", bad, CHANGED)
