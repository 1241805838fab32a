"""Compute all parts of a paper's reproduction, or one of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sfumato.errors import PlanError
from sfumato.papers.result import PartOf

WorkT = TypeVar("WorkT")
PartT = TypeVar("PartT", bound=PartOf[Any])


@dataclass(frozen=True)
class PartEntry(Generic[WorkT, PartT]):
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


def parts_text(parts: Sequence[str]) -> str:
    """Return the names of figures and tables in a few words.

    >>> parts_text(["figure 1", "figure 2", "figure 3", "figure S1", "table IV"])
    'figures 1 to 3, S1; table IV'
    """
    named: dict[str, list[str]] = {}
    for part in parts:
        kind, _, number = part.partition(" ")
        named.setdefault(kind, []).append(number)
    words = [f"{kind}{'s' if len(numbers) > 1 else ''} {', '.join(_runs(numbers))}" for kind, numbers in named.items()]
    return "; ".join(words)


def _runs(numbers: Sequence[str]) -> list[str]:
    """Return plain numbers in order, three or more in a row as one run, then everything else as it is."""
    plain = sorted(int(number) for number in numbers if number.isdigit())
    runs: list[list[int]] = []
    for number in plain:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(number) for number in run] for run in runs]
    return [*(word for run in said for word in run), *(number for number in numbers if not number.isdigit())]
