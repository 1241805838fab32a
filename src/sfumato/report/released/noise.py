"""What the noise of the measured tables did to the bars of a page: from the public stages and events alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.arrays import Array
from sfumato.report.document import ReleaseDocument
from sfumato.report.released.points import edges_of
from sfumato.report.spread import Spread, spreads
from sfumato.rows.smooth.layers import LAYER_WORDS
from sfumato.schema.column import Column


@dataclass(frozen=True)
class Noise:
    """The noise behind the columns of released rows, carried over to the number of rows that were drawn."""

    document: ReleaseDocument
    rows: int

    @cached_property
    def _spreads(self) -> dict[str, Spread]:
        return spreads(self.document)

    @cached_property
    def _cells(self) -> dict[str, int]:
        return {stage.name: stage.cells for stage in self.document.stages}

    @cached_property
    def _scale(self) -> float:
        total = self.document.statistics.get("noisy_total")
        return self.rows / total if isinstance(total, int | float) and total > 0 else 1.0

    def of_levels(self, column: Column) -> float:
        """Return how far 95 % of the noise on the count of one level reaches; 0 where it is not known."""
        spread = self._spreads.get(column.name)
        return 0.0 if spread is None else spread.half_width() * self._scale

    def of_bars(self, column: Column, edges: Array) -> Array | None:
        """Return how far 95 % of the noise on each bar of numbers or dates reaches; none where it is not known."""
        places = edges_of(column)
        flat = self._of_cells(column, column.name, edges, places)
        if flat is not None:
            return flat
        equal = places[[0, -1]]
        layers = [self._of_cells(column, f"{column.name}: {words}", edges, equal) for words in LAYER_WORDS[:2]]
        known = [layer for layer in layers if layer is not None]
        return np.minimum.reduce(known) if known else None

    def _of_cells(self, column: Column, stage: str, edges: Array, places: Array) -> Array | None:
        """Return the noise of bars that are made of measured cells, which lie evenly between ``places``."""
        spread, cells = self._spreads.get(stage), self._cells.get(stage, 0) - int(column.missing)
        if spread is None or cells < 1:
            return None
        within = np.diff(np.interp(edges, places, np.linspace(0, cells, len(places))))
        reach = np.where(within >= 1, np.sqrt(within.clip(0)), within.clip(0))
        return spread.half_width() * self._scale * reach
