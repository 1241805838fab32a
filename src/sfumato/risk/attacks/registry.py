"""The attacks that each harness runs: an attack is a module of this folder and a line here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.risk.attacks import (
    attribute_inference,
    closest_record,
    likelihood_ratio,
    linkage,
    membership,
    singling_out,
)
from sfumato.risk.attacks.attack import Attack, Criterion, ReleaseAttack
from sfumato.risk.attacks.likelihood_ratio import LikelihoodRatio
from sfumato.risk.attacks.linkage import FreshReferenceLinkage
from sfumato.risk.attacks.membership import ShadowModelAttack

if TYPE_CHECKING:
    from sfumato.risk.simulated.worlds import Worlds

SIMULATED: tuple[Attack, ...] = (
    LikelihoodRatio(),
    ShadowModelAttack(),
    ShadowModelAttack("entropy-total"),
    FreshReferenceLinkage(),
)
"""Attacks on simulated releases."""
ON_RELEASE = (
    ReleaseAttack("likelihood ratio", ("counts",), likelihood_ratio.on_release),
    ReleaseAttack("membership", ("rows",), membership.on_release),
    ReleaseAttack("singling out", ("rows", "counts"), singling_out.on_release),
    ReleaseAttack("linkage", ("rows",), linkage.on_release),
    ReleaseAttack("inference", ("rows", "counts"), attribute_inference.on_release),
    ReleaseAttack("nearness", ("rows",), closest_record.on_release),
)
"""Attacks on a release that exists, in the order in which they are run."""


def simulated_attacks(worlds: Worlds, criterion: Criterion, attacks: Sequence[Attack] = SIMULATED) -> list[Attack]:
    """Return the attacks of one kind that two worlds allow."""
    return [attack for attack in attacks if attack.criterion == criterion and attack.fits(worlds)]
