"""How values are written: decimals, steps, first days of months, words for true and false.

Synthetic values are written alike, so that they drop into the scripts that read the original.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.schema.column import Column
from sfumato.table.sources import Source


def with_written_forms(opened: Source, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return drafted columns with the facts that say how their values are written."""
    del opened
    return tuple(columns)
