"""View of the release page: run a release, then verify, compare and attack it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.build_method import release_with_reason
from sfumato.core.forecast_checks import refuse_if_noise_dominates
from sfumato.core.plan import cost_summary
from sfumato.core.release import Release
from sfumato.core.release import plan as plan_release
from sfumato.core.release import release as run_release
from sfumato.errors import KeptElsewhereError, WorkbenchError
from sfumato.evaluate.uncertainty.main_numbers import checked_reruns, planned_reruns
from sfumato.table import Table, read
from sfumato.workbench.project import Project, ReleaseRecord
from sfumato.workbench.texts import words
from sfumato.workbench.views.plan import chosen_method, required_schema, row_numbers

REPORT, USERS = "report.html", "README.html"
SHOWN = {"report": REPORT, "users": USERS}
"""The pages of a bundle that the workbench serves, by the word in their address: no address names a file."""


@dataclass(frozen=True)
class FinishedRelease:
    """A release that was made."""

    folder: Path
    statement: str
    left: str


def run(project: Project) -> FinishedRelease:
    """Release the table and write the bundle. Everything that can fail is tried before anything is spent."""
    from sfumato.bundle.layout import DOCUMENT
    from sfumato.bundle.target_folder import prepare_output
    from sfumato.bundle.write import kept_on_failure

    state, schema, out = project.state, required_schema(project), project.out
    method, reason = chosen_method(project)
    rows, about = row_numbers(state)
    prepare_output(out)
    table = read(str(Path(state.source).expanduser()), schema)
    planned = plan_release(table, method, rows, project.ledger, about_rows=about)
    if not state.anyway:
        refuse_if_noise_dominates(planned)
    prepare_output(out, None, planned, project.ledger)
    again = planned_reruns(method, planned, checked_reruns(None))
    made = release_with_reason(run_release(table, method, rows, project.ledger, about_rows=about), reason)
    folder = out.absolute()
    try:
        with kept_on_failure(made, folder):
            made.save(folder, reruns=again)
    except KeptElsewhereError as error:
        folder = error.folder
        raise
    finally:  # also of a release that was stopped, or did not come to its folder
        if (folder / DOCUMENT).is_file():
            _remember(project, made, folder)
    account = made.account
    left = "" if account is None else words("release.left", left=account.left_epsilon, cap=account.cap_epsilon)
    return FinishedRelease(folder, made.guarantee.statement(), left)


def _remember(project: Project, made: Release, folder: Path) -> None:
    told = ReleaseRecord(
        folder=str(folder),
        method=made.method.name,
        table=made.schema.name,
        cost=cost_summary(made.plan),
        made_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    project.add_release(told)
    project.change(out="")


def release_record(project: Project, number: int) -> ReleaseRecord:
    """Return a release by its number, from 1."""
    if not 1 <= number <= len(project.state.releases):
        raise WorkbenchError(words("release.unknown"), next_step=words("release.unknown_step"))
    return project.state.releases[number - 1]


def page_of(project: Project, number: int, name: str) -> str:
    """Return the text of a page of a bundle."""
    place = Path(release_record(project, number).folder) / SHOWN[name]
    try:
        return place.read_text(encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(words("release.gone", place=place), next_step=words("release.unknown_step")) from error


def verify_release(project: Project, number: int) -> Any:
    """Check a bundle and its record in the ledger."""
    from sfumato.bundle.verify import verify_bundle

    return verify_bundle(release_record(project, number).folder, project.ledger)


def compared(project: Project, number: int) -> str:
    """Compare a release with the confidential table, and return the page: it is kept in memory alone."""
    from sfumato.evaluate.compare.run import compare
    from sfumato.report.comparison_page import comparison_page

    return comparison_page(compare(*_beside_the_table(project, number)))


def attacked(project: Project, number: int) -> str:
    """Attack a release, and return the risk page: it is kept in memory alone."""
    from sfumato.report.attack_page import attack_page
    from sfumato.risk.on_release.run import attack_release

    return attack_page(attack_release(*_beside_the_table(project, number)))


def _beside_the_table(project: Project, number: int) -> tuple[str, Table, Table | None]:
    """Return a bundle, the confidential table and the holdout, if one was named."""
    from sfumato.bundle.read import open_bundle

    folder, state = release_record(project, number).folder, project.state
    schema, holdout = open_bundle(folder).schema, state.holdout.strip()
    table = read(str(Path(state.source).expanduser()), schema)
    return folder, table, read(str(Path(holdout).expanduser()), schema) if holdout else None
