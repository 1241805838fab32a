"""How often a verb that releases runs the method again, so that the report can say how sure its numbers are."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.uncertainty.wish import reruns_for, sound_wish

__all__ = ["Reruns", "reruns_for", "sound_wish"]

Reruns = Annotated[
    int | None,
    typer.Option(
        help="Runs of the method on the released rows, for expected errors in the report: free, but slow. 0 leaves "
        "them out; as many as fit into a minute, at most 8, unless said."
    ),
]
