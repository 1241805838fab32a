"""Noisy counts: histograms and contingency tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.counts.contingency import Contingency as Contingency
    from sfumato.methods.counts.histogram import Histogram as Histogram

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Contingency": "sfumato.methods.counts.contingency",
        "Histogram": "sfumato.methods.counts.histogram",
    },
)
