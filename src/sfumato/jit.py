"""Numba's njit with the package's defaults: releases the GIL, caches the machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba as nb


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile on first use, without the GIL, and keep the machine code; where no folder can be written, compile again.

    Use it bare, or with Numba's options: ``@jit(fastmath={"nsz"})``.

    >>> jit(lambda x: x + 1)(1)
    2
    """
    if function is None:
        return lambda wrapped: jit(wrapped, **options)
    try:
        return nb.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # numba found no place for its cache
        return nb.njit(nogil=True, **options)(function)
