"""Load public names, higher-layer hooks and optional packages on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


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
