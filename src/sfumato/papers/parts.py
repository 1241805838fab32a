"""The figures and tables of a paper, one by one: how each is made, and which files it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sfumato.errors import PlanError
from sfumato.papers.results import PartOf

WorkT = TypeVar("WorkT")
PartT = TypeVar("PartT", bound=PartOf[Any])


@dataclass(frozen=True)
class Entry(Generic[WorkT, PartT]):
    """How one part is made, the files without which it cannot be, and those without which some of it is left out."""

    name: str
    build: Callable[[WorkT], PartT]
    needs: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()

    def missing(self, present: Collection[str]) -> tuple[str, ...]:
        """Return the files of this part that are not there."""
        return tuple(name for name in (*self.needs, *self.wants) if name not in present)


def require_part(paper: str, only: str, known: Sequence[str]) -> None:
    """Refuse the name of a part that the reproduction of a paper does not have."""
    if only not in known:
        raise PlanError(f"no part {only!r} of {paper}", next_step=f"use one of: {', '.join(known)}")
