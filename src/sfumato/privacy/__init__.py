"""Accounting, noise, ledger and randomness: what every guarantee rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.privacy.randomness import Randomness as Randomness

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Randomness": "sfumato.privacy.randomness",
    },
)
