"""Histograms and contingency tables with noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.counts.contingency import Contingency as Contingency
    from sfumato.mechanisms.counts.histogram import Histogram as Histogram

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Contingency": "sfumato.mechanisms.counts.contingency",
        "Histogram": "sfumato.mechanisms.counts.histogram",
    },
)
