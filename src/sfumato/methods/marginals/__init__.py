"""The simple baseline synthesizer: a tree fitted to noisy one- and two-way tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.marginals.method import Marginals as Marginals

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Marginals": "sfumato.methods.marginals.method",
    },
)
