"""Files with confidential values: new, and readable by their owner alone from the first byte on."""

from __future__ import annotations

import os
from pathlib import Path

from sfumato.system import for_owner_alone


def write_private(place: Path, text: str) -> None:
    """Write a file that only its owner may read; one that is there is refused, and a failure leaves nothing behind."""
    descriptor = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for_owner_alone(descriptor)
            file.write(text)
    except BaseException:
        place.unlink(missing_ok=True)
        raise
