"""Grid: rows drawn from one noisy grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.grid.method import Grid as Grid

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Grid": "sfumato.mechanisms.grid.method",
    },
)
