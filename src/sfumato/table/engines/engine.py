"""The engine protocol: where rows live, how they are counted and streamed; engine errors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.errors import TableError
from sfumato.schema import Schema
from sfumato.table.error_causes import cause_of
from sfumato.table.scan_plan import DataRequest, ScanPlan, local_scan

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from sfumato.schema.column import Column
    from sfumato.table.engines.spark_worker import CountJob, WorkerCounts
    from sfumato.table.marginal_cover import ColumnSet

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
    :mod:`sfumato.table.error_causes` says what is passed on.
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
