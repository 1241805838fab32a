"""The release on disk: bundle, report, and the check that both still say what was released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.report.bundle import save_bundle as save_bundle
    from sfumato.report.document import ReleaseDocument as ReleaseDocument
    from sfumato.report.leftovers import tidy as tidy
    from sfumato.report.page import render as render
    from sfumato.report.place import prepare_output as prepare_output
    from sfumato.report.verify import BundleCheck as BundleCheck
    from sfumato.report.verify import verify_bundle as verify_bundle

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BundleCheck": "sfumato.report.verify",
        "ReleaseDocument": "sfumato.report.document",
        "prepare_output": "sfumato.report.place",
        "render": "sfumato.report.page",
        "save_bundle": "sfumato.report.bundle",
        "tidy": "sfumato.report.leftovers",
        "verify_bundle": "sfumato.report.verify",
    },
)
