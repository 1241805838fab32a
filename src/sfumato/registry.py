"""What is found by name: methods, and the few things above that an object below offers as a convenience.

Adding a method touches its module, one line here, a test and a docs page. Names stand for modules that are imported
when they are first asked for, so a line here is no import: it is where the layers are wired together.
"""

from __future__ import annotations

import importlib
from typing import Any

REGISTRY: dict[str, str] = {
    "histogram": "sfumato.methods.counts.histogram:Histogram",
    "contingency": "sfumato.methods.counts.contingency:Contingency",
    "entropy": "sfumato.methods.entropy.method:EntropyRelease",
    "aim": "sfumato.methods.graphical.aim:AIM",
    "mst": "sfumato.methods.graphical.mst:MST",
    "marginals": "sfumato.methods.marginals.method:Marginals",
    "grid": "sfumato.methods.grid.method:Grid",
    "cluster-geometry": "sfumato.methods.cluster_geometry.method:ClusterGeometry",
    "mean-curve": "sfumato.methods.mean_curve.method:MeanCurve",
    "plausible-deniability": "sfumato.methods.plausible_deniability.method:PlausibleDeniability",
    "two-stage": "sfumato.methods.two_stage.method:TwoStage",
    "pseudo-posterior": "sfumato.methods.pseudo_posterior.method:PseudoPosterior",
}
"""Name on the command line -> module and class; every class here is also ``sfumato.<class>``."""

PUBLISHED: dict[str, str] = {
    "cluster-geometry-as-published": "sfumato.methods.cluster_geometry.published.method:ClusterGeometryAsPublished",
    "two-stage-as-published": "sfumato.methods.two_stage.published.method:TwoStageAsPublished",
    "pseudo-posterior-as-published": "sfumato.methods.pseudo_posterior.published.method:PseudoPosteriorAsPublished",
}
"""What papers printed, beside the formal method of the same name: ``NAME-as-published`` -> module and class.

Each is also ``sfumato.<formal class>.as_published`` and ``sfumato release --method NAME --as-published``.
"""
AS_PUBLISHED = "-as-published"

OFFERED: dict[str, str] = {
    "Schema.draft": "sfumato.table.drafting.draft:draft_schema",
    "Release.save": "sfumato.report.bundle:save_bundle",
    "Release.uncertainty": "sfumato.uncertainty.uncertainty:uncertainty",
    "Plan.forecast": "sfumato.forecast.forecast:forecast_of",
    "Comparison.save": "sfumato.report.comparison_page:save_comparison",
    "ReleaseAttacks.save": "sfumato.report.attacked.page:save_attacks",
    "Canaries.save": "sfumato.report.canary_file:save_canaries",
    "bundle": "sfumato.report.opened:opened_bundle",
}
"""Conveniences of a value type whose work is done in a layer above it."""


def found(home: str) -> Any:
    """Return what a line of this file names, such as ``sfumato.methods.graphical.aim:AIM``."""
    module, attribute = home.split(":")
    return getattr(importlib.import_module(module), attribute)
