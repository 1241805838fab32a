"""The record of an audit by canaries: which rows are nobody's, and which of them are in the table."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import RiskError
from sfumato.report.private_file import write_private
from sfumato.risk.auditing.one_run import Canaries


def save_canaries(canaries: Canaries, path: str | Path) -> Path:
    """Write rows and coins to a new file of mode 600."""
    place = Path(path)
    try:
        write_private(place, canaries.record())
    except OSError as error:
        raise RiskError(
            f"cannot write the canaries to {str(path)!r}: {error.strerror}", next_step="name a new file in a folder"
        ) from error
    return place
