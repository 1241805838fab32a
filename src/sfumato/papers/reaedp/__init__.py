"""Ma, Wu and Yan: REAEDP, entropy-calibrated differentially private data release.

Figures 1 to 8, S1, S2 and S4 and tables IV, S1 and S3: printed, ours, and why they differ. The published variants of
mechanism F live here too, and only here: :func:`resampling_law` and :func:`visible_failure_law` give no guarantee.
"""

from __future__ import annotations

from sfumato.papers.reaedp.published import (
    Counterexample,
    failure_counterexample,
    loop_counterexample,
    resampling_law,
    visible_failure_law,
)
from sfumato.papers.reaedp.reproduce import page_of, parts, reproduce, summary
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
