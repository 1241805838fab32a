"""Marginals: a tree model of noisy one- and two-way marginals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.marginals.method import Marginals as Marginals

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Marginals": "sfumato.mechanisms.marginals.method",
    },
)
