"""Synthetic rows with plausible deniability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.plausible_deniability.budget import composed_epsilon as composed_epsilon
    from sfumato.methods.plausible_deniability.law import PrivacyTest as PrivacyTest
    from sfumato.methods.plausible_deniability.law import output_law as output_law
    from sfumato.methods.plausible_deniability.law import pass_rate as pass_rate
    from sfumato.methods.plausible_deniability.law import smallest_delta as smallest_delta
    from sfumato.methods.plausible_deniability.method import PlausibleDeniability as PlausibleDeniability
    from sfumato.methods.plausible_deniability.pilot import PassPoint as PassPoint
    from sfumato.methods.plausible_deniability.pilot import PassRates as PassRates
    from sfumato.methods.plausible_deniability.pilot import pass_rates as pass_rates

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "PassPoint": "sfumato.methods.plausible_deniability.pilot",
        "PassRates": "sfumato.methods.plausible_deniability.pilot",
        "PlausibleDeniability": "sfumato.methods.plausible_deniability.method",
        "PrivacyTest": "sfumato.methods.plausible_deniability.law",
        "composed_epsilon": "sfumato.methods.plausible_deniability.budget",
        "output_law": "sfumato.methods.plausible_deniability.law",
        "pass_rate": "sfumato.methods.plausible_deniability.law",
        "pass_rates": "sfumato.methods.plausible_deniability.pilot",
        "smallest_delta": "sfumato.methods.plausible_deniability.law",
    },
)
