"""DuckDB engines: relations, frames, and Parquet files whose row groups are read in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.encode import can_encode, is_text_type
from sfumato.table.engines.engine import BATCH_ROWS, BatchReader, Engine, engine_errors, streamed_scan
from sfumato.table.scan_plan import DataRequest, ScanPlan, local_scan

FEW_GROUPS = 4
"""With fewer row groups than this, one reader with threads of its own keeps the workers busier."""
RELATION = "relation"


@dataclass(frozen=True)
class DuckDBEngine(Engine):
    """A DuckDB relation: files and frames opened here, or the user's own, queried inside its own connection."""

    relation: Any

    @property
    def table(self) -> Any:
        """An unbound Ibis table with the relation's columns; SQL is compiled from it and run by DuckDB."""
        return self._unbound

    @cached_property
    def _unbound(self) -> Any:
        import ibis

        with engine_errors("the table"):
            columns = self.relation.limit(0).to_arrow_table().schema
            return ibis.table({field.name: _engine_type(field.type) for field in columns}, name=RELATION)

    @property
    def streams(self) -> bool:
        """DuckDB runs in this process."""
        return True

    @property
    def title(self) -> str:
        """DuckDB, which reads files and frames where they lie."""
        return "DuckDB"

    def scan_plan(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """Everything happens in this process."""
        return streamed_scan(self, ask, schema)

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


@dataclass(frozen=True)
class ParquetEngine(DuckDBEngine):
    """A DuckDB engine over Parquet files that can also hand out row groups."""

    paths: tuple[str, ...] = ()

    @property
    def has_typed_files(self) -> bool:
        """Parquet columns go to the encoders as they are."""
        return True

    def scan_plan(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """As for any file; the check first runs the encoders, and asks DuckDB for what they cannot see."""
        return local_scan(ask, extra=int(ask.kind == "check" and schema.person is None))

    @cached_property
    def _metadata(self) -> list[Any]:
        with engine_errors(self.paths[0]):
            return [pq.read_metadata(path) for path in self.paths]

    def row_groups(self, columns: Sequence[Column]) -> Iterator[BatchReader] | None:
        """Return readers of the row groups, or None where the engine must convert the columns first.

        Files with few row groups are read by one reader with threads of its own, whose batches the workers share.
        """
        kinds = self._metadata[0].schema.to_arrow_schema()
        same = all(m.schema.to_arrow_schema().equals(kinds) for m in self._metadata)
        if not same or not all(can_encode(column, kinds.field(column.name).type) for column in columns):
            return None
        text = [column.name for column in columns if is_text_type(kinds.field(column.name).type)]
        names = [column.name for column in columns]
        groups = [
            (path, meta, g)
            for path, meta in zip(self.paths, self._metadata, strict=True)
            for g in range(meta.num_row_groups)
        ]
        if len(groups) >= FEW_GROUPS:
            return (partial(read_row_groups, path, meta, [group], names, text) for path, meta, group in groups)
        files = zip(self.paths, self._metadata, strict=True)
        return (
            partial(iter, [batch]) for path, meta in files for batch in read_row_groups(path, meta, None, names, text)
        )


def read_row_groups(
    path: str,
    metadata: Any,
    groups: list[int] | None,
    names: list[str],
    text: list[str],
) -> Iterator[pa.RecordBatch]:
    """Read columns of some row groups in batches, in the order of the names; all groups, by threads, where None."""
    with engine_errors(path):
        file = pq.ParquetFile(path, read_dictionary=text, metadata=metadata, pre_buffer=False)
        batches = file.iter_batches(BATCH_ROWS, row_groups=groups, columns=names, use_threads=groups is None)
        # iter_batches keeps the file's column order; the encoders are in the schema's.
        for batch in batches:
            yield batch.select(names)
