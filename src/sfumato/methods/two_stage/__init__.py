"""Synthetic tables for prediction: inputs that keep their distribution, then outputs predicted from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.two_stage.method import TwoStage as TwoStage
    from sfumato.methods.two_stage.published.densities import PUBLISHED_BANDWIDTHS as PUBLISHED_BANDWIDTHS
    from sfumato.methods.two_stage.published.densities import fit_marginal as fit_marginal
    from sfumato.methods.two_stage.published.inputs import make_inputs as make_inputs
    from sfumato.methods.two_stage.published.inputs import midpoints as midpoints
    from sfumato.methods.two_stage.published.kernels import Kernel as Kernel
    from sfumato.methods.two_stage.published.krr import LAMBDAS as LAMBDAS
    from sfumato.methods.two_stage.published.krr import Box as Box
    from sfumato.methods.two_stage.published.krr import KernelFit as KernelFit
    from sfumato.methods.two_stage.published.krr import Standard as Standard
    from sfumato.methods.two_stage.published.krr import fit_exact as fit_exact
    from sfumato.methods.two_stage.published.krr import leave_one_out as leave_one_out
    from sfumato.methods.two_stage.published.krr import pick as pick
    from sfumato.methods.two_stage.published.matching import match as match
    from sfumato.methods.two_stage.published.response import Response as Response
    from sfumato.methods.two_stage.published.response import fit_response as fit_response

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Box": "sfumato.methods.two_stage.published.krr",
        "Kernel": "sfumato.methods.two_stage.published.kernels",
        "KernelFit": "sfumato.methods.two_stage.published.krr",
        "LAMBDAS": "sfumato.methods.two_stage.published.krr",
        "PUBLISHED_BANDWIDTHS": "sfumato.methods.two_stage.published.densities",
        "Response": "sfumato.methods.two_stage.published.response",
        "Standard": "sfumato.methods.two_stage.published.krr",
        "TwoStage": "sfumato.methods.two_stage.method",
        "fit_exact": "sfumato.methods.two_stage.published.krr",
        "fit_marginal": "sfumato.methods.two_stage.published.densities",
        "fit_response": "sfumato.methods.two_stage.published.response",
        "leave_one_out": "sfumato.methods.two_stage.published.krr",
        "make_inputs": "sfumato.methods.two_stage.published.inputs",
        "match": "sfumato.methods.two_stage.published.matching",
        "midpoints": "sfumato.methods.two_stage.published.inputs",
        "pick": "sfumato.methods.two_stage.published.krr",
    },
)
