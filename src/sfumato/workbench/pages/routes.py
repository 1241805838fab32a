"""Routes: all pages, and the two addresses that serve pages of bundles."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import Response
from nicegui import ui

from sfumato.errors import WorkbenchError
from sfumato.lazy import load_object
from sfumato.workbench.access import FRAMED
from sfumato.workbench.pages.components import PageContext
from sfumato.workbench.texts import words

PAGES = {
    "/": "sfumato.workbench.pages.table_page:TablePage",
    "/plan": "sfumato.workbench.pages.plan_page:PlanPage",
    "/release": "sfumato.workbench.pages.release_page:ReleasePage",
    "/ledger": "sfumato.workbench.pages.ledger_page:LedgerPage",
    "/script": "sfumato.workbench.pages.script_page:ScriptPage",
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
