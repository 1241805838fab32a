"""Rows drawn from what was released: values, the public box, keeping rules, whole files. Shared by all row methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.rows.box import Axis as Axis

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Axis": "sfumato.rows.box",
    },
)
