"""PlausibleDeniability: synthetic rows that many seeds could have produced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.plausible_deniability.method import PlausibleDeniability as PlausibleDeniability
    from sfumato.mechanisms.plausible_deniability.pass_rates import PassPoint as PassPoint
    from sfumato.mechanisms.plausible_deniability.pass_rates import PassRates as PassRates
    from sfumato.mechanisms.plausible_deniability.pass_rates import pass_rates as pass_rates
    from sfumato.mechanisms.plausible_deniability.privacy_test import PrivacyTest as PrivacyTest
    from sfumato.mechanisms.plausible_deniability.privacy_test import hockey_stick_divergence as hockey_stick_divergence
    from sfumato.mechanisms.plausible_deniability.privacy_test import output_distribution as output_distribution
    from sfumato.mechanisms.plausible_deniability.privacy_test import pass_rate as pass_rate
    from sfumato.mechanisms.plausible_deniability.record_composition import composed_epsilon as composed_epsilon

__getattr__, __dir__ = lazy_names(__name__)
