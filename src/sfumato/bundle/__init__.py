"""Releases on disk: write, read, verify, sign and export bundles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.bundle.document import ReleaseDocument as ReleaseDocument
    from sfumato.bundle.read import open_bundle as open_bundle
    from sfumato.bundle.target_folder import clean_up as clean_up
    from sfumato.bundle.target_folder import prepare_output as prepare_output
    from sfumato.bundle.verify import BundleCheck as BundleCheck
    from sfumato.bundle.verify import verify_bundle as verify_bundle
    from sfumato.bundle.write import save_bundle as save_bundle

__getattr__, __dir__ = lazy_names(__name__)
