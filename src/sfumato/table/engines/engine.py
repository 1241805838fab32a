"""The engine protocol: where rows live, how they are counted and streamed; engine errors."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.errors import TableError
from sfumato.schema import Schema
from sfumato.table.error_causes import cause_of
from sfumato.table.scan_plan import DataRequest, ScanPlan, backend_title, group_by_scan, local_scan

if TYPE_CHECKING:
    from sfumato.schema import Schema
    from sfumato.table.engines.spark_worker import CountJob, WorkerCounts

BATCH_ROWS = 1 << 17

RELATION = "relation"

OWN = ("builtins", "sfumato")

"""Where exceptions come from that are about this program, not about the user's table."""

FOREIGN = (OSError, UnicodeError, RecursionError, MemoryError, OverflowError)

"""Exceptions of Python that are about the table all the same."""


class WorkersUnavailableError(Exception):
    """The workers of an engine lack this package, or have another version of it; ``next_step`` says what helps."""

    def __init__(self, reason: str, next_step: str) -> None:
        super().__init__(reason)
        self.next_step = next_step


class CountingWorkers(Protocol):
    """Processes beside the rows that can count for us."""

    def count(self, expression: Any, job: CountJob) -> WorkerCounts:
        """Return the summed counts of a job over the rows of an expression, or raise :class:`UnfitWorkersError`."""
        ...


class Engine(Protocol):
    """Something that holds raw columns and answers aggregates; local ones also stream rows in batches."""

    @property
    def table(self) -> Any:
        """The raw columns as an Ibis table expression."""
        ...

    @property
    def streams(self) -> bool:
        """Whether rows can be streamed cheaply to this process; remote engines push the counting down."""
        ...

    @property
    def workers(self) -> CountingWorkers | None:
        """Who can run our loops beside the rows; None where the engine itself must group them."""
        ...

    @property
    def title(self) -> str:
        """How people call this engine."""
        ...

    def answer(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """Return where this engine answers a question of a method, in how many passes, and what leaves it."""
        ...

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        ...

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        ...


def has_only_text_columns(engine: Engine, schema: Schema) -> bool:
    """Whether the check of a table runs the encoders first: all columns are texts here, and no rule wants SQL.

    Then SQL would make a value of every text several times; where it must for a rule, one query does it all.
    """
    if schema.person is not None or schema.rules or not engine.streams:
        return False
    kinds = engine.table.schema()
    return all(name in kinds and kinds[name].is_string() for name in schema.names)


def _here(engine: Engine, ask: DataRequest, schema: Schema) -> ScanPlan:
    return local_scan(ask, extra=int(ask.kind == "check" and has_only_text_columns(engine, schema)))


@dataclass(frozen=True)
class IbisEngine:
    """A table of any Ibis backend: Spark, PostgreSQL, the warehouses, or the user's own DuckDB."""

    table: Any

    @property
    def streams(self) -> bool:
        """DuckDB runs in this process, so streaming beats SQL grouping; others keep their rows."""
        return self.table.get_backend().name == "duckdb"

    @property
    def workers(self) -> CountingWorkers | None:
        """None: the engine groups its rows itself."""
        return None

    @property
    def title(self) -> str:
        """The name of the backend."""
        return backend_title(str(self.table.get_backend().name))

    def answer(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """DuckDB answers as it does for files; others group their rows themselves."""
        return (
            _here(self, ask, schema) if self.streams else group_by_scan(ask, schema, str(self.table.get_backend().name))
        )

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        with engine_errors("the table"):
            return expression.to_pyarrow()

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        with engine_errors("the table"):
            yield from expression.to_pyarrow_batches(chunk_size=BATCH_ROWS)


@dataclass(frozen=True)
class DuckDBEngine:
    """A DuckDB relation: files and frames opened here, or the user's own, queried inside its own connection."""

    relation: Any

    @cached_property
    def table(self) -> Any:
        """An unbound Ibis table with the relation's columns; SQL is compiled from it and run by DuckDB."""
        import ibis

        with engine_errors("the table"):
            columns = self.relation.limit(0).to_arrow_table().schema
            return ibis.table({field.name: _engine_type(field.type) for field in columns}, name=RELATION)

    @property
    def streams(self) -> bool:
        """DuckDB runs in this process."""
        return True

    @property
    def workers(self) -> CountingWorkers | None:
        """None: the rows come to us."""
        return None

    @property
    def title(self) -> str:
        """DuckDB, which reads files and frames where they lie."""
        return "DuckDB"

    def answer(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """Everything happens in this process."""
        return _here(self, ask, schema)

    def _run(self, expression: Any) -> Any:
        import ibis

        return self.relation.query(RELATION, str(ibis.to_sql(expression, dialect="duckdb")))

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        with engine_errors("the table"):
            return self._run(expression).to_arrow_table()

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        with engine_errors("the table"):
            yield from self._run(expression).to_arrow_reader(BATCH_ROWS)


def _engine_type(kind: Any) -> Any:
    """Return an Arrow type as Ibis names it; one that it does not know is unknown, and no schema can describe it."""
    import ibis
    import ibis.expr.datatypes as dt

    try:
        return ibis.dtype(kind)
    except (TypeError, NotImplementedError, ValueError, KeyError):
        return dt.unknown


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
class EngineView:
    """A table expression over the columns of another engine, which still runs every query."""

    base: Engine
    table: Any

    @property
    def streams(self) -> bool:
        """Rows stream as they do from the engine below."""
        return self.base.streams

    @property
    def workers(self) -> CountingWorkers | None:
        """The workers of the engine below."""
        return self.base.workers

    @property
    def title(self) -> str:
        """The name of the engine below."""
        return self.base.title

    def answer(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """Answer as the engine below does."""
        return self.base.answer(ask, schema)

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        return self.base.aggregate(expression)

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        return self.base.batches(expression)


AGGREGATES_PER_QUERY = 600

"""Measures that one query takes: engines plan larger ones slowly."""

Answers = dict[str, Any]

NamedAggregate = tuple[tuple[str, str], Any]

"""The column, the name of the question, and the expression that answers it."""


def run_aggregates(engine: Engine, table: Any, measures: Sequence[NamedAggregate]) -> dict[str, Answers]:
    """Return the answers by column and question, from columns of the engine's table or from what was made of them."""
    found: dict[str, Answers] = {}
    for start in range(0, len(measures), AGGREGATES_PER_QUERY):
        part = measures[start : start + AGGREGATES_PER_QUERY]
        query = table.aggregate(**{f"m{i}": measure for i, (_, measure) in enumerate(part)})
        row = engine.aggregate(query).to_pylist()[0]
        for i, ((name, question), _) in enumerate(part):
            found.setdefault(name, {})[question] = _plain(row[f"m{i}"])
    return found


def _plain(answer: Any) -> Any:
    """Return a count as a number: sums of whole numbers come back as decimals."""
    return int(answer) if isinstance(answer, Decimal) and answer == int(answer) else answer


def distinct_values(values: Any) -> Any:
    """Return how many different values there are; missing ones are none."""
    return values.nunique(where=values.notnull())
