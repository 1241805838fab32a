"""AIM and MST: graphical models of noisy marginals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.graphical.aim import AIM as AIM
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel as FittedModel
    from sfumato.mechanisms.graphical.mst import MST as MST

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AIM": "sfumato.mechanisms.graphical.aim",
        "FittedModel": "sfumato.mechanisms.graphical.fitted_model.fitted_model",
        "MST": "sfumato.mechanisms.graphical.mst",
    },
)
