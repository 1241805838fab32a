"""X. Liu, Lin, Fan and Zhou: two-stage data synthesization.

Figures 4 to 13 and tables 4, 7 and 8: printed, ours, and why they differ. The method itself is in the library
(``sfumato.mechanisms.two_stage``), labelled as a heuristic; here it runs on data like the paper's. The first stages
by GAN and diffusion need the extra ``deep`` and minutes on an accelerator: what one run found there is kept in the
package, and ``reproduce(deep=True)`` trains them anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.papers.two_stage.published.blending import blend_rows as blend_rows
    from sfumato.papers.two_stage.published.blending import match as match
    from sfumato.papers.two_stage.published.first_stage import PUBLISHED_BANDWIDTHS as PUBLISHED_BANDWIDTHS
    from sfumato.papers.two_stage.published.first_stage import fit_kernel_density as fit_kernel_density
    from sfumato.papers.two_stage.published.first_stage import midpoints as midpoints
    from sfumato.papers.two_stage.published.first_stage import synthesise_inputs as synthesise_inputs
    from sfumato.papers.two_stage.published.method import TwoStageAsPublished as TwoStageAsPublished
    from sfumato.papers.two_stage.reproduce import page_of as page_of
    from sfumato.papers.two_stage.reproduce import parts as parts
    from sfumato.papers.two_stage.reproduce import reproduce as reproduce
    from sfumato.papers.two_stage.reproduce import summary as summary
    from sfumato.papers.two_stage.results import Reproduction as Reproduction

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "PUBLISHED_BANDWIDTHS": "sfumato.papers.two_stage.published.first_stage",
        "Reproduction": "sfumato.papers.two_stage.results",
        "TwoStageAsPublished": "sfumato.papers.two_stage.published.method",
        "blend_rows": "sfumato.papers.two_stage.published.blending",
        "fit_kernel_density": "sfumato.papers.two_stage.published.first_stage",
        "match": "sfumato.papers.two_stage.published.blending",
        "midpoints": "sfumato.papers.two_stage.published.first_stage",
        "page_of": "sfumato.papers.two_stage.reproduce",
        "parts": "sfumato.papers.two_stage.reproduce",
        "reproduce": "sfumato.papers.two_stage.reproduce",
        "summary": "sfumato.papers.two_stage.reproduce",
        "synthesise_inputs": "sfumato.papers.two_stage.published.first_stage",
    },
)
