"""Sfumato: release a sensitive table safely, say what is guaranteed, and keep the privacy budget.

>>> import sfumato
>>> "histogram" in sfumato.methods()
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato.registry import REGISTRY

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from sfumato import errors as errors
    from sfumato.calibration import calibrate as calibrate
    from sfumato.privacy.event import Event as Event
    from sfumato.privacy.guarantee import Guarantee as Guarantee
    from sfumato.privacy.ledger import Ledger as Ledger
    from sfumato.releases.contingency import Contingency as Contingency
    from sfumato.releases.entropy_release import EntropyRelease as EntropyRelease
    from sfumato.releases.histogram import Histogram as Histogram
    from sfumato.releases.marginals import Marginals as Marginals
    from sfumato.releases.mean_curve import MeanCurve as MeanCurve
    from sfumato.releases.method import methods as methods
    from sfumato.releases.plan import Plan as Plan
    from sfumato.releases.release import Release as Release
    from sfumato.releases.release import plan as plan
    from sfumato.releases.release import release as release
    from sfumato.schema import Schema as Schema
    from sfumato.synthesizers.aim_method import AIM as AIM
    from sfumato.synthesizers.cluster_geometry import ClusterGeometry as ClusterGeometry
    from sfumato.synthesizers.graphical.fitted import FittedModel as FittedModel
    from sfumato.synthesizers.grid_method import Grid as Grid
    from sfumato.synthesizers.mst_method import MST as MST
    from sfumato.synthesizers.plausible_deniability import PlausibleDeniability as PlausibleDeniability
    from sfumato.synthesizers.pseudo_posterior import PseudoPosterior as PseudoPosterior
    from sfumato.synthesizers.two_stage_method import TwoStage as TwoStage
    from sfumato.table import Table as Table
    from sfumato.table import read as read

_HOMES = {
    **{home.split(":")[1]: home.split(":")[0] for home in REGISTRY.values()},
    "calibrate": "sfumato.calibration",
    "Event": "sfumato.privacy.event",
    "FittedModel": "sfumato.synthesizers.graphical.fitted",
    "Guarantee": "sfumato.privacy.guarantee",
    "Ledger": "sfumato.privacy.ledger",
    "Plan": "sfumato.releases.plan",
    "Release": "sfumato.releases.release",
    "Schema": "sfumato.schema",
    "Table": "sfumato.table",
    "methods": "sfumato.releases.method",
    "plan": "sfumato.releases.release",
    "read": "sfumato.table",
    "release": "sfumato.releases.release",
}
_MODULES = ("errors", "entropy", "risk")

__all__ = [*sorted(_HOMES), *_MODULES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import on first use: ``import sfumato`` stays fast, and engines load only when they are needed."""
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"sfumato.{name}")
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
