"""Ma, Wu and Yan: REAEDP, entropy-calibrated differentially private data release.

Figures 1 to 8, S1, S2 and S4 and tables IV, S1 and S3: printed, ours, and why they differ. The published variants of
mechanism F live here too, and only here: ``resampling_law`` and ``visible_failure_law`` give no guarantee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.papers.page import page_of as page_of
    from sfumato.papers.page import summary as summary
    from sfumato.papers.reaedp.published import failure_counterexample as failure_counterexample
    from sfumato.papers.reaedp.published import loop_counterexample as loop_counterexample
    from sfumato.papers.reaedp.published import resampling_law as resampling_law
    from sfumato.papers.reaedp.published import visible_failure_law as visible_failure_law
    from sfumato.papers.reaedp.reproduction import parts as parts
    from sfumato.papers.reaedp.reproduction import reproduce as reproduce

__getattr__, __dir__ = lazy_names(__name__)
