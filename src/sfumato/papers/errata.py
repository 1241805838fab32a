"""Read the errata of a paper: texts from its errata.toml, with the numbers that are measured put in."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from sfumato.papers.result import Erratum


def read_errata(package: str, numbers: Mapping[str, object]) -> tuple[Erratum, ...]:
    """Return the errata of a paper in the order of its file; names in braces stand for measured numbers.

    >>> read_errata("sfumato.papers.kmeans_geometry", {})
    Traceback (most recent call last):
    KeyError: 'tiny_aligned'
    """
    texts = tomllib.loads((files(package) / "errata.toml").read_text(encoding="utf-8"))
    items = [{key: text.format_map(numbers) for key, text in item.items()} for item in texts["erratum"]]
    return tuple(Erratum.model_validate(item) for item in items)
