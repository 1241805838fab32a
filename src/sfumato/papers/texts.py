"""Texts of a reproduction: its statements and its errata, from two TOML files beside the paper's modules.

Names in braces stand for numbers that the modules measure. A list is written with commas, a mapping with its names
before its values, and a share that ends with ``%`` in per cent with a space: ``{gains:.0%}`` gives
``krr 12 %, forest 3 %``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from string import Formatter
from typing import Any

import numpy as np

from sfumato.papers.result import Comparison, Erratum, Part
from sfumato.report.texts import text_file

LISTS = (list, tuple, np.ndarray)


class _Measured(Formatter):
    """Puts measured numbers into a text."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Mapping):
            return ", ".join(f"{name} {self.format_field(each, format_spec)}" for name, each in value.items())  # pyright: ignore
        if isinstance(value, LISTS):
            return ", ".join(self.format_field(each, format_spec) for each in value)  # pyright: ignore
        written = format(value, format_spec)
        return written.replace("%", " %") if format_spec.endswith("%") else written


def put_in(text: str, numbers: Mapping[str, Any]) -> str:
    """Return a text with numbers in it.

    >>> put_in("errors {errors:.2f}; {share:.1%}", {"errors": [1, 2.345], "share": 0.12})
    'errors 1.00, 2.35; 12.0 %'
    """
    return _Measured().vformat(text, (), numbers)


def read_errata(package: str, numbers: Mapping[str, object]) -> tuple[Erratum, ...]:
    """Return the errata of a paper in the order of its ``errata.toml``.

    >>> read_errata("sfumato.papers.kmeans_geometry", {})
    Traceback (most recent call last):
    KeyError: 'tiny_aligned'
    """
    items = text_file("errata", package)["erratum"]
    return tuple(Erratum.model_validate({key: put_in(text, numbers) for key, text in item.items()}) for item in items)


def written_part(
    package: str, name: str, numbers: Mapping[str, Any], more: Iterable[Comparison] = (), **shown: Any
) -> Part:
    """Return a part with the text, comparisons and notes that ``parts.toml`` of its paper has, and what is ``shown``.

    A comparison with ``each`` stands once for each of the mappings that are listed under that name; ``more`` follow.
    """
    texts = text_file("parts", package)[name]
    return Part(
        text=_filled(texts.get("text", ()), numbers),
        comparisons=(*_comparisons(texts.get("comparisons", ()), numbers), *more),
        notes=_filled(texts.get("notes", ()), numbers),
        **shown,
    )


def _filled(lines: Iterable[str], numbers: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(put_in(line, numbers) for line in lines)


def _comparisons(items: Iterable[Mapping[str, str]], numbers: Mapping[str, Any]) -> Iterator[Comparison]:
    for item in items:
        cells = {key: text for key, text in item.items() if key != "each"}
        for row in numbers[item["each"]] if "each" in item else ({},):
            yield Comparison.model_validate({key: put_in(text, {**numbers, **row}) for key, text in cells.items()})
