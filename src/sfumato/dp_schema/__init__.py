"""Buy a schema: infer types, bounds and levels of columns from noisy counts, charged to the budget."""

from sfumato.dp_schema.buy import Prepared, buy_schema, forecast_schema, prepared
from sfumato.dp_schema.plan import detection_limits

__all__ = ["Prepared", "buy_schema", "detection_limits", "forecast_schema", "prepared"]
