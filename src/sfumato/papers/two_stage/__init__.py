"""X. Liu, Lin, Fan and Zhou: two-stage data synthesization.

Figures 4 to 13 and tables 4, 7 and 8: printed, ours, and why they differ. The method itself is in the library
(``sfumato.mechanisms.two_stage``), labelled as a heuristic; here it runs on data like the paper's. The first stages
by GAN and diffusion need the extra ``deep`` and minutes on an accelerator: what one run found there is kept in the
package, and ``reproduce(deep=True)`` trains them anew.
"""

from __future__ import annotations

from sfumato.papers.two_stage.reproduce import page_of, parts, reproduce, summary
from sfumato.papers.two_stage.results import Reproduction

__all__ = ["Reproduction", "page_of", "parts", "reproduce", "summary"]
