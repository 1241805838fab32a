"""The release page: what will be true, the release itself, and what can be asked of a bundle afterwards."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import KeptElsewhereError, SfumatoError, WorkbenchError
from sfumato.release.foreseen import refuse_overwhelmed
from sfumato.release.plan import describe_cost
from sfumato.release.release import Release
from sfumato.release.release import plan as plan_release
from sfumato.release.release import release as run_release
from sfumato.release.settings import explained_release
from sfumato.table import read
from sfumato.uncertainty.wish import reruns_for, sound_wish
from sfumato.workbench.project import Made, Project
from sfumato.workbench.texts import words
from sfumato.workbench.views.plan import required_schema, wanted, whole

REPORT, USERS = "report.html", "README.html"
SHOWN = {"report": REPORT, "users": USERS}
"""The pages of a bundle that the workbench serves, by the word in their address: no address names a file."""


@dataclass(frozen=True)
class Done:
    """A release that was made."""

    folder: Path
    statement: str
    left: str


def run(project: Project) -> Done:
    """Release the table and write the bundle. Everything that can fail is tried before anything is spent."""
    from sfumato.report.bundle import DOCUMENT, kept_on_failure
    from sfumato.report.place import prepare_output

    state, schema, out = project.state, required_schema(project), project.out
    method, reason = wanted(project)
    rows, about = whole(state.rows, words("plan.rows")), whole(state.about_rows, words("plan.about_rows"))
    prepare_output(out)
    table = read(str(Path(state.source).expanduser()), schema)
    planned = plan_release(table, method, rows, project.ledger, about_rows=about)
    if not state.anyway:
        refuse_overwhelmed(planned)
    prepare_output(out, None, planned, project.ledger)
    again = reruns_for(method, planned, sound_wish(None))
    made = explained_release(run_release(table, method, rows, project.ledger, about_rows=about), reason)
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
    return Done(folder, made.guarantee.statement(), left)


def _remember(project: Project, made: Release, folder: Path) -> None:
    told = Made(
        folder=str(folder),
        method=made.method.name,
        table=made.schema.name,
        cost=describe_cost(made.plan),
        made_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    project.add_release(told)
    project.change(out="")


def made(project: Project, number: int) -> Made:
    """Return a release by its number, from 1."""
    if not 1 <= number <= len(project.state.releases):
        raise WorkbenchError(words("release.unknown"), next_step=words("release.unknown_step"))
    return project.state.releases[number - 1]


def page_of(project: Project, number: int, name: str) -> str:
    """Return the text of a page of a bundle."""
    place = Path(made(project, number).folder) / SHOWN[name]
    try:
        return place.read_text(encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(words("release.gone", place=place), next_step=words("release.unknown_step")) from error


def verified(project: Project, number: int) -> Any:
    """Check a bundle and its record in the ledger."""
    from sfumato.report.verify import verify_bundle

    return verify_bundle(made(project, number).folder, project.ledger)


def compared(project: Project, number: int) -> str:
    """Compare a release with the confidential table, and return the page: it is kept in memory alone."""
    from sfumato.comparison.compare import compare
    from sfumato.report.comparison_page import comparison_page
    from sfumato.report.opened import opened_bundle

    folder = made(project, number).folder
    facts = opened_bundle(folder).schema
    table = read(str(Path(project.state.source).expanduser()), facts)
    return comparison_page(compare(folder, table, _holdout(project, facts)))


def attacked(project: Project, number: int) -> str:
    """Attack a release, and return the risk page: it is kept in memory alone."""
    from sfumato.report.attacked.page import attack_page
    from sfumato.report.opened import opened_bundle
    from sfumato.risk.released.attacks import attack_release

    folder = made(project, number).folder
    facts = opened_bundle(folder).schema
    table = read(str(Path(project.state.source).expanduser()), facts)
    return attack_page(attack_release(folder, table, _holdout(project, facts)))


def _holdout(project: Project, facts: Any) -> Any:
    named = project.state.holdout.strip()
    return read(str(Path(named).expanduser()), facts) if named else None


def sentence_before(project: Project) -> str:
    """Return what the button promises: the guarantee as it will stand in the bundle."""
    from sfumato.workbench.views.plan import planned

    found = planned(project)
    if found.trouble is not None:
        raise SfumatoError(found.trouble.headline, found.trouble.problems, found.trouble.next_step)
    return found.sentence
