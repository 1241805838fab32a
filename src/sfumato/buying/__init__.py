"""Facts of a schema bought from the private rows: noisy counts that are charged and recorded like any release."""

from sfumato.buying.buy import buy_schema, foresee
from sfumato.buying.foresight import foreseen

__all__ = ["buy_schema", "foresee", "foreseen"]
