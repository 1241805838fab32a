"""Hu, Williams and Savitsky (2026): privacy amplification by range restriction.

Figures 1 to 20 and table 1: printed, ours, and why they differ. The mechanism itself is in the library
(``sfumato.mechanisms.pseudo_posterior``); here it only runs on the paper's data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.papers.range_restriction.families import Family as Family
    from sfumato.papers.range_restriction.families import NormalInverseGamma as NormalInverseGamma
    from sfumato.papers.range_restriction.families import make_family as make_family
    from sfumato.papers.range_restriction.families.sampled_models import SampledModel as SampledModel
    from sfumato.papers.range_restriction.families.sampled_models import independent_priors as independent_priors
    from sfumato.papers.range_restriction.published.measured_loss import MeasuredLoss as MeasuredLoss
    from sfumato.papers.range_restriction.published.measured_loss import OutlierLoss as OutlierLoss
    from sfumato.papers.range_restriction.published.measured_loss import add_outlier as add_outlier
    from sfumato.papers.range_restriction.published.measured_loss import leave_one_out as leave_one_out
    from sfumato.papers.range_restriction.published.method import (
        PseudoPosteriorAsPublished as PseudoPosteriorAsPublished,
    )
    from sfumato.papers.range_restriction.published.ranges import Radius as Radius
    from sfumato.papers.range_restriction.published.ranges import Ranges as Ranges
    from sfumato.papers.range_restriction.published.ranges import wider_in_tail as wider_in_tail
    from sfumato.papers.range_restriction.published.weights import WeightedPosterior as WeightedPosterior
    from sfumato.papers.range_restriction.published.weights import Weighting as Weighting
    from sfumato.papers.range_restriction.reproduce import page_of as page_of
    from sfumato.papers.range_restriction.reproduce import parts as parts
    from sfumato.papers.range_restriction.reproduce import reproduce as reproduce
    from sfumato.papers.range_restriction.reproduce import summary as summary
    from sfumato.papers.range_restriction.results import Reproduction as Reproduction

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Family": "sfumato.papers.range_restriction.families",
        "MeasuredLoss": "sfumato.papers.range_restriction.published.measured_loss",
        "NormalInverseGamma": "sfumato.papers.range_restriction.families",
        "OutlierLoss": "sfumato.papers.range_restriction.published.measured_loss",
        "PseudoPosteriorAsPublished": "sfumato.papers.range_restriction.published.method",
        "Radius": "sfumato.papers.range_restriction.published.ranges",
        "Ranges": "sfumato.papers.range_restriction.published.ranges",
        "Reproduction": "sfumato.papers.range_restriction.results",
        "SampledModel": "sfumato.papers.range_restriction.families.sampled_models",
        "WeightedPosterior": "sfumato.papers.range_restriction.published.weights",
        "Weighting": "sfumato.papers.range_restriction.published.weights",
        "add_outlier": "sfumato.papers.range_restriction.published.measured_loss",
        "independent_priors": "sfumato.papers.range_restriction.families.sampled_models",
        "leave_one_out": "sfumato.papers.range_restriction.published.measured_loss",
        "make_family": "sfumato.papers.range_restriction.families",
        "page_of": "sfumato.papers.range_restriction.reproduce",
        "parts": "sfumato.papers.range_restriction.reproduce",
        "reproduce": "sfumato.papers.range_restriction.reproduce",
        "summary": "sfumato.papers.range_restriction.reproduce",
        "wider_in_tail": "sfumato.papers.range_restriction.published.ranges",
    },
)
