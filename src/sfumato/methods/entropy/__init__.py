"""The entropy of a column, released by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.entropy.method import EntropyRelease as EntropyRelease

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "EntropyRelease": "sfumato.methods.entropy.method",
    },
)
