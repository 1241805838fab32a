"""The script page: actions of the session as Python and as shell commands."""

from __future__ import annotations

from nicegui import ui

from sfumato.workbench.pages.components import Page, card, frame, heading
from sfumato.workbench.texts import words
from sfumato.workbench.views import script


class ScriptPage(Page):
    """One visit of the page."""

    def draw(self) -> None:
        """Draw the page."""
        with frame(self.desk, "script"):
            heading(words("script.heading"))
            found = script.scripts(self.project)
            ui.label(words("script.intro")).classes("quiet")
            if found.why_not:
                ui.label(words("script.not_yet", why=found.why_not)).classes("trouble")
                with card("page.table"):
                    _both(*script.table_lines(self.project))
                return
            ui.label(words("script.edits")).classes("quiet")
            self._script("python", found.python, "release.py")
            self._script("shell", found.shell, "release.sh")

    def _script(self, name: str, text: str, file: str) -> None:
        with card(f"page.{name}"):
            label = words(f"script.download_{name}")
            ui.button(label, icon="download", on_click=lambda: ui.download(text.encode(), file)).props("no-caps")
            ui.code(text, language="python" if name == "python" else "bash").classes("grow")


def _both(python: str, shell: str) -> None:
    ui.code(python, language="python").classes("grow")
    ui.code(shell, language="bash").classes("grow")
