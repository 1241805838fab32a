"""Re-identification against epsilon, in closed form: is a person who is alone in a cell seen to be alone, and rightly?

The arithmetic, with its derivation, is in :mod:`sfumato.risk.homogeneity.uniqueness`: the page about a cross table
shows it beside the homogeneity attack.

>>> from sfumato.risk.homogeneity import Geometric
>>> round(reidentification([1, 1, 2, 5], Geometric(2.0), empty=3).seen, 4)
0.7616
"""

from __future__ import annotations

from sfumato.risk.homogeneity.uniqueness import (
    ReidentificationRisk,
    epsilon_for_uniqueness,
    reidentification,
    reidentification_for,
    shown_unique,
)

__all__ = ["ReidentificationRisk", "epsilon_for_uniqueness", "reidentification", "reidentification_for", "shown_unique"]
