"""Start the workbench server: one process, one project, one local address."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from html import escape
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from sfumato.errors import MissingExtra, WorkbenchError
from sfumato.workbench.access import LOCK_SECONDS, TOKEN, Guard, SessionKeys
from sfumato.workbench.jobs import Jobs
from sfumato.workbench.project import DOOR, OTHER_FOLDER, Project

HOME = "127.0.0.1"
PASSWORD = "SFUMATO_WORKBENCH_PASSWORD"  # noqa: S105  the name of the variable
SHORTEST_PASSWORD = 12


@dataclass(frozen=True)
class Address:
    """Where the workbench answers."""

    host: str = HOME
    port: int = 0
    certificate: str | None = None
    key: str | None = None

    @property
    def name(self) -> str:
        """The host as an address holds it."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def is_home(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def require_tls_or_local(place: Address, password: str | None) -> None:
    """Refuse to answer other machines without encryption and a password."""
    if place.is_home:
        return
    problems = [
        *(
            []
            if place.certificate and place.key
            else ["no certificate and key were given: anybody on the way could read"]
        ),
        *([] if password else [f"{PASSWORD} is not set: a token in an address is no password"]),
        *(
            [f"{PASSWORD} has fewer than {SHORTEST_PASSWORD} characters"]
            if 0 < len(password or "") < SHORTEST_PASSWORD
            else []
        ),
    ]
    if problems:
        headline = f"the workbench will not answer on {place.host!r}, where other machines could reach it"
        step = f"leave --host out, or give --certificate and --key and set {PASSWORD}"
        raise WorkbenchError(headline, problems, step)


def start(
    project: Project,
    place: Address,
    say: Callable[[str], None],
    show: bool = True,
    lock_seconds: float = LOCK_SECONDS,
) -> None:
    """Answer until the process is stopped. The address with its token is said once, and stands in no log.

    The browser is given a file of the owner's alone that holds a ticket: a command line can be read by everybody.
    """
    password = os.environ.get(PASSWORD) or None
    require_tls_or_local(place, password)
    uvicorn, _ = _require_nicegui()
    keys = SessionKeys(password=None if place.is_home else password, lock_seconds=lock_seconds)
    with _listening(place) as listener:
        port = listener.getsockname()[1]
        scheme = "https" if place.certificate else "http"
        origin = f"{scheme}://{place.name}:{port}"
        guarded = application(project, keys, place.name, port, scheme == "https")
        config = uvicorn.Config(
            guarded,
            log_level="error",
            access_log=False,
            server_header=False,
            ssl_certfile=place.certificate,
            ssl_keyfile=place.key,
            timeout_graceful_shutdown=2,
            ws_max_size=16 * 2**20,
            ws_per_message_deflate=False,
        )
        say(f"{origin}/?{TOKEN}={keys.token}")
        threading.Thread(target=_load, name="workbench: imports", daemon=True).start()
        with _door(project.folder, f"{origin}/?{TOKEN}={keys.ticket()}") if show else nullcontext() as door:
            if door is not None:
                threading.Timer(0.5, webbrowser.open, (door.as_uri(),)).start()
            uvicorn.Server(config).run([listener])


@contextmanager
def _door(folder: Path, address: str) -> Generator[Path]:
    """Write a page for its owner alone that leads to an address, for as long as the workbench answers."""
    page = folder / DOOR
    try:
        page.unlink(missing_ok=True)
        with os.fdopen(os.open(page, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address, quote=True)}">')
    except OSError as error:
        step = f"start it with --no-open, or {OTHER_FOLDER}"
        raise WorkbenchError(f"{str(page)!r} cannot be written: {error.strerror}", next_step=step) from error
    try:
        yield page
    finally:
        page.unlink(missing_ok=True)


def application(project: Project, keys: SessionKeys, host: str, port: int, secure: bool = False) -> Guard:
    """Return the whole workbench behind its guard."""
    _, ui = _require_nicegui()
    from fastapi import FastAPI

    from sfumato.workbench.pages.components import PageContext
    from sfumato.workbench.pages.routes import register_routes

    base = f"/w-{secrets.token_hex(8)}"
    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    desk = PageContext(project, Jobs(), keys, base, {})
    register_routes(desk, outer)
    ui.run_with(
        outer,
        mount_path=base,
        title="Sfumato",
        language="en-US",
        favicon="🌫️",
        tailwind=False,
        gzip_middleware_factory=None,
        show_welcome_message=False,
        reconnect_timeout=10,
        binding_refresh_interval=None,
        cache_control_directives="private, max-age=3600",
    )
    names = {host, "localhost"} if host == HOME else {host}
    hosts = frozenset(f"{name}:{port}" for name in names)
    return Guard(outer, keys, hosts, base, secure)


def _load() -> None:
    from sfumato.workbench.pages.routes import preload_pages

    preload_pages()


def _listening(place: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((place.host, place.port))
        listener.listen(128)  # who asks before the first answer waits for it, and is not refused
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise WorkbenchError(
            f"port {place.port} of {place.host} cannot be used: {reason}", next_step="choose another with --port"
        ) from error
    return listener


def _require_nicegui() -> tuple[Any, Any]:
    try:
        import uvicorn
        from nicegui import ui
    except ImportError as error:
        raise MissingExtra("the workbench needs NiceGUI", next_step="pip install 'sfumato[web]'") from error
    return uvicorn, ui
