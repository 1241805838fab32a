"""TwoStage: private inputs from a copula, then a private regression for the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.two_stage.method import TwoStage as TwoStage
    from sfumato.mechanisms.two_stage.plan import TwoStagePlan as TwoStagePlan
    from sfumato.mechanisms.two_stage.run import PrivateTwoStage as PrivateTwoStage
    from sfumato.mechanisms.two_stage.run import release_two_stage as release_two_stage

__getattr__, __dir__ = lazy_names(__name__)
