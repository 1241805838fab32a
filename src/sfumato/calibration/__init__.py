"""Choosing a parameter by what a release is good for, or by what it gives away.

:func:`calibrate` finds the values that meet a target, with intervals, and says what the search itself costs.
"""

from __future__ import annotations

from sfumato.calibration.result import Calibration, Charge, Point
from sfumato.calibration.run import calibrate
from sfumato.calibration.target import Target

__all__ = ["Calibration", "Charge", "Point", "Target", "calibrate"]
