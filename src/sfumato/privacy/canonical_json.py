"""Canonical JSON, and documents sealed by the SHA-256 of their content."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from sfumato.privacy.exact import fraction_to_text

SEAL = "seal"
"""The field that holds a document's own seal."""


def to_jsonable(value: Any) -> Any:
    """Return a value as JSON holds it; exact fractions become text that reads back unchanged.

    >>> to_jsonable({"epsilon": Fraction(1, 3), "columns": ("age", "sex")})
    {'epsilon': '1/3', 'columns': ['age', 'sex']}
    """
    if isinstance(value, np.generic):
        return to_jsonable(value.item())
    if isinstance(value, Fraction):
        return fraction_to_text(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [to_jsonable(item) for item in cast("Iterable[Any]", value)]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def canonical_json(content: object) -> str:
    """Return JSON with sorted keys and no spaces, in ASCII: what events are and what the ledger hashes."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of a text, as hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class SealedDocument:
    """Layout of one kind of document; its seal covers everything but the seal itself.

    >>> layout = SealedDocument(indent=1)
    >>> body = layout.sealed({"b": 1, "a": "x"})
    >>> layout.holds(body), layout.holds({**body, "b": 2})
    (True, False)
    """

    indent: int
    empty: str | None = None
    """What stands in place of the seal while it is computed; None leaves the field out."""

    def text(self, body: Mapping[str, Any]) -> str:
        """Return the one text of a document: sorted keys, UTF-8, one newline at the end."""
        return json.dumps(body, sort_keys=True, indent=self.indent, ensure_ascii=False, allow_nan=False) + "\n"

    def seal(self, body: Mapping[str, Any]) -> str:
        """Return the seal that a document must carry, whatever it carries."""
        bare = {key: value for key, value in body.items() if key != SEAL}
        return sha256_hex(self.text(bare if self.empty is None else {**bare, SEAL: self.empty}))

    def sealed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a document with its seal."""
        return {**body, SEAL: self.seal(body)}

    def holds(self, body: Mapping[str, Any]) -> bool:
        """Whether a document carries the seal of its content."""
        return body.get(SEAL) == self.seal(body)
