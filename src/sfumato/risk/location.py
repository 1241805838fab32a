"""Location-based interval disclosure and row linkage: the measures of the two-stage paper, with what they hide.

The arithmetic is in :mod:`sfumato.rows.interval_disclosure`, below the methods that blend rows up to a target.
"""

from __future__ import annotations

from sfumato.rows.interval_disclosure import Array as Array
from sfumato.rows.interval_disclosure import Blend as Blend
from sfumato.rows.interval_disclosure import Finish as Finish
from sfumato.rows.interval_disclosure import IntervalDisclosure as IntervalDisclosure
from sfumato.rows.interval_disclosure import Tolerance as Tolerance
from sfumato.rows.interval_disclosure import blend_for as blend_for
from sfumato.rows.interval_disclosure import blended as blended
from sfumato.rows.interval_disclosure import corrected_inverse as corrected_inverse
from sfumato.rows.interval_disclosure import interval_disclosure as interval_disclosure
from sfumato.rows.interval_disclosure import printed_inverse as printed_inverse
from sfumato.rows.interval_disclosure import published_bound as published_bound
from sfumato.rows.interval_disclosure import row_linkage as row_linkage
