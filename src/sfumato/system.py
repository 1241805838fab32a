"""Processor cores, free memory and owner-only file permissions on every operating system."""

from __future__ import annotations

import os
from pathlib import Path

MEMORY_VARIABLE = "SFUMATO_MEMORY"
MEMORY_SHARE = 0.5
"""Share of the machine's memory that a release may plan for when SFUMATO_MEMORY does not say."""
UNSAID_LIMIT = 4 * 10**9
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def usable_cores() -> int:
    """Return how many processor cores this process may use.

    >>> usable_cores() >= 1
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


def allowed_memory() -> int:
    """Return how many bytes a release may use: SFUMATO_MEMORY (such as 4GB), or half of the machine's memory.

    Where the system does not say how much that is (Windows), 4 GB. Raises ValueError where the variable is no amount.
    """
    text = os.environ.get(MEMORY_VARIABLE, "").strip().upper()
    if not text:
        whole = total_memory()
        return UNSAID_LIMIT if whole is None else int(MEMORY_SHARE * whole)
    number = text.rstrip("KMGTB")
    try:
        return int(float(number) * UNITS[text[len(number) :]])
    except (KeyError, ValueError) as error:
        raise ValueError(f"{MEMORY_VARIABLE}={text!r} is not an amount of memory, such as 4GB") from error


def _pages(name: str) -> int | None:
    ask = getattr(os, "sysconf", None)
    if ask is None:
        return None
    try:
        return ask(name) * ask("SC_PAGE_SIZE")
    except (OSError, ValueError):  # a name that this system does not know
        return None


def restrict_to_owner(descriptor: int) -> None:
    """Let only its owner read and write an open file; a default list of rights may have widened its mode.

    Windows has other rights: there a file has those of its folder.
    """
    change = getattr(os, "fchmod", None)
    if change is not None and os.name == "posix":
        change(descriptor, 0o600)


def write_owner_only(place: Path, text: str) -> None:
    """Write a file that only its owner may read; one that is there is refused, and a failure leaves nothing behind."""
    descriptor = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            restrict_to_owner(descriptor)
            file.write(text)
    except BaseException:
        place.unlink(missing_ok=True)
        raise
