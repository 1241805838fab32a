"""Hostile schemas, parameters and files, made from a seed: most are wrong in one place, some in many."""

from __future__ import annotations

import json
import random
import string
from typing import Any

NASTY = [
    "",
    " ",
    "x",
    "\x00",
    "\x1b[2J",
    "\u202e",
    "a" * 300,
    "'",
    '"',
    "\\",
    "\n",
    "é",
    "😀",
    "__proto__",
    "=1+1",
    "null",
    "NaN",
    "inf",
    "-0",
    "1e400",
    "1e-400",
    "0x10",
    "1_000",
    "2024-13-45",
    "9999-12-31",
    "0001-01-01",
    "true",
    "None",
    "../x",
    "~nobody",
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    1e-300,
    1e300,
    -1e308,
    1e308,
    2**53,
    2**63,
    10**30,
    10**400,
    0.1,
    float("nan"),
    float("inf"),
    -0.0,
    1e6,
    1e7,
]
KINDS = ["category", "ordinal", "boolean", "integer", "number", "date", "text", 5, None]
KEYS = ["kind", "bounds", "values", "edges", "bins", "missing", "role", "unit", "outside", "description", "colour"]
CHECKS = [
    "x <= y",
    "x determines y",
    "y determines x",
    "x determines x",
    "x determines",
    "x + y == 3",
    "1 < 2",
    "not x",
    "x implies y",
    "x == True",
    "x in (1, 2)",
    "x in ('a',)",
    "",
    "(" * 90 + "x" + ")" * 90,
    "x <",
    "import os",
    "x.y",
    "x[0]",
    "lambda: 1",
    "__import__('os')",
    "x == 'a' and y > 2",
    "9" * 400 + " < x",
]


def toml(value: Any) -> str:
    """Write a value as TOML, as far as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return {"inf": "inf", "-inf": "-inf", "nan": "nan"}.get(repr(value), repr(value))
    if isinstance(value, list):
        return "[" + ", ".join(toml(each) for each in value) + "]"
    return str(value) if isinstance(value, int) else json.dumps("" if value is None else str(value))


def anything(rng: random.Random, depth: int = 0) -> Any:
    """Return a value of any kind."""
    kind = rng.randrange(6 if depth < 2 else 4)
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind == 1:
        return rng.choice(NASTY)
    if kind == 2:
        return rng.choice([True, False])
    if kind == 3:
        return "".join(rng.choices(string.printable, k=rng.randrange(8)))
    return [anything(rng, depth + 1) for _ in range(rng.randrange(4))]


def facts(rng: random.Random, kind: Any) -> dict[str, Any]:
    """Return facts of a column that go together."""
    if kind in ("category", "ordinal"):
        return {"values": rng.choice([["a", "b"], [1, 2, 3], ["é", "=1", "\x1b[2J"]])}
    if kind == "boolean":
        return {}
    if kind == "date":
        return {"bounds": ["2020-01-01", "2020-12-31"]}
    return {"bounds": rng.choice([[0, 9], [-5, 5], [0, 1000]])}


def schema_text(rng: random.Random) -> str:
    """Return the text of a schema: sound at first, then broken in some places."""
    lines = ["[table]", 'name = "t"']
    if rng.random() < 0.2:
        key = rng.choice(["name", "adjacency", "rows", "draft", "person", "rows_per_person", "colour"])
        lines = ["[table]", *([] if key == "name" else ['name = "t"']), f"{key} = {toml(anything(rng))}"]
    for name in ("x", "y", rng.choice(["g", *NASTY])):
        lines += column_lines(rng, name)
    if rng.random() < 0.3:
        lines += ["[[rules]]", f"check = {toml(rng.choice(CHECKS))}"]
        lines += [f"map = {toml(anything(rng))}"] if rng.random() < 0.2 else []
    text = "\n".join(lines)
    return mangled(rng, text) if rng.random() < 0.15 else text


def column_lines(rng: random.Random, name: str) -> list[str]:
    """Return one column's section; one time in three with a fact that does not belong."""
    kind = rng.choice(KINDS[:6])
    found: dict[str, Any] = {"kind": kind, **facts(rng, kind)}
    if rng.random() < 0.3:
        found[rng.choice(KEYS)] = anything(rng)
    if rng.random() < 0.3:
        found |= {"missing": True, "outside": rng.choice(["missing", "clamp", "refuse", "clip"])}
    return [f"[columns.{json.dumps(name)}]", *(f"{key} = {toml(value)}" for key, value in found.items())]


def mangled(rng: random.Random, text: str) -> str:
    """Return a text with a few characters changed, doubled or lost."""
    letters = list(text)
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(letters))
        letters[place] = rng.choice(["", letters[place] * 2, rng.choice(NASTY), chr(rng.randrange(1, 0x2FF))])
    return "".join(letters)


def csv_bytes(rng: random.Random) -> bytes:
    """Return a CSV file of columns x, y, g: sound at first, then broken in some places."""
    rows = [["x", "y", "g"]]
    rows += [
        [rng.choice("abc"), str(rng.randrange(10)), rng.choice(["true", "false"])] for _ in range(rng.randrange(12))
    ]
    for _ in range(rng.choice([0, 0, 1, 2, 5])):
        row = rng.choice(rows)
        if row:
            row[rng.randrange(len(row))] = rng.choice(NASTY)
        if rng.random() < 0.2:
            row.append("more") if rng.random() < 0.5 else row.clear()
    data = "\n".join(",".join(row) for row in rows).encode("utf-8", "surrogatepass")
    if rng.random() < 0.3 and data:
        place = rng.randrange(len(data))
        data = data[:place] + bytes([rng.randrange(256)]) * rng.randrange(3) + data[place + rng.randrange(2) :]
    return data
