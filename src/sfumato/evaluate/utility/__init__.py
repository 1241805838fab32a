"""How close released or synthetic values are to the confidential ones. For the custodian's eyes, never published."""

from __future__ import annotations

from sfumato.evaluate.utility.ecdf import ColumnCopies as ColumnCopies
from sfumato.evaluate.utility.ecdf import MeanOverCopies as MeanOverCopies
from sfumato.evaluate.utility.ecdf import Ratio as Ratio
from sfumato.evaluate.utility.ecdf import compare_column_copies as compare_column_copies
from sfumato.evaluate.utility.ecdf import ecdf_max as ecdf_max
from sfumato.evaluate.utility.ecdf import ecdf_msq as ecdf_msq
