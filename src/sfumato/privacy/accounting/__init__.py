"""Events, guarantees, composition and noise calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.privacy.accounting.gaussian_calibration import GaussianCalibration as GaussianCalibration
    from sfumato.privacy.accounting.gaussian_calibration import gaussian_epsilon as gaussian_epsilon
    from sfumato.privacy.accounting.gaussian_calibration import gaussian_sigma as gaussian_sigma

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "GaussianCalibration": "sfumato.privacy.accounting.gaussian_calibration",
        "gaussian_epsilon": "sfumato.privacy.accounting.gaussian_calibration",
        "gaussian_sigma": "sfumato.privacy.accounting.gaussian_calibration",
    },
)
