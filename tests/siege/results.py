"""The result that each part of the siege returns, one row of its table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """What was tried, how often, and how many tries failed; ``notes`` names the first failures."""

    name: str
    tried: int
    failed: int
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.failed <= self.tried:
            raise ValueError(f"{self.failed} of {self.tried} failed")
