"""Utility metrics, each defined once; the name of a metric states its binning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.metrics.association import association as association
    from sfumato.metrics.binning import Binning as Binning
    from sfumato.metrics.catalogue import METRICS as METRICS
    from sfumato.metrics.distances import ecdf_max as ecdf_max
    from sfumato.metrics.distances import ecdf_msq as ecdf_msq
    from sfumato.metrics.distances import misplaced_records as misplaced_records
    from sfumato.metrics.distances import total_variation as total_variation

__getattr__, __dir__ = lazy_names(__name__)
