"""Load public names, higher-layer hooks and optional packages on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

HOOKS: dict[str, str] = {
    "Schema.draft": "sfumato.table.drafting.draft:draft_schema",
    "Release.save": "sfumato.bundle.write:save_bundle",
    "Release.uncertainty": "sfumato.evaluate.uncertainty.run:uncertainty",
    "Plan.forecast": "sfumato.evaluate.forecast.run:forecast",
    "Comparison.save": "sfumato.report.comparison_page.page:save_comparison",
    "ReleaseAttacks.save": "sfumato.report.attack_page.page:save_attacks",
    "Canaries.save": "sfumato.risk.auditing.one_run:save_canaries",
    "bundle": "sfumato.bundle.read:open_bundle",
}
"""Conveniences of a value type whose work is done in a layer above it."""


def lazy_names(folder: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a folder whose names live in the given modules.


    >>> getattr_, dir_ = lazy_names("sfumato.entropy", {"shannon": "sfumato.entropy.values"})
    >>> getattr_("shannon")([1, 1])
    1.0
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {folder!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[folder], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[folder]), *homes})

    return find, names


def load_object(home: str) -> Any:
    """Import and return an object by its address, such as ``sfumato.mechanisms.graphical.aim:AIM``."""
    module, attribute = home.split(":")
    return getattr(importlib.import_module(module), attribute)
