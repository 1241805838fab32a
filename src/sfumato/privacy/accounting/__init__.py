"""What was run and what it promises: events, guarantees, accountants, and how much noise a budget buys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.privacy.accounting.calibration import GaussianRule as GaussianRule
    from sfumato.privacy.accounting.calibration import gaussian_epsilon as gaussian_epsilon
    from sfumato.privacy.accounting.calibration import gaussian_sigma as gaussian_sigma

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "GaussianRule": "sfumato.privacy.accounting.calibration",
        "gaussian_epsilon": "sfumato.privacy.accounting.calibration",
        "gaussian_sigma": "sfumato.privacy.accounting.calibration",
    },
)
