"""How close released or synthetic values are to the confidential ones. For the custodian's eyes, never published."""

from __future__ import annotations

from sfumato.utility.ecdf import Comparison as Comparison
from sfumato.utility.ecdf import OverCopies as OverCopies
from sfumato.utility.ecdf import Ratio as Ratio
from sfumato.utility.ecdf import compare as compare
from sfumato.utility.ecdf import ecdf_max as ecdf_max
from sfumato.utility.ecdf import ecdf_msq as ecdf_msq
