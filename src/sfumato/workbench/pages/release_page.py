"""The release page: the guarantee before release, the button, finished bundles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from sfumato.workbench.jobs import ErrorText, Job
from sfumato.workbench.pages.components import (
    Page,
    PageContext,
    begin,
    card,
    error_box,
    frame,
    heading,
    progress,
    saved_input,
    step_lines,
    success_box,
)
from sfumato.workbench.texts import words
from sfumato.workbench.views import plan, release, script

ASKED: dict[str, tuple[str, Callable[..., Any]]] = {
    "verify": ("release.verifying", release.verify_release),
    "compare": ("release.comparing", release.compared),
    "attack": ("release.attacking", release.attacked),
}
"""What can be asked of a bundle: the words while it goes on, and the work."""
ICONS = {"verify": "verified", "compare": "visibility", "attack": "gpp_maybe"}


class ReleasePage(Page):
    """One visit of the page."""

    def __init__(self, desk: PageContext) -> None:
        super().__init__(desk)
        self.shown: dict[int, str] = {}

    def draw(self) -> None:
        """Draw the page."""
        with frame(self.desk, "release"):
            heading(words("release.heading"))
            self.button()
            self.releases()

    @ui.refreshable_method
    def button(self) -> None:
        """Draw the sentence and the button; while it releases, how far it is."""
        with card("release.will_be_true"):
            if self.project.schema is None:
                error_box(ErrorText(words("plan.no_schema"), (), words("plan.no_schema_step")))
                return
            found = plan.plan_view(self.project)
            error_box(found.trouble or found.budget_trouble)
            ui.label(found.sentence).classes("sentence")
            job = self.desk.jobs["release"]
            running = job is not None and job.is_running
            if not running:
                saved_input(self.desk, "out", "release.out", "release.out_help")
                ui.checkbox(words("release.anyway"), value=self.project.state.anyway, on_change=self._anyway)
                made = ui.button(words("release.button"), icon="publish", on_click=self.release).classes("release")
                made.props("no-caps").set_enabled(found.trouble is None and found.budget_trouble is None)
            progress(self.desk, "release", self.released)
            if job is not None and job.standing == "done":
                success_box(words("release.done", folder=job.result.folder))
                if job.result.left:
                    ui.label(job.result.left)
            if found.trouble is None:
                step_lines(script.release_lines(self.project))

    def _anyway(self, event: Any) -> None:
        self.project.change(anyway=bool(event.value))

    def release(self) -> None:
        """Release, beside the page."""
        found = plan.plan_view(self.project)
        seconds = None if found.plan is None else found.plan.seconds
        begin(self.desk, "release", "release.title", lambda: release.run(self.project), seconds)
        self.button.refresh()

    def released(self, job: Job) -> None:
        """Draw what came of it."""
        self.button.refresh()
        self.releases.refresh()

    @ui.refreshable_method
    def releases(self) -> None:
        """Draw every release of the project, the newest first."""
        with card("release.made"):
            if not self.project.state.releases:
                ui.label(words("release.none")).classes("quiet")
                return
            saved_input(self.desk, "holdout", "release.holdout", "release.holdout_help")
        for number in range(len(self.project.state.releases), 0, -1):
            self._made(number)

    def _made(self, number: int) -> None:
        made = self.project.state.releases[number - 1]
        with ui.element("section").classes("card"):
            ui.label(f"{number}. {made.table}, {made.method}: {made.cost}").classes("strong")
            ui.label(f"{made.made_at[:16].replace('T', ' ')}  {made.folder}").classes("quiet foldername")
            place = f"{self.desk.base}/bundle/{number}"
            with ui.row().classes("wrap"):
                for name in ("report", "users"):
                    label = words(f"release.{name}")
                    button = ui.button(label, on_click=lambda n=name, p=place: self._show(number, f"{p}/{n}"))
                    button.props("outline no-caps")
                for kind in ASKED:
                    button = ui.button(words(f"release.{kind}"), icon=ICONS[kind])
                    button.on_click(partial(self.ask, kind, number)).props("outline no-caps")
            for kind in ASKED:
                self._answer(kind, number)
            self._framed(number)

    def _framed(self, number: int) -> None:
        """Draw the page that was asked for, in a frame of its own that can do nothing here."""
        address = self.shown.get(number)
        if address:
            ui.link(words("release.open_page"), address, new_tab=True).props("rel=noopener")
            inside = ui.element("iframe").classes("framed").props('sandbox="allow-scripts allow-popups"')
            inside.props["src"] = address
            inside.props["title"] = words("release.report")

    def _show(self, number: int, address: str) -> None:
        self.shown = {number: address}
        self.releases.refresh()

    def ask(self, kind: str, number: int) -> None:
        """Verify, compare or attack, beside the page."""
        title, work = ASKED[kind]

        def done() -> Any:
            found = work(self.project, number)
            if isinstance(found, str):
                self.desk.private[f"{kind}-{number}"] = found
            return found

        begin(self.desk, f"{kind}-{number}", title, done)
        self.releases.refresh()

    def _answer(self, kind: str, number: int) -> None:
        job = self.desk.jobs[f"{kind}-{number}"]
        progress(self.desk, f"{kind}-{number}", lambda _: self._answered(kind, number))
        if job is None or job.standing != "done":
            return
        if kind == "verify":
            found = job.result
            if found.ok:
                success_box(found.verdict)
                for note in (*found.unchecked, *found.notes):
                    ui.label(note).classes("quiet")
            else:
                error_box(ErrorText(found.verdict, found.problems))
            return
        ui.label(words("release.eyes")).classes("trouble")
        address = f"{self.desk.base}/private/{kind}-{number}"
        label = words(f"release.{kind}")
        ui.button(label, icon="visibility", on_click=lambda: self._show(number, address)).props("flat no-caps")

    def _answered(self, kind: str, number: int) -> None:
        if kind != "verify":
            self.shown = {number: f"{self.desk.base}/private/{kind}-{number}"}
        self.releases.refresh()
