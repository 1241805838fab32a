"""What a page or a notebook shows, held against what is printed: by figures, or by words where noise decides."""

from __future__ import annotations

import math
import re

from sfumato.version import __version__


def plain(text: str) -> str:
    """Reduce output to what must not differ from run to run: no hashes, folders, dates, times, versions, frames."""
    text = re.sub(r"(?<![\w.])[0-9a-f]{16,64}\b", "#", text)
    text = re.sub(r"(?<![\w.])/(?:[\w.\-]+/)*", "", text)
    text = re.sub(r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:\d\d)?)?", "#", text)
    text = re.sub(rf"(?<!\d){re.escape(__version__)}(?!\d)", "#", text)
    text = re.sub(r"\b\d+(?:\.\d+)? (?=(?:s|ms|seconds)\b)", "# ", text)
    return re.sub(r"[─-╿\s]+", " ", text)


def masked(text: str) -> str:
    """Reduce output further, to what noise does not decide: no numbers."""
    return re.sub(r"-?\d+(?:[,.:T+\-]\d+)*Z?(?:e[+-]?\d+)?", "#", plain(text))


def same(shown: str, printed: str) -> bool:
    """Say whether two words are the same; the last digits of a long number are the platform's."""
    return shown == printed or (
        _NUMBER.sub("#", shown) == _NUMBER.sub("#", printed)
        and all(map(_same_number, _NUMBER.findall(shown), _NUMBER.findall(printed)))
    )


_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
LONG = 10
"""Digits from which a number shows the rounding of the platform's arithmetic."""


def _same_number(shown: str, printed: str) -> bool:
    is_long = min(sum(map(str.isdigit, shown)), sum(map(str.isdigit, printed))) >= LONG and "." in shown
    return shown == printed or (is_long and math.isclose(float(shown), float(printed), rel_tol=1e-8))


def require_shown(shown: str, printed: str, where: str, noisy: bool = False) -> None:
    """Every part between two "..." must be printed, in that order, and figure by figure unless noise decides."""
    reduced = masked if noisy else plain
    rest = reduced(printed).split()
    for part in re.split(r"^\s*\.\.\.\s*$", shown, flags=re.MULTILINE):
        words = reduced(part).split()
        starts = (i for i in range(len(rest) - len(words) + 1) if all(map(same, words, rest[i:])))
        start = next(starts, None)
        assert start is not None, f"{where} shows\n{part}\nbut this is printed:\n{printed}"
        rest = rest[start + len(words) :]
