"""An engine over what is computed from the columns of another engine, where the rows are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sfumato.schema import Schema
from sfumato.table.engine import Engine, Workers
from sfumato.table.passes import Answer, Ask


@dataclass(frozen=True)
class DerivedEngine:
    """A table expression over the columns of another engine, which still runs every query."""

    base: Engine
    table: Any

    @property
    def streams(self) -> bool:
        """Rows stream as they do from the engine below."""
        return self.base.streams

    @property
    def workers(self) -> Workers | None:
        """The workers of the engine below."""
        return self.base.workers

    @property
    def title(self) -> str:
        """The name of the engine below."""
        return self.base.title

    def answer(self, ask: Ask, schema: Schema) -> Answer:
        """Answer as the engine below does."""
        return self.base.answer(ask, schema)

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        return self.base.aggregate(expression)

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        return self.base.batches(expression)
