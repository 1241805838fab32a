"""The custodian's copy of a release: true values beside the released ones, outside every bundle.

Of rows it is the comparison with the confidential table, which can be made at any time after the release as well; of
counts and values it is the report with the true ones in it. The bundle is complete before anything of it is drawn: what
goes wrong here is a warning, and loses no release.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import SfumatoError, UnwrittenCopyWarning, place_of
from sfumato.progress import tell
from sfumato.report.private_file import write_private
from sfumato.report.words.statistics import facts_of

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.report.document import ReleaseDocument
    from sfumato.table import Table

LATER = "sfumato compare BUNDLE DATA --out PAGE makes it at any time"


def custodians_copy(release: Release, document: ReleaseDocument, table: Table) -> str:
    """Return the page; it holds confidential values."""
    if release.method.makes == "rows":
        from sfumato.comparison.compare import compare
        from sfumato.report.comparison_page import comparison_page

        return comparison_page(compare(release, table), facts_of(release.confidential))
    from sfumato.report.release_page import private_page

    return private_page(document, release.schema, release.tables, table, release.method, release.confidential)


def write_copy(release: Release, document: ReleaseDocument, table: Table, place: Path) -> None:
    """Write the page for its owner alone; a failure is a warning, as the release has its bundle already."""
    tell("drawing the custodian's copy")
    try:
        page = custodians_copy(release, document, table)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_private(place, page)
    except Exception as error:  # noqa: BLE001  whatever it is, the bundle is complete
        told = error.headline if isinstance(error, SfumatoError) else place_of(error)
        later = f"; {LATER}" if release.method.makes == "rows" else ""
        said = f"the custodian's copy {str(place)!r} was not written: {told}{later}"
        warnings.warn(UnwrittenCopyWarning(said), stacklevel=4)
    except BaseException as stop:
        stop.add_note("the bundle is complete, but the custodian's copy was not written")
        raise
