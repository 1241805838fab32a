"""Choose and write files with confidential values: outside every bundle, for the owner only."""

from __future__ import annotations

from pathlib import Path

from sfumato.bundle.layout import DOCUMENT
from sfumato.bundle.target_folder import place_of, refuse_read_only
from sfumato.errors import BundleError
from sfumato.system import write_owner_only

OTHER_PLACE = "give a new file outside every bundle, for example private.html"
CONFIDENTIAL = "holds confidential values"


def require_free_path(path: str | Path, what: str, why: str = CONFIDENTIAL) -> Path:
    """Return where the page goes; refuse a place that is taken, that is none, or that lies in a bundle."""
    place = place_of(path, what)
    bundle = next((folder for folder in place.resolve().parents if (folder / DOCUMENT).exists()), None)
    if bundle is not None:
        raise BundleError(
            f"{str(place)!r} lies inside the bundle {str(bundle)!r}: {what} {why}",
            next_step=OTHER_PLACE,
        )
    if place.is_dir():
        raise BundleError(f"{str(place)!r} is a folder", next_step=OTHER_PLACE)
    if place.exists() or place.is_symlink():
        raise BundleError(f"{str(place)!r} exists already", next_step=OTHER_PLACE)
    if not place.parent.is_dir():
        raise BundleError(
            f"there is no folder {str(place.parent)!r}", next_step="make it, or give a file in another folder"
        )
    refuse_read_only(place.parent)
    return place


def save_private_file(place: Path, text: str) -> Path:
    """Write a page with mode 600 and return where it stands."""
    try:
        write_owner_only(place, text)
    except OSError as error:
        raise BundleError(f"cannot write {str(place)!r}: {error.strerror}", next_step=OTHER_PLACE) from error
    return place
