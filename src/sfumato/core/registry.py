"""Names of all methods on the command line, with the class that implements each.

Adding a method touches its module, one line here, a test and a docs page. Names stand for modules that are imported
when they are first asked for, so a line here is no import: it is where the layers are wired together.
"""

from __future__ import annotations

from typing import Any

from sfumato.lazy import load_object

REGISTRY: dict[str, str] = {
    "histogram": "sfumato.mechanisms.counts.histogram:Histogram",
    "contingency": "sfumato.mechanisms.counts.contingency:Contingency",
    "entropy": "sfumato.mechanisms.entropy.method:EntropyRelease",
    "aim": "sfumato.mechanisms.graphical.aim:AIM",
    "mst": "sfumato.mechanisms.graphical.mst:MST",
    "marginals": "sfumato.mechanisms.marginals.method:Marginals",
    "grid": "sfumato.mechanisms.grid.method:Grid",
    "cluster-geometry": "sfumato.mechanisms.cluster_geometry.method:ClusterGeometry",
    "mean-curve": "sfumato.mechanisms.mean_curve.method:MeanCurve",
    "plausible-deniability": "sfumato.mechanisms.plausible_deniability.method:PlausibleDeniability",
    "two-stage": "sfumato.mechanisms.two_stage.method:TwoStage",
    "pseudo-posterior": "sfumato.mechanisms.pseudo_posterior.method:PseudoPosterior",
}
"""Name on the command line -> module and class; every class here is also ``sfumato.<class>``."""

PUBLISHED_FORMS: dict[str, str] = {
    "cluster-geometry-as-published": "sfumato.papers.kmeans_geometry.published.method:ClusterGeometryAsPublished",
    "two-stage-as-published": "sfumato.papers.two_stage.published.method:TwoStageAsPublished",
    "pseudo-posterior-as-published": "sfumato.papers.range_restriction.published.method:PseudoPosteriorAsPublished",
}
"""What papers printed, beside the formal method of the same name: ``NAME-as-published`` -> module and class.

Each is also ``sfumato.<formal class>.as_published`` and ``sfumato release --method NAME --as-published``.
"""
AS_PUBLISHED = "-as-published"


def public_name(name: str) -> str | None:
    """Return how Python code writes the class of a registered method; None for a name that is not registered.

    >>> public_name("aim"), public_name("two-stage-as-published")
    ('sfumato.AIM', 'sfumato.TwoStage.as_published')
    """
    formal = name.removesuffix(AS_PUBLISHED) if name in PUBLISHED_FORMS else name
    if formal not in REGISTRY:
        return None
    return f"sfumato.{REGISTRY[formal].split(':')[1]}{'' if formal == name else '.as_published'}"


class PublishedForm:
    """The class attribute ``as_published`` of a formal method: its literal printed form, loaded on first use."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type | None = None) -> type[Any]:
        """Return the class of the published form."""
        return load_object(PUBLISHED_FORMS[self.name])
