"""Rows drawn from one noisy grid over the public box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.grid.method import Grid as Grid

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Grid": "sfumato.methods.grid.method",
    },
)
