"""AIM and MST: synthetic tables from graphical models of noisy marginals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.graphical.aim import AIM as AIM
    from sfumato.methods.graphical.mst import MST as MST
    from sfumato.methods.graphical.saved.model import FittedModel as FittedModel

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AIM": "sfumato.methods.graphical.aim",
        "FittedModel": "sfumato.methods.graphical.saved.model",
        "MST": "sfumato.methods.graphical.mst",
    },
)
