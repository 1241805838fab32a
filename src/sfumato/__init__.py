"""Sfumato: release a sensitive table under differential privacy and keep track of the budget.

>>> import sfumato
>>> "histogram" in sfumato.methods()
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names, names_for_types
from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato import entropy as entropy
    from sfumato import errors as errors
    from sfumato import risk as risk
    from sfumato.bundle.read import export as export
    from sfumato.core.method import methods as methods
    from sfumato.core.plan import Plan as Plan
    from sfumato.core.release import Release as Release
    from sfumato.core.release import plan as plan
    from sfumato.core.release import release as release
    from sfumato.dp_schema.buy import buy_schema as buy_schema
    from sfumato.evaluate.calibrate import calibrate as calibrate
    from sfumato.evaluate.compare.run import compare as compare
    from sfumato.evaluate.quality.run import quality as quality
    from sfumato.evaluate.uncertainty.run import uncertainty as uncertainty
    from sfumato.mechanisms.cluster_geometry.method import ClusterGeometry as ClusterGeometry
    from sfumato.mechanisms.counts.contingency import Contingency as Contingency
    from sfumato.mechanisms.counts.histogram import Histogram as Histogram
    from sfumato.mechanisms.entropy.method import EntropyRelease as EntropyRelease
    from sfumato.mechanisms.graphical.aim import AIM as AIM
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel as FittedModel
    from sfumato.mechanisms.graphical.mst import MST as MST
    from sfumato.mechanisms.grid.method import Grid as Grid
    from sfumato.mechanisms.marginals.method import Marginals as Marginals
    from sfumato.mechanisms.mean_curve.method import MeanCurve as MeanCurve
    from sfumato.mechanisms.plausible_deniability.method import PlausibleDeniability as PlausibleDeniability
    from sfumato.mechanisms.pseudo_posterior.method import PseudoPosterior as PseudoPosterior
    from sfumato.mechanisms.two_stage.method import TwoStage as TwoStage
    from sfumato.privacy.accounting.event import Event as Event
    from sfumato.privacy.accounting.guarantee import Guarantee as Guarantee
    from sfumato.privacy.ledger.ledger import Ledger as Ledger
    from sfumato.report.impact_assessment import dpia as dpia
    from sfumato.risk.on_release.run import attack_release as attack_release
    from sfumato.schema.column import Column as Column
    from sfumato.schema.schema import Schema as Schema
    from sfumato.synthesis import synthesize as synthesize
    from sfumato.table import Table as Table
    from sfumato.table import read as read

__getattr__, _ = lazy_names(__name__)
__all__ = [*names_for_types(__name__), "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    return sorted(__all__)
