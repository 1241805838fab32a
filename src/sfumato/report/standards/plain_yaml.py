"""YAML that says the same to every reader: block style, every text in double quotes, every strange letter escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

INDENT = "  "
TAKEN = ("true", "false", "null")


def yaml_text(value: Mapping[str, Any]) -> str:
    r"""Return nested mappings, lists, texts and numbers as YAML; no text of them can be taken for anything else.

    >>> print(yaml_text({"names": ["no", "a: b\n- c"], "epsilon": 0.5, "nothing": {}}), end="")
    names:
      - "no"
      - "a: b\n- c"
    epsilon: 0.5
    nothing: {}
    """
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, margin: str) -> Iterator[str]:
    pairs = cast("Mapping[str, Any]", value).items() if isinstance(value, Mapping) else None
    if pairs is not None:
        for key, item in pairs:
            yield from _entry(f"{margin}{_key(key)}:", item, margin)
    else:
        for item in cast("Sequence[Any]", value):
            yield from _entry(f"{margin}-", item, margin)


def _entry(head: str, item: Any, margin: str) -> Iterator[str]:
    if isinstance(item, Mapping | list | tuple):
        if not item:
            yield f"{head} {'{}' if isinstance(item, Mapping) else '[]'}"
            return
        yield head
        yield from _lines(item, margin + INDENT)
    else:
        yield f"{head} {_scalar(item)}"


def _key(name: str) -> str:
    """Return a key; a short word may mean true, false or nothing to a reader of YAML."""
    return name if re.fullmatch(r"[a-z_]{4,}", name) and name not in TAKEN else _quoted(name)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value, allow_nan=False)


def _number(value: float) -> str:
    """Return a number with a point: readers of YAML 1.1 take 1e-09 for a text.

    >>> _number(1e-09), _number(3.0)
    ('1.0e-09', '3.0')
    """
    text = json.dumps(value, allow_nan=False)
    whole, sign, power = text.partition("e")
    return f"{whole}.0{sign}{power}" if sign and "." not in whole else text


def _quoted(text: str) -> str:
    return '"' + "".join(_letter(letter) for letter in text) + '"'


def _letter(letter: str) -> str:
    """Return a letter inside double quotes: escaped unless every reader prints it."""
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if letter in named:
        return named[letter]
    if letter.isprintable() and letter != "\ufeff":
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
