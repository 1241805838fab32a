"""The engine protocol: where rows live, how they are counted and streamed; causes of engine errors in our own words.

An engine quotes rows, so its messages are read, never repeated: what is passed on is a line number, a count of fields,
a place in bytes, or the name of an error class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sfumato.errors import TableError
from sfumato.schema import Schema
from sfumato.table.scan_plan import DataRequest, ScanPlan, local_scan

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from sfumato.schema.column import Column
    from sfumato.table.engines.spark_worker import CountJob, WorkerCounts
    from sfumato.table.marginal_cover import ColumnSet

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


BATCH_ROWS = 1 << 17
OWN = ("builtins", "sfumato")
"""Where exceptions come from that are about this program, not about the user's table."""
FOREIGN = (OSError, UnicodeError, RecursionError, MemoryError, OverflowError)
"""Exceptions of Python that are about the table all the same."""
BatchReader = Callable[[], "Iterator[pa.RecordBatch]"]
"""Reads some of the rows, in the thread that counts them."""
OneQueryCounts = tuple["dict[ColumnSet, NDArray[np.int64]]", "dict[str, int]"]
"""Counts of many column sets, and how many values of each column lie outside its domain."""


class WorkersUnavailableError(Exception):
    """The workers of an engine lack this package, or have another version of it; ``next_step`` says what helps."""

    def __init__(self, reason: str, next_step: str) -> None:
        super().__init__(reason)
        self.next_step = next_step


class CountingWorkers(Protocol):
    """Processes beside the rows that can count for us."""

    def count(self, expression: Any, job: CountJob) -> WorkerCounts:
        """Return the summed counts of a job over an expression's rows, or raise :class:`WorkersUnavailableError`."""
        ...


class Engine(Protocol):
    """Raw columns, and how they are counted. An engine states the first six members; the others have defaults.

    Rows of a local engine stream to this process. Of a remote one only counts come back: its workers run our loops, or
    it groups the rows itself.
    """

    @property
    def table(self) -> Any:
        """The raw columns as an Ibis table expression."""
        ...

    @property
    def streams(self) -> bool:
        """Whether rows can be streamed cheaply to this process; remote engines push the counting down."""
        ...

    @property
    def title(self) -> str:
        """How people call this engine."""
        ...

    def scan_plan(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """Return where this engine answers a request of a method, in how many passes, and what leaves it."""
        ...

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        ...

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        ...

    @property
    def has_typed_files(self) -> bool:
        """Whether the encoders read this engine's files faster than SQL checks them."""
        return False

    def row_groups(self, columns: Sequence[Column]) -> Iterator[BatchReader] | None:
        """Return readers of all rows that need no SQL; None where the engine must convert the columns first."""
        return None

    @property
    def workers(self) -> CountingWorkers | None:
        """Who can run our loops beside the rows; None where the rows come to us or the engine groups them."""
        return None

    def count_files(self, job: CountJob) -> WorkerCounts | None:
        """Return the counts of all rows, read by workers from the files themselves; None where they cannot."""
        return None

    def count_in_one_query(self, schema: Schema, sets: Sequence[ColumnSet]) -> OneQueryCounts | None:
        """Return the counts of many column sets from one query; None where the engine's SQL has no such query."""
        return None


def has_only_text_columns(engine: Engine, schema: Schema) -> bool:
    """Whether the check of a table runs the encoders first: all columns are texts here, and no rule wants SQL.

    Then SQL would make a value of every text several times; where it must for a rule, one query does it all.
    """
    if schema.person is not None or schema.rules or not engine.streams:
        return False
    kinds = engine.table.schema()
    return all(name in kinds and kinds[name].is_string() for name in schema.names)


def streamed_scan(engine: Engine, ask: DataRequest, schema: Schema) -> ScanPlan:
    """Return the plan of an engine in this process, whose encoders may check a table of texts before SQL does."""
    return local_scan(ask, extra=int(ask.kind == "check" and has_only_text_columns(engine, schema)))


@contextmanager
def engine_errors(where: str) -> Generator[None]:
    """Turn what an engine raises while reading into a :class:`TableError` about the user's table.

    Its message can hold a private row, so it is neither quoted nor shown behind ours;
    :mod:`sfumato.table.engines.engine` says what is passed on.
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] in OWN and not isinstance(error, FOREIGN):
            raise
        raise TableError(f"cannot read {where}: {(cause := cause_of(error)).reason}", (), cause.next_step) from None


@dataclass(frozen=True)
class EngineView(Engine):
    """A table expression over the columns of another engine, which still runs every query."""

    base: Engine
    expression: Any

    @property
    def table(self) -> Any:
        """The expression."""
        return self.expression

    @property
    def streams(self) -> bool:
        """Rows stream as they do from the engine below."""
        return self.base.streams

    @property
    def title(self) -> str:
        """The name of the engine below."""
        return self.base.title

    def scan_plan(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """Answer as the engine below does."""
        return self.base.scan_plan(ask, schema)

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        return self.base.aggregate(expression)

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        return self.base.batches(expression)


AGGREGATES_PER_QUERY = 600
"""Measures that one query takes: engines plan larger ones slowly."""
Answers = dict[str, Any]
Question = tuple[str, Any]
"""The name of a question, and the expression that answers it."""


def run_aggregates(engine: Engine, table: Any, questions: Mapping[str, Iterable[Question]]) -> dict[str, Answers]:
    """Ask questions about columns in few queries; return the answers by column and question."""
    measures = [(name, question, measure) for name, asked in questions.items() for question, measure in asked]
    answers: dict[str, Answers] = {}
    for start in range(0, len(measures), AGGREGATES_PER_QUERY):
        part = measures[start : start + AGGREGATES_PER_QUERY]
        query = table.aggregate(**{f"m{i}": measure for i, (_, _, measure) in enumerate(part)})
        row = engine.aggregate(query).to_pylist()[0]
        for i, (name, question, _) in enumerate(part):
            answers.setdefault(name, {})[question] = _plain(row[f"m{i}"])
    return answers


def _plain(answer: Any) -> Any:
    """Return a count as a number: sums of whole numbers come back as decimals."""
    return int(answer) if isinstance(answer, Decimal) and answer == int(answer) else answer


def distinct_values(values: Any) -> Any:
    """Return how many different values there are; missing ones are none."""
    return values.nunique(where=values.notnull())
