"""DuckDB engines: relations, frames, and Parquet files whose row groups are read in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.encode import can_encode, is_text_type
from sfumato.table.engines.engine import BATCH_ROWS, DuckDBEngine, engine_errors
from sfumato.table.scan_plan import DataRequest, ScanPlan, local_scan

FEW_GROUPS = 4
"""With fewer row groups than this, one reader with threads of its own keeps the workers busier."""


BatchReader = Callable[[], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class ParquetEngine(DuckDBEngine):
    """A DuckDB engine over Parquet files that can also hand out row groups."""

    paths: tuple[str, ...] = ()

    def answer(self, ask: DataRequest, schema: Schema) -> ScanPlan:
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
