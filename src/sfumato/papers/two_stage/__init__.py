"""X. Liu, Lin, Fan and Zhou: two-stage data synthesization.

Figures 4 to 13 and tables 4, 7 and 8: printed, ours, and why they differ. The method as printed is in ``published``,
labelled as a heuristic; here it runs on data like the paper's. The first stages by GAN and diffusion need the extra
``deep`` and minutes on an accelerator: what one run found there is kept in the package, and ``reproduce(deep=True)``
trains them anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.papers.page import page_of as page_of
    from sfumato.papers.page import summary as summary
    from sfumato.papers.two_stage.published.blending import blend_rows as blend_rows
    from sfumato.papers.two_stage.published.blending import match as match
    from sfumato.papers.two_stage.published.first_stage import synthesise_inputs as synthesise_inputs
    from sfumato.papers.two_stage.published.method import TwoStageAsPublished as TwoStageAsPublished
    from sfumato.papers.two_stage.reproduction import parts as parts
    from sfumato.papers.two_stage.reproduction import reproduce as reproduce

__getattr__, __dir__ = lazy_names(__name__)
