"""Synthetic columns drawn from a posterior: with a guarantee, or weighted by risk as published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.pseudo_posterior.families import Family as Family
    from sfumato.methods.pseudo_posterior.families import NormalInverseGamma as NormalInverseGamma
    from sfumato.methods.pseudo_posterior.families import make_family as make_family
    from sfumato.methods.pseudo_posterior.method import PseudoPosterior as PseudoPosterior
    from sfumato.methods.pseudo_posterior.published.losses import Loss as Loss
    from sfumato.methods.pseudo_posterior.published.losses import OutlierLoss as OutlierLoss
    from sfumato.methods.pseudo_posterior.published.losses import add_outlier as add_outlier
    from sfumato.methods.pseudo_posterior.published.losses import leave_one_out as leave_one_out
    from sfumato.methods.pseudo_posterior.published.method import (
        PseudoPosteriorAsPublished as PseudoPosteriorAsPublished,
    )
    from sfumato.methods.pseudo_posterior.published.ranges import Radius as Radius
    from sfumato.methods.pseudo_posterior.published.ranges import Ranges as Ranges
    from sfumato.methods.pseudo_posterior.published.ranges import wider_in_tail as wider_in_tail
    from sfumato.methods.pseudo_posterior.published.weights import Fitted as Fitted
    from sfumato.methods.pseudo_posterior.published.weights import Weighting as Weighting
    from sfumato.methods.pseudo_posterior.sampled.models import Model as Model
    from sfumato.methods.pseudo_posterior.sampled.models import independent as independent

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Family": "sfumato.methods.pseudo_posterior.families",
        "Fitted": "sfumato.methods.pseudo_posterior.published.weights",
        "Loss": "sfumato.methods.pseudo_posterior.published.losses",
        "Model": "sfumato.methods.pseudo_posterior.sampled.models",
        "NormalInverseGamma": "sfumato.methods.pseudo_posterior.families",
        "OutlierLoss": "sfumato.methods.pseudo_posterior.published.losses",
        "PseudoPosterior": "sfumato.methods.pseudo_posterior.method",
        "PseudoPosteriorAsPublished": "sfumato.methods.pseudo_posterior.published.method",
        "Radius": "sfumato.methods.pseudo_posterior.published.ranges",
        "Ranges": "sfumato.methods.pseudo_posterior.published.ranges",
        "Weighting": "sfumato.methods.pseudo_posterior.published.weights",
        "add_outlier": "sfumato.methods.pseudo_posterior.published.losses",
        "independent": "sfumato.methods.pseudo_posterior.sampled.models",
        "leave_one_out": "sfumato.methods.pseudo_posterior.published.losses",
        "make_family": "sfumato.methods.pseudo_posterior.families",
        "wider_in_tail": "sfumato.methods.pseudo_posterior.published.ranges",
    },
)
