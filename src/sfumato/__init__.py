"""Sfumato: release a sensitive table under differential privacy and keep track of the budget.

>>> import sfumato
>>> "histogram" in sfumato.methods()
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato.core.registry import REGISTRY
from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato import errors as errors
    from sfumato.bundle.export import export as export
    from sfumato.core.method import methods as methods
    from sfumato.core.plan import Plan as Plan
    from sfumato.core.release import Release as Release
    from sfumato.core.release import plan as plan
    from sfumato.core.release import release as release
    from sfumato.dp_schema import buy_schema as buy_schema
    from sfumato.evaluate.calibrate import calibrate as calibrate
    from sfumato.evaluate.compare.run import compare as compare
    from sfumato.evaluate.quality.run import quality as quality
    from sfumato.evaluate.uncertainty.run import uncertainty as uncertainty
    from sfumato.mechanisms.cluster_geometry import ClusterGeometry as ClusterGeometry
    from sfumato.mechanisms.counts.contingency import Contingency as Contingency
    from sfumato.mechanisms.counts.histogram import Histogram as Histogram
    from sfumato.mechanisms.entropy.method import EntropyRelease as EntropyRelease
    from sfumato.mechanisms.graphical.aim import AIM as AIM
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel as FittedModel
    from sfumato.mechanisms.graphical.mst import MST as MST
    from sfumato.mechanisms.grid.method import Grid as Grid
    from sfumato.mechanisms.marginals.method import Marginals as Marginals
    from sfumato.mechanisms.mean_curve import MeanCurve as MeanCurve
    from sfumato.mechanisms.plausible_deniability import PlausibleDeniability as PlausibleDeniability
    from sfumato.mechanisms.pseudo_posterior.method import PseudoPosterior as PseudoPosterior
    from sfumato.mechanisms.two_stage import TwoStage as TwoStage
    from sfumato.privacy.accounting.event import Event as Event
    from sfumato.privacy.accounting.guarantee import Guarantee as Guarantee
    from sfumato.privacy.ledger import Ledger as Ledger
    from sfumato.report.impact_assessment import dpia as dpia
    from sfumato.risk.on_release.run import attack_release as attack_release
    from sfumato.schema import Column as Column
    from sfumato.schema import Schema as Schema
    from sfumato.synthesis import synthesize as synthesize
    from sfumato.table import Table as Table
    from sfumato.table import read as read

_PUBLIC_NAMES = {
    **{home.split(":")[1]: home.split(":")[0] for home in REGISTRY.values()},
    "attack_release": "sfumato.risk.on_release.run",
    "buy_schema": "sfumato.dp_schema.buy",
    "calibrate": "sfumato.evaluate.calibrate",
    "compare": "sfumato.evaluate.compare.run",
    "export": "sfumato.bundle.export",
    "Column": "sfumato.schema.column",
    "Event": "sfumato.privacy.accounting.event",
    "FittedModel": "sfumato.mechanisms.graphical.fitted_model.fitted_model",
    "Guarantee": "sfumato.privacy.accounting.guarantee",
    "Ledger": "sfumato.privacy.ledger.ledger",
    "Plan": "sfumato.core.plan",
    "Release": "sfumato.core.release",
    "Schema": "sfumato.schema.schema",
    "Table": "sfumato.table",
    "dpia": "sfumato.report.impact_assessment",
    "methods": "sfumato.core.method",
    "plan": "sfumato.core.release",
    "quality": "sfumato.evaluate.quality.run",
    "read": "sfumato.table",
    "release": "sfumato.core.release",
    "synthesize": "sfumato.synthesis",
    "uncertainty": "sfumato.evaluate.uncertainty.run",
}
_MODULES = ("errors", "entropy", "risk")
__all__ = [*sorted(_PUBLIC_NAMES), *_MODULES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import on first use: ``import sfumato`` stays fast, and engines load only when they are needed."""
    if name in _PUBLIC_NAMES:
        value = getattr(importlib.import_module(_PUBLIC_NAMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"sfumato.{name}")
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
