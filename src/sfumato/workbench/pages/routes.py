"""Routes: all pages, the script page itself, and the two addresses that serve pages of bundles."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import Response
from nicegui import ui

from sfumato.errors import WorkbenchError
from sfumato.lazy import load_object
from sfumato.workbench.access import FRAMED
from sfumato.workbench.pages.components import Page, PageContext, card, frame, heading
from sfumato.workbench.texts import words
from sfumato.workbench.views import script

PAGES = {
    "/": "sfumato.workbench.pages.table_page:TablePage",
    "/plan": "sfumato.workbench.pages.plan_page:PlanPage",
    "/release": "sfumato.workbench.pages.release_page:ReleasePage",
    "/ledger": "sfumato.workbench.pages.ledger_page:LedgerPage",
    "/script": "sfumato.workbench.pages.routes:ScriptPage",
}
"""The pages by address. They are imported when the workbench has begun to answer: that is what takes long."""
HEADERS = {"content-security-policy": FRAMED, "cache-control": "no-store"}


def register_routes(desk: PageContext, outer: Any) -> None:
    """Register every page."""
    ui.add_css(files("sfumato.workbench").joinpath("look.css").read_text(encoding="utf-8"), shared=True)
    for address, home in PAGES.items():
        ui.page(address)(lambda home=home: load_object(home)(desk).draw())
    outer.add_api_route(f"{desk.base}/bundle/{{number}}/{{name}}", lambda number, name: _bundle(desk, number, name))
    outer.add_api_route(f"{desk.base}/private/{{name}}", lambda name: _private(desk, name))


def _bundle(desk: PageContext, number: str, name: str) -> Response:
    """Serve a page of a bundle by its number and one of two words: no address names a file."""
    from sfumato.workbench.views import release

    if not number.isdigit() or name not in release.SHOWN:
        return _not_found()
    try:
        return Response(release.page_of(desk.project, int(number), name), 200, HEADERS, "text/html")
    except WorkbenchError:
        return _not_found()


def _private(desk: PageContext, name: str) -> Response:
    """Serve a comparison or an attack from memory."""
    page = desk.private.get(name)
    return _not_found() if page is None else Response(page, 200, HEADERS, "text/html")


def _not_found() -> Response:
    return Response(words("release.unknown"), 404, HEADERS, "text/plain")


def preload_pages() -> None:
    """Import what the pages need, so that the first visit of each does not wait for it."""
    for home in PAGES.values():
        load_object(home)


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
