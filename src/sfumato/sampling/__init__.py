"""Synthetic values from codes, cells and densities: post-processing shared by row mechanisms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.sampling.public_box import BoundedAxis as BoundedAxis

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BoundedAxis": "sfumato.sampling.public_box",
    },
)
