"""Causes of an engine's errors in words of our own: an engine quotes rows, so its messages are read, never repeated.

What is passed on is a line number, a count of fields, a place in bytes, or the name of an error class.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

ENGINES = "DuckDB, PostgreSQL, Spark, Polars and the warehouses of Ibis"
COMPLETE = "check that the file is complete and of the format that its name says"
FIELDS = "every line needs as many fields as the header; quote fields that hold the delimiter"
QUOTES = "close the quote, and write a quote within a field twice"
ENCODED = "say how the file is encoded, such as --encoding cp1252, or save it as UTF-8"
MEMORY = "free some memory, or give fewer rows or columns; Parquet needs the least"
ROOM = "make room where the engine keeps its files (for Spark spark.local.dir, on every worker), then run it again"
TYPES = "correct that value, or describe the column as text"
SIMPLER = "state fewer or simpler facts, or cut the table into several"
ERROR_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
"""How Spark names an error at the start of its message."""


class Cause(NamedTuple):
    """The description of an engine's error: a reason and a next step."""

    reason: str
    next_step: str


class _Sign(NamedTuple):
    pattern: re.Pattern[str]
    reason: Callable[[re.Match[str]], str]
    next_step: str


def _sign(pattern: str, reason: str | Callable[[re.Match[str]], str], next_step: str) -> _Sign:
    words = reason if callable(reason) else lambda _match: reason
    return _Sign(re.compile(pattern, re.IGNORECASE | re.DOTALL), words, next_step)


SIGNS = (
    _sign(
        r"csv error on line: (\d+).*expected number of columns: (\d+) found: (\d+)",
        lambda m: f"line {m[1]} has {m[3]} fields, and the header {m[2]}",
        FIELDS,
    ),
    _sign(r"csv error on line: (\d+).*unterminated quote", lambda m: f"line {m[1]} has a quote without an end", QUOTES),
    _sign(r"csv error on line: (\d+).*(?:unicode|utf-?8)", lambda m: f"line {m[1]} is not written in UTF-8", ENCODED),
    _sign(
        r"csv error on line: (\d+).*maximum line size of (\d+)",
        lambda m: f"line {m[1]} is longer than {m[2]} bytes",
        QUOTES,
    ),
    _sign(
        r"csv error on line: (\d+).*(?:could not convert|error when converting|conversion)",
        lambda m: f"line {m[1]} holds a value that is not of the type of its column",
        TYPES,
    ),
    _sign(r"csv error on line: (\d+)", lambda m: f"line {m[1]} cannot be read", FIELDS),
    _sign(
        r"csv parse error: row #(\d+): expected (\d+) columns, got (\d+)",
        lambda m: f"row {m[1]} has {m[3]} fields, and the header {m[2]}",
        FIELDS,
    ),
    _sign(
        r"csv parse error: expected (\d+) columns, got (\d+)",
        lambda m: f"a line has {m[2]} fields, and the header {m[1]}",
        FIELDS,
    ),
    _sign("no space left on device|disk quota exceeded", "no space left on device", ROOM),
    _sign(
        "failed to allocate|out of memory|outofmemory|cannot allocate|bad_alloc|malloc of size|could not allocate",
        "there is not enough memory",
        MEMORY,
    ),
    _sign(
        r"malformed json.*?at byte (\d+) in (?:line|record/value) (\d+)",
        lambda m: f"it is no JSON at byte {m[1]} of line or record {m[2]}",
        "write one object per line, or a list of objects",
    ),
    _sign("json parse error|malformed json|json transform error", "it is no JSON that can be read", COMPLETE),
    _sign(r"utf-?8|unicode|codec can't decode", "it is not written in UTF-8", ENCODED),
    _sign(
        "could not convert|conversion error|could not cast|invalid input syntax|failed to parse|cast_invalid_input",
        "a value is not of the type of its column",
        TYPES,
    ),
    _sign("no files? found|no such file|does not exist", "it is not there any more", "look where it went"),
    _sign("connection|connect to server", "the connection to the engine failed", "connect anew, then run it again"),
    _sign("interrupt|query was canceled|querycancel", "the query was stopped", "run it again"),
)
"""What messages of engines look like, in the order in which they are tried, and what is said instead."""


def cause_of(error: BaseException) -> Cause:
    """Describe an engine's error; of its message only numbers are passed on.

    >>> cause_of(ValueError("CSV Error on Line: 3\\nOriginal Line: Ann,4,5\\nExpected Number of Columns: 2 Found: 3"))
    Cause(reason='line 3 has 3 fields, and the header 2', next_step='every line needs ... that hold the delimiter')
    >>> cause_of(ValueError("Key (name)=(Ann) is not present")).reason
    'the engine stopped with ValueError'
    """
    if isinstance(error, RecursionError):
        return Cause("something is nested too deeply for the engine", SIMPLER)
    if isinstance(error, MemoryError):
        return Cause("there is not enough memory", MEMORY)
    if isinstance(error, OverflowError):
        return Cause("a number is too large for the engine", SIMPLER)
    if isinstance(error, UnicodeDecodeError):
        return Cause(f"byte {error.start:,} is not written in {error.encoding}", ENCODED)
    if type(error).__module__.startswith("ibis"):
        step = f"the engine lacks an operation that counting needs; use {ENGINES}, or export the table to Parquet"
        return Cause(f"its engine stopped with {type(error).__name__}", step)
    text = str(error)
    for sign in SIGNS:
        if match := sign.pattern.search(text):
            return Cause(sign.reason(match), sign.next_step)
    if isinstance(error, OSError) and error.strerror and error.errno:
        return Cause(error.strerror, COMPLETE)
    named = ERROR_CLASS.match(text)
    return Cause(f"the engine stopped with {named[1] if named else type(error).__name__}", COMPLETE)
