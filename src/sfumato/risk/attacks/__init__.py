"""Attacks, one in each module; the registry lists which harness runs which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.risk.attacks.attack import AttackResult as AttackResult
    from sfumato.risk.attacks.attack import ThreatModel as ThreatModel
    from sfumato.risk.attacks.attack import dp_ceiling as dp_ceiling
    from sfumato.risk.attacks.attribute_inference import AttributeInference as AttributeInference
    from sfumato.risk.attacks.likelihood_ratio import LikelihoodRatio as LikelihoodRatio
    from sfumato.risk.attacks.likelihood_ratio import optimal_accuracy as optimal_accuracy
    from sfumato.risk.attacks.linkage import FreshReferenceLinkage as FreshReferenceLinkage
    from sfumato.risk.attacks.linkage import NearestRowLinkage as NearestRowLinkage
    from sfumato.risk.attacks.membership import ShadowModelAttack as ShadowModelAttack

__getattr__, __dir__ = lazy_names(__name__)
