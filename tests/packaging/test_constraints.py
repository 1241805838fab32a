"""constraints.txt pins pip and everything that sfumato and its extras need, in the versions that are installed here."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "constraints.txt").read_text().splitlines()
PINS = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in LINES}


def needed() -> set[str]:
    """Return the names of all distributions that the core and every extra need here, directly or not."""
    extras = tuple(metadata.metadata("sfumato").get_all("Provides-Extra") or ())
    todo, looked_at = [("sfumato", extras)], set[tuple[str, tuple[str, ...]]]()
    while todo:
        one = todo.pop()
        if one in looked_at:
            continue
        looked_at.add(one)
        for requirement in map(Requirement, metadata.requires(one[0]) or ()):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *one[1])):
                todo.append((canonicalize_name(requirement.name), tuple(sorted(requirement.extras))))
    return {name for name, _ in looked_at} - {"sfumato"}


def test_everything_that_is_needed_is_pinned_as_the_tests_run_with_it():
    wanted = {name: metadata.version(name) for name in (*needed(), "pip")}
    assert {name: PINS.get(name) for name in wanted} == wanted


def test_the_setup_takes_the_pinned_pip():
    assert "pip install --quiet --constraint constraints.txt pip" in (ROOT / "Makefile").read_text()
    assert "--upgrade pip" not in (ROOT / "Makefile").read_text()
