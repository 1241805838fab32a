"""All pages, and the two addresses that serve a page of a bundle or one for the custodian's eyes."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import Response
from nicegui import ui

from sfumato.errors import WorkbenchError
from sfumato.registry import found
from sfumato.workbench.guard import FRAMED
from sfumato.workbench.pages.parts import Desk
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


def build(desk: Desk, outer: Any) -> None:
    """Register every page."""
    ui.add_css(files("sfumato.workbench").joinpath("look.css").read_text(encoding="utf-8"), shared=True)
    for address, home in PAGES.items():
        ui.page(address)(lambda home=home: found(home)(desk).draw())
    outer.add_api_route(f"{desk.base}/bundle/{{number}}/{{name}}", lambda number, name: _bundle(desk, number, name))
    outer.add_api_route(f"{desk.base}/private/{{name}}", lambda name: _private(desk, name))


def _bundle(desk: Desk, number: str, name: str) -> Response:
    """Serve a page of a bundle by its number and one of two words: no address names a file."""
    from sfumato.workbench.views import release

    if not number.isdigit() or name not in release.SHOWN:
        return _gone()
    try:
        return Response(release.page_of(desk.project, int(number), name), 200, HEADERS, "text/html")
    except WorkbenchError:
        return _gone()


def _private(desk: Desk, name: str) -> Response:
    """Serve a comparison or an attack from memory."""
    page = desk.private.get(name)
    return _gone() if page is None else Response(page, 200, HEADERS, "text/html")


def _gone() -> Response:
    return Response(words("release.unknown"), 404, HEADERS, "text/plain")


def load() -> None:
    """Import what the pages need, so that the first visit of each does not wait for it."""
    for home in PAGES.values():
        found(home)
