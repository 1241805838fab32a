"""TwoStage: private inputs from a copula, then a private regression for the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.two_stage.method import TwoStage as TwoStage
    from sfumato.mechanisms.two_stage.plan import TwoStagePlan as TwoStagePlan
    from sfumato.mechanisms.two_stage.run import PrivateTwoStage as PrivateTwoStage
    from sfumato.mechanisms.two_stage.run import release_two_stage as release_two_stage
    from sfumato.metrics.learners.kernel_ridge import KernelRidge as KernelRidge
    from sfumato.metrics.learners.radial_kernels import RadialKernel as RadialKernel
    from sfumato.metrics.learners.regressors import FittedRegressor as FittedRegressor
    from sfumato.metrics.learners.regressors import fit_regressor as fit_regressor
    from sfumato.metrics.learners.ridge_solvers import LAMBDAS as LAMBDAS
    from sfumato.metrics.learners.ridge_solvers import InputRange as InputRange
    from sfumato.metrics.learners.ridge_solvers import KernelFit as KernelFit
    from sfumato.metrics.learners.ridge_solvers import TargetScaler as TargetScaler
    from sfumato.metrics.learners.ridge_solvers import fit_exact as fit_exact
    from sfumato.metrics.learners.ridge_solvers import least_error as least_error
    from sfumato.metrics.learners.ridge_solvers import leave_one_out as leave_one_out
    from sfumato.papers.two_stage.published.blending import blend_rows as blend_rows
    from sfumato.papers.two_stage.published.blending import match as match
    from sfumato.papers.two_stage.published.first_stage import PUBLISHED_BANDWIDTHS as PUBLISHED_BANDWIDTHS
    from sfumato.papers.two_stage.published.first_stage import fit_kernel_density as fit_kernel_density
    from sfumato.papers.two_stage.published.first_stage import midpoints as midpoints
    from sfumato.papers.two_stage.published.first_stage import synthesise_inputs as synthesise_inputs
    from sfumato.papers.two_stage.published.method import TwoStageAsPublished as TwoStageAsPublished

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "InputRange": "sfumato.metrics.learners.ridge_solvers",
        "RadialKernel": "sfumato.metrics.learners.radial_kernels",
        "KernelFit": "sfumato.metrics.learners.ridge_solvers",
        "KernelRidge": "sfumato.metrics.learners.kernel_ridge",
        "LAMBDAS": "sfumato.metrics.learners.ridge_solvers",
        "PUBLISHED_BANDWIDTHS": "sfumato.papers.two_stage.published.first_stage",
        "PrivateTwoStage": "sfumato.mechanisms.two_stage.run",
        "FittedRegressor": "sfumato.metrics.learners.regressors",
        "TargetScaler": "sfumato.metrics.learners.ridge_solvers",
        "TwoStage": "sfumato.mechanisms.two_stage.method",
        "TwoStageAsPublished": "sfumato.papers.two_stage.published.method",
        "TwoStagePlan": "sfumato.mechanisms.two_stage.plan",
        "fit_exact": "sfumato.metrics.learners.ridge_solvers",
        "fit_kernel_density": "sfumato.papers.two_stage.published.first_stage",
        "fit_regressor": "sfumato.metrics.learners.regressors",
        "blend_rows": "sfumato.papers.two_stage.published.blending",
        "leave_one_out": "sfumato.metrics.learners.ridge_solvers",
        "synthesise_inputs": "sfumato.papers.two_stage.published.first_stage",
        "match": "sfumato.papers.two_stage.published.blending",
        "midpoints": "sfumato.papers.two_stage.published.first_stage",
        "least_error": "sfumato.metrics.learners.ridge_solvers",
        "release_two_stage": "sfumato.mechanisms.two_stage.run",
    },
)
