"""Texts of pages: each topic has a TOML file here, and a text is filled in with the facts that it is about."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def text_file(topic: str, package: str = __name__) -> dict[str, Any]:
    """Return a whole file of texts, in its own order; of another package's texts, too."""
    read = resources.files(package).joinpath(f"{topic}.toml").read_text(encoding="utf-8")
    return tomllib.loads(read)


class Texts:
    """The texts of one topic by their names; a name with a dot is inside a table of the file.

    >>> Texts("statistics")("sigma.name")
    'Size of the noise'
    """

    def __init__(self, topic: str, package: str = __name__) -> None:
        self.topic, self.package = topic, package

    def __call__(self, name: str, /, **facts: Any) -> str:
        """Return a text with facts in it."""
        text: Any = text_file(self.topic, self.package)
        for part in name.split("."):
            text = text[part]
        return text.format(**facts) if facts else text

    def table(self, name: str) -> dict[str, Any]:
        """Return a table of texts."""
        return text_file(self.topic, self.package)[name]
