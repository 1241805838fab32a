"""The record of a charged selection: which candidates there were, how far it went, what the rest would have cost."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from sfumato.privacy.accounting.event import Event


class Selection(BaseModel):
    """A ladder of candidate releases, fixed before the first, that stopped at a noisy success.

    The whole ladder is what a plain guarantee must count: that it stopped here, and not elsewhere, is seen. The part
    that was climbed bounds the outcome that happened (:mod:`sfumato.calibration.private`, Theorem 1).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    parameter: str
    values: tuple[float, ...]
    """All candidates, from the first rung up."""
    climbed: int
    """How many of them were released and scored; the last of these is the one that is kept."""
    target: str
    score_epsilon: str
    beta: float
    spent_epsilon: str
    spent_delta: str
    """What the climbed candidates and their scores cost together."""
    unclimbed: tuple[Event, ...]
    """Events of the rungs above: never run, but part of what could have been seen."""
