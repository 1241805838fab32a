"""Calibration: choose a parameter by a target on utility or risk.

:func:`calibrate` finds the values that meet a target, with intervals, and says what the search itself costs.
"""

from __future__ import annotations

from sfumato.evaluate.calibrate.result import Calibration, Charge, Point
from sfumato.evaluate.calibrate.run import calibrate
from sfumato.evaluate.calibrate.target import Target

__all__ = ["Calibration", "Charge", "Point", "Target", "calibrate"]
