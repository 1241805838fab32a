"""Noise scale and 95 % half-width of each released marginal, from the stages of release.json."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.bundle.document import ReleaseDocument


@dataclass(frozen=True)
class StageNoise:
    """The public law of the noise on one table."""

    kind: str
    scale: float

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on one cell."""
        return self.scale * (math.sqrt(2) if self.kind.endswith("laplace") else 1.0)

    def half_width(self, cells: int = 1) -> float:
        """Return how far 95 % of the noise on a sum of cells lies from 0.

        >>> (
        ...     round(StageNoise("discrete-laplace", 2.0).half_width(), 2),
        ...     StageNoise("discrete-gaussian", 2.0).half_width(),
        ... )
        (5.99, 3.92)
        """
        if self.kind.endswith("laplace") and cells == 1:
            return self.scale * math.log(20)
        return 1.96 * self.deviation * math.sqrt(cells)


def noise_by_stage(document: ReleaseDocument) -> dict[str, StageNoise]:
    """Return the noise of each measured table by the name of its stage."""
    return {part.stage: StageNoise(event.kind, part.scale) for event in document.events for part in event.parts}
