"""What can be learned about people from a release: in closed form, or measured by attacks."""

from __future__ import annotations

import importlib
from types import ModuleType

_MODULES = ("attack", "game", "homogeneity", "inference", "linkage", "location", "membership", "sweep", "yardsticks")


def __getattr__(name: str) -> ModuleType:
    """Import on first use, so that ``sfumato.risk.homogeneity`` works after ``import sfumato``."""
    if name in _MODULES:
        return importlib.import_module(f"sfumato.risk.{name}")
    raise AttributeError(f"module 'sfumato.risk' has no attribute {name!r}")
