"""Where operating systems differ: cores, memory and who may read a file. Linux says all, macOS most, Windows little."""

from __future__ import annotations

import os


def cores() -> int:
    """Return how many processor cores this process may use.

    >>> cores() >= 1
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def total_memory() -> int | None:
    """Return the bytes of memory that the machine has, or None where the system does not say."""
    return _pages("SC_PHYS_PAGES")


def free_memory() -> int | None:
    """Return the bytes of memory that are free now, or None where the system does not say."""
    return _pages("SC_AVPHYS_PAGES")


def _pages(name: str) -> int | None:
    ask = getattr(os, "sysconf", None)
    if ask is None:
        return None
    try:
        return ask(name) * ask("SC_PAGE_SIZE")
    except (OSError, ValueError):  # a name that this system does not know
        return None


def for_owner_alone(descriptor: int) -> None:
    """Let only its owner read and write an open file; a default list of rights may have widened its mode.

    Windows has other rights: there a file has those of its folder.
    """
    change = getattr(os, "fchmod", None)
    if change is not None and os.name == "posix":
        change(descriptor, 0o600)
