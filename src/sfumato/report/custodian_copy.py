"""The custodian's copy of a release, with true values; bundle/ calls it through a hook.

Of rows it is the comparison with the confidential table, which can be made at any time after the release as well; of
counts and values it is the report with the true ones in it. The bundle is complete before anything of it is drawn: what
goes wrong here is a warning, and loses no release.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import SfumatoError, UnwrittenCopyWarning, place_of
from sfumato.progress import report_progress
from sfumato.report.texts.numbers import statistic_texts
from sfumato.system import write_owner_only

if TYPE_CHECKING:
    from sfumato.bundle.document import ReleaseDocument
    from sfumato.core.release import Release
    from sfumato.table import Table

LATER = "sfumato compare BUNDLE DATA --out PAGE makes it at any time"


def render_custodian_copy(release: Release, document: ReleaseDocument, table: Table) -> str:
    """Return the page; it holds confidential values."""
    if release.method.makes == "rows":
        from sfumato.evaluate.compare.run import compare
        from sfumato.report.comparison_page import comparison_page

        return comparison_page(compare(release, table), statistic_texts(release.confidential))
    from sfumato.report.release_page.page import custodian_report

    return custodian_report(document, release.schema, release.tables, table, release.method, release.confidential)


def write_custodian_copy(release: Release, document: ReleaseDocument, table: Table, place: Path) -> None:
    """Write the page for its owner alone; a failure is a warning, as the release has its bundle already."""
    report_progress("drawing the custodian's copy")
    try:
        page = render_custodian_copy(release, document, table)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_owner_only(place, page)
    except Exception as error:  # noqa: BLE001  whatever it is, the bundle is complete
        reason = error.headline if isinstance(error, SfumatoError) else place_of(error)
        later = f"; {LATER}" if release.method.makes == "rows" else ""
        message = f"the custodian's copy {str(place)!r} was not written: {reason}{later}"
        warnings.warn(UnwrittenCopyWarning(message), stacklevel=4)
    except BaseException as stop:
        stop.add_note("the bundle is complete, but the custodian's copy was not written")
        raise
