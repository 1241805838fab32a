"""The private mean of curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.mean_curve.continuum import FiniteError as FiniteError
    from sfumato.methods.mean_curve.continuum import between as between
    from sfumato.methods.mean_curve.continuum import finite_error as finite_error
    from sfumato.methods.mean_curve.error import ErrorSplit as ErrorSplit
    from sfumato.methods.mean_curve.error import best_rho as best_rho
    from sfumato.methods.mean_curve.error import error_split as error_split
    from sfumato.methods.mean_curve.kernels import CurveGrid as CurveGrid
    from sfumato.methods.mean_curve.kernels import even_positions as even_positions
    from sfumato.methods.mean_curve.method import MeanCurve as MeanCurve
    from sfumato.methods.mean_curve.ridge import ridge_mean as ridge_mean
    from sfumato.methods.mean_curve.ridge import sensitivity as sensitivity

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "CurveGrid": "sfumato.methods.mean_curve.kernels",
        "ErrorSplit": "sfumato.methods.mean_curve.error",
        "FiniteError": "sfumato.methods.mean_curve.continuum",
        "MeanCurve": "sfumato.methods.mean_curve.method",
        "best_rho": "sfumato.methods.mean_curve.error",
        "between": "sfumato.methods.mean_curve.continuum",
        "error_split": "sfumato.methods.mean_curve.error",
        "even_positions": "sfumato.methods.mean_curve.kernels",
        "finite_error": "sfumato.methods.mean_curve.continuum",
        "ridge_mean": "sfumato.methods.mean_curve.ridge",
        "sensitivity": "sfumato.methods.mean_curve.ridge",
    },
)
