"""The release on disk: bundle, report, and the check that both still say what was released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.bundle.document import ReleaseDocument as ReleaseDocument
    from sfumato.bundle.incomplete_bundles import clean_up as clean_up
    from sfumato.bundle.target_folder import prepare_output as prepare_output
    from sfumato.bundle.verify import BundleCheck as BundleCheck
    from sfumato.bundle.verify import verify_bundle as verify_bundle
    from sfumato.bundle.write import save_bundle as save_bundle
    from sfumato.report.page import render_page as render_page

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BundleCheck": "sfumato.bundle.verify",
        "ReleaseDocument": "sfumato.bundle.document",
        "prepare_output": "sfumato.bundle.target_folder",
        "render_page": "sfumato.report.page",
        "save_bundle": "sfumato.bundle.write",
        "clean_up": "sfumato.bundle.incomplete_bundles",
        "verify_bundle": "sfumato.bundle.verify",
    },
)
