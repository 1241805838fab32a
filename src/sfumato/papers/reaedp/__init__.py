"""Reproduction of the REAEDP paper: entropy-calibrated release, mechanism F, private mean curves and attacks.

Figures 1 to 8, S1, S2 and S4 and tables IV, S1 and S3: printed, ours, and why they differ. The published variants of
mechanism F live here too, and only here: :func:`resampling_law` and :func:`visible_failure_law` give no guarantee.
"""

from __future__ import annotations

from sfumato.papers.reaedp.compute import parts, reproduce
from sfumato.papers.reaedp.mechanism_as_published import (
    Counterexample,
    failure_counterexample,
    loop_counterexample,
    resampling_law,
    visible_failure_law,
)
from sfumato.papers.reaedp.page import page_of, summary
from sfumato.papers.reaedp.results import Reproduction

__all__ = [
    "Counterexample",
    "Reproduction",
    "failure_counterexample",
    "loop_counterexample",
    "page_of",
    "parts",
    "reproduce",
    "resampling_law",
    "summary",
    "visible_failure_law",
]
