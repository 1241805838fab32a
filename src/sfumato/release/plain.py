"""Values as JSON holds them: what a document, a model and a script write down and read back unchanged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, cast

import numpy as np

from sfumato.privacy.exact import text


def plain(value: Any) -> Any:
    """Return a value as JSON holds it; exact fractions become text that reads back unchanged.

    >>> plain({"epsilon": Fraction(1, 3), "columns": ("age", "sex")})
    {'epsilon': '1/3', 'columns': ['age', 'sex']}
    """
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Fraction):
        return text(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in cast("Iterable[Any]", value)]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
