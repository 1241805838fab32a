"""The methods by name. Adding one touches its module, one line here, a test and a docs page."""

from __future__ import annotations

REGISTRY: dict[str, str] = {
    "histogram": "sfumato.releases.histogram:Histogram",
    "contingency": "sfumato.releases.contingency:Contingency",
    "entropy": "sfumato.releases.entropy_release:EntropyRelease",
    "aim": "sfumato.synthesizers.aim_method:AIM",
    "mst": "sfumato.synthesizers.mst_method:MST",
    "marginals": "sfumato.releases.marginals:Marginals",
    "grid": "sfumato.synthesizers.grid_method:Grid",
    "cluster-geometry": "sfumato.synthesizers.cluster_geometry:ClusterGeometry",
    "mean-curve": "sfumato.releases.mean_curve:MeanCurve",
    "plausible-deniability": "sfumato.synthesizers.plausible_deniability:PlausibleDeniability",
    "two-stage": "sfumato.synthesizers.two_stage_method:TwoStage",
    "pseudo-posterior": "sfumato.synthesizers.pseudo_posterior:PseudoPosterior",
}
"""Name on the command line -> module and class; every class here is also ``sfumato.<class>``."""
