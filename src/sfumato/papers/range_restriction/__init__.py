"""Hu, Williams and Savitsky (2026): privacy amplification by range restriction.

Figures 1 to 20 and table 1: printed, ours, and why they differ. The mechanism as printed is in ``published``; here it
only runs on the paper's data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.papers.page import page_of as page_of
    from sfumato.papers.page import summary as summary
    from sfumato.papers.range_restriction.families import make_family as make_family
    from sfumato.papers.range_restriction.families.sampled_models import SampledModel as SampledModel
    from sfumato.papers.range_restriction.families.sampled_models import independent_priors as independent_priors
    from sfumato.papers.range_restriction.published.method import (
        PseudoPosteriorAsPublished as PseudoPosteriorAsPublished,
    )
    from sfumato.papers.range_restriction.published.weights import Weighting as Weighting
    from sfumato.papers.range_restriction.reproduction import parts as parts
    from sfumato.papers.range_restriction.reproduction import reproduce as reproduce

__getattr__, __dir__ = lazy_names(__name__)
