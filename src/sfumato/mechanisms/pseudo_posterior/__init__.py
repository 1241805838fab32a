"""PseudoPosterior: synthetic columns drawn from a private posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.pseudo_posterior.method import PseudoPosterior as PseudoPosterior
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Family": "sfumato.papers.range_restriction.families",
        "WeightedPosterior": "sfumato.papers.range_restriction.published.weights",
        "MeasuredLoss": "sfumato.papers.range_restriction.published.measured_loss",
        "SampledModel": "sfumato.papers.range_restriction.families.sampled_models",
        "NormalInverseGamma": "sfumato.papers.range_restriction.families",
        "OutlierLoss": "sfumato.papers.range_restriction.published.measured_loss",
        "PseudoPosterior": "sfumato.mechanisms.pseudo_posterior.method",
        "PseudoPosteriorAsPublished": "sfumato.papers.range_restriction.published.method",
        "Radius": "sfumato.papers.range_restriction.published.ranges",
        "Ranges": "sfumato.papers.range_restriction.published.ranges",
        "Weighting": "sfumato.papers.range_restriction.published.weights",
        "add_outlier": "sfumato.papers.range_restriction.published.measured_loss",
        "independent_priors": "sfumato.papers.range_restriction.families.sampled_models",
        "leave_one_out": "sfumato.papers.range_restriction.published.measured_loss",
        "make_family": "sfumato.papers.range_restriction.families",
        "wider_in_tail": "sfumato.papers.range_restriction.published.ranges",
    },
)
