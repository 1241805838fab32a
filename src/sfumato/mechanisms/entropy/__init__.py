"""EntropyRelease: entropy of columns with its own budget, its sensitivity and expected error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.entropy.method import EntropyRelease as EntropyRelease

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "EntropyRelease": "sfumato.mechanisms.entropy.method",
    },
)
