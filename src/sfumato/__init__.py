"""Sfumato: release a sensitive table safely, say what is guaranteed, and keep the privacy budget.

>>> import sfumato
>>> "histogram" in sfumato.methods()
True
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sfumato.registry import REGISTRY
from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato import errors as errors
    from sfumato.buying import buy_schema as buy_schema
    from sfumato.calibration import calibrate as calibrate
    from sfumato.comparison.compare import compare as compare
    from sfumato.methods.cluster_geometry import ClusterGeometry as ClusterGeometry
    from sfumato.methods.counts import Contingency as Contingency
    from sfumato.methods.counts import Histogram as Histogram
    from sfumato.methods.entropy import EntropyRelease as EntropyRelease
    from sfumato.methods.graphical import AIM as AIM
    from sfumato.methods.graphical import MST as MST
    from sfumato.methods.graphical import FittedModel as FittedModel
    from sfumato.methods.grid import Grid as Grid
    from sfumato.methods.marginals import Marginals as Marginals
    from sfumato.methods.mean_curve import MeanCurve as MeanCurve
    from sfumato.methods.plausible_deniability import PlausibleDeniability as PlausibleDeniability
    from sfumato.methods.pseudo_posterior import PseudoPosterior as PseudoPosterior
    from sfumato.methods.two_stage import TwoStage as TwoStage
    from sfumato.privacy.accounting.event import Event as Event
    from sfumato.privacy.accounting.guarantee import Guarantee as Guarantee
    from sfumato.privacy.ledger import Ledger as Ledger
    from sfumato.quality.quality import quality as quality
    from sfumato.release.method import methods as methods
    from sfumato.release.plan import Plan as Plan
    from sfumato.release.release import Release as Release
    from sfumato.release.release import plan as plan
    from sfumato.release.release import release as release
    from sfumato.report.assessment.form import dpia as dpia
    from sfumato.report.export import export as export
    from sfumato.risk.released.attacks import attack_release as attack_release
    from sfumato.schema import Column as Column
    from sfumato.schema import Schema as Schema
    from sfumato.synthesize import synthesize as synthesize
    from sfumato.table import Table as Table
    from sfumato.table import read as read
    from sfumato.uncertainty.uncertainty import uncertainty as uncertainty

_HOMES = {
    **{home.split(":")[1]: home.split(":")[0] for home in REGISTRY.values()},
    "attack_release": "sfumato.risk.released.attacks",
    "buy_schema": "sfumato.buying.buy",
    "calibrate": "sfumato.calibration",
    "compare": "sfumato.comparison.compare",
    "export": "sfumato.report.export",
    "Column": "sfumato.schema.column",
    "Event": "sfumato.privacy.accounting.event",
    "FittedModel": "sfumato.methods.graphical.saved.model",
    "Guarantee": "sfumato.privacy.accounting.guarantee",
    "Ledger": "sfumato.privacy.ledger.ledger",
    "Plan": "sfumato.release.plan",
    "Release": "sfumato.release.release",
    "Schema": "sfumato.schema.schema",
    "Table": "sfumato.table",
    "dpia": "sfumato.report.assessment.form",
    "methods": "sfumato.release.method",
    "plan": "sfumato.release.release",
    "quality": "sfumato.quality.quality",
    "read": "sfumato.table",
    "release": "sfumato.release.release",
    "synthesize": "sfumato.synthesize",
    "uncertainty": "sfumato.uncertainty.uncertainty",
}
_MODULES = ("errors", "entropy", "risk")

__all__ = [*sorted(_HOMES), *_MODULES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


class _Front(ModuleType):
    """The package as its users see it: ``sfumato.release`` and ``sfumato.methods`` are functions.

    Folders and modules have the same names, and importing one would put it in the function's place.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _HOMES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Front


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
    return sorted(__all__)
