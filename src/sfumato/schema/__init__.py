"""Public facts about a table: columns, rules between them, and where each fact comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.schema.column import Column as Column
    from sfumato.schema.rules import Rule as Rule
    from sfumato.schema.schema import Schema as Schema

__getattr__, __dir__ = lazy_names(__name__)
