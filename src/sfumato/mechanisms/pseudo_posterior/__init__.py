"""PseudoPosterior: synthetic columns drawn from a private posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.pseudo_posterior.method import PseudoPosterior as PseudoPosterior

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "PseudoPosterior": "sfumato.mechanisms.pseudo_posterior.method",
    },
)
