"""Noise of each released marginal, from the events of release.json."""

from __future__ import annotations

from sfumato.bundle.document import ReleaseDocument
from sfumato.core.plan import StageNoise as StageNoise


def noise_by_stage(document: ReleaseDocument) -> dict[str, StageNoise]:
    """Return the noise of each measured table by the name of its stage."""
    return {part.stage: StageNoise(event.kind, part.scale) for event in document.events for part in event.parts}
