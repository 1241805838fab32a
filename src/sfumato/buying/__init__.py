"""Facts of a schema bought from the private rows: noisy counts that are charged and recorded like any release."""

from sfumato.buying.buy import Prepared, buy_schema, foresee, prepared
from sfumato.buying.foresight import foreseen

__all__ = ["Prepared", "buy_schema", "foresee", "foreseen", "prepared"]
