"""MeanCurve: the private mean of curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.mean_curve.curve_kernels import CurveGrid as CurveGrid
    from sfumato.mechanisms.mean_curve.curve_kernels import even_positions as even_positions
    from sfumato.mechanisms.mean_curve.expected_error import DiscretisationError as DiscretisationError
    from sfumato.mechanisms.mean_curve.expected_error import ErrorSplit as ErrorSplit
    from sfumato.mechanisms.mean_curve.expected_error import best_rho as best_rho
    from sfumato.mechanisms.mean_curve.expected_error import discretisation_error as discretisation_error
    from sfumato.mechanisms.mean_curve.expected_error import error_split as error_split
    from sfumato.mechanisms.mean_curve.expected_error import interpolate_curve as interpolate_curve
    from sfumato.mechanisms.mean_curve.method import MeanCurve as MeanCurve

__getattr__, __dir__ = lazy_names(__name__)
