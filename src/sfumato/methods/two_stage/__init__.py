"""Synthetic tables for prediction: inputs that keep their distribution, then outputs predicted from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.two_stage.method import TwoStage as TwoStage
    from sfumato.methods.two_stage.plan import TwoStagePlan as TwoStagePlan
    from sfumato.methods.two_stage.published.blending import hybrid as hybrid
    from sfumato.methods.two_stage.published.blending import match as match
    from sfumato.methods.two_stage.published.densities import PUBLISHED_BANDWIDTHS as PUBLISHED_BANDWIDTHS
    from sfumato.methods.two_stage.published.densities import fit_marginal as fit_marginal
    from sfumato.methods.two_stage.published.inputs import make_inputs as make_inputs
    from sfumato.methods.two_stage.published.inputs import midpoints as midpoints
    from sfumato.methods.two_stage.published.kernel_ridge import KernelRidge as KernelRidge
    from sfumato.methods.two_stage.published.kernels import Kernel as Kernel
    from sfumato.methods.two_stage.published.method import TwoStageAsPublished as TwoStageAsPublished
    from sfumato.methods.two_stage.published.response import Response as Response
    from sfumato.methods.two_stage.published.response import fit_response as fit_response
    from sfumato.methods.two_stage.published.ridge_solvers import LAMBDAS as LAMBDAS
    from sfumato.methods.two_stage.published.ridge_solvers import Box as Box
    from sfumato.methods.two_stage.published.ridge_solvers import KernelFit as KernelFit
    from sfumato.methods.two_stage.published.ridge_solvers import Standard as Standard
    from sfumato.methods.two_stage.published.ridge_solvers import fit_exact as fit_exact
    from sfumato.methods.two_stage.published.ridge_solvers import leave_one_out as leave_one_out
    from sfumato.methods.two_stage.published.ridge_solvers import pick as pick
    from sfumato.methods.two_stage.run import PrivateTwoStage as PrivateTwoStage
    from sfumato.methods.two_stage.run import release_two_stage as release_two_stage

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Box": "sfumato.methods.two_stage.published.ridge_solvers",
        "Kernel": "sfumato.methods.two_stage.published.kernels",
        "KernelFit": "sfumato.methods.two_stage.published.ridge_solvers",
        "KernelRidge": "sfumato.methods.two_stage.published.kernel_ridge",
        "LAMBDAS": "sfumato.methods.two_stage.published.ridge_solvers",
        "PUBLISHED_BANDWIDTHS": "sfumato.methods.two_stage.published.densities",
        "PrivateTwoStage": "sfumato.methods.two_stage.run",
        "Response": "sfumato.methods.two_stage.published.response",
        "Standard": "sfumato.methods.two_stage.published.ridge_solvers",
        "TwoStage": "sfumato.methods.two_stage.method",
        "TwoStageAsPublished": "sfumato.methods.two_stage.published.method",
        "TwoStagePlan": "sfumato.methods.two_stage.plan",
        "fit_exact": "sfumato.methods.two_stage.published.ridge_solvers",
        "fit_marginal": "sfumato.methods.two_stage.published.densities",
        "fit_response": "sfumato.methods.two_stage.published.response",
        "hybrid": "sfumato.methods.two_stage.published.blending",
        "leave_one_out": "sfumato.methods.two_stage.published.ridge_solvers",
        "make_inputs": "sfumato.methods.two_stage.published.inputs",
        "match": "sfumato.methods.two_stage.published.blending",
        "midpoints": "sfumato.methods.two_stage.published.inputs",
        "pick": "sfumato.methods.two_stage.published.ridge_solvers",
        "release_two_stage": "sfumato.methods.two_stage.run",
    },
)
