"""Access control: token, session cookie, host and origin checks, automatic lock.

Every answer carries a content security policy. Scripts that stand in a page need a nonce that is new for each answer;
``'unsafe-eval'`` is there because Vue compiles its templates in the browser. Styles may stand in a page, because the
components set them on elements. Nothing may be loaded from anywhere else, and no other page may frame this one.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import parse_qs

from sfumato.workbench.texts import words

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN = "token"  # noqa: S105  the name of the parameter
ENTER = "/enter"
LOCK_SECONDS = 15 * 60
"""Silence after which the token is asked for again."""
LARGEST_FORM = 4096
SCRIPT_TAG = re.compile(rb"<script(?=[\s>])")
SAID_BY_A_PERSON = '42["event"'
"""How a message of the page's socket begins that comes from a click or a key; pings and acknowledgements do not."""
ALWAYS = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "SAMEORIGIN"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("server", "sfumato"),
)
POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'self'; object-src 'none'"
)
FRAMED = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""Of a report or of a page for the custodian's eyes: it runs alone, as a document of no origin, and loads nothing."""
DOOR = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 26rem; margin: 15vh auto; padding: 0 1rem }}
label, input, button {{ display: block; width: 100%; box-sizing: border-box; font: inherit; margin-top: .5rem }}
input, button {{ padding: .6rem }}</style></head><body><h1>{title}</h1><p>{said}</p>
<form method="post" action="{action}">{fields}<button type="submit">{button}</button></form></body></html>"""


@dataclass
class SessionKeys:
    """The token, the password where there is one, and the sessions that were opened with them."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    password: str | None = field(default=None, repr=False)
    lock_seconds: float = LOCK_SECONDS
    clock: Callable[[], float] = time.monotonic
    _sessions: set[str] = field(default_factory=set[str], repr=False)
    _tickets: set[str] = field(default_factory=set[str], repr=False)
    _heard: float = 0.0

    def __post_init__(self) -> None:
        self._heard = self.clock()

    def ticket(self) -> str:
        """Return what opens one session in place of the token, for a browser that is started here."""
        made = secrets.token_urlsafe(32)
        self._tickets.add(made)
        return made

    def opened(self, token: str, password: str | None) -> str | None:
        """Return a new session, or none where token or password are wrong; a ticket is good for one."""
        ticket = next((each for each in self._tickets if hmac.compare_digest(token.encode(), each.encode())), None)
        right = ticket is not None or hmac.compare_digest(token.encode(), self.token.encode())
        if self.password is not None:
            right &= hmac.compare_digest((password or "").encode(), self.password.encode())
        if not right:
            return None
        self._tickets.discard(ticket or "")
        session = secrets.token_urlsafe(32)
        self._sessions.add(session)
        self._heard = self.clock()
        return session

    def knows(self, session: str) -> bool:
        """Whether a session is open; after a long silence none is."""
        self.lock_if_silent()
        return any(hmac.compare_digest(session.encode(), known.encode()) for known in self._sessions)

    def heard(self) -> None:
        """Remember that a person did something."""
        self._heard = self.clock()

    def lock_if_silent(self) -> bool:
        """Close every session where nobody has done anything for long; return whether none is open."""
        if self.clock() - self._heard > self.lock_seconds:
            self._sessions.clear()
        return not self._sessions

    def lock(self) -> None:
        """Close every session now."""
        self._sessions.clear()


@dataclass(frozen=True)
class Guard:
    """The outermost layer: whatever it does not let through, no page hears of."""

    app: Application
    keys: SessionKeys
    hosts: frozenset[str]
    """Values of the Host header that name this workbench: others come from a name that was bent to this address."""
    base: str
    """The path below which everything lies. It is random: a cookie for it goes to no other port of this machine."""
    secure: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or let through."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        asked = RequestFacts.of(scope)
        if asked.host not in self.hosts:
            await _refuse(scope, send, 421, words("door.other_host"))
        elif asked.origin is not None and asked.origin not in self._origins:
            await _refuse(scope, send, 403, words("door.other_origin"))
        elif scope["type"] == "http" and asked.path in ("/", self.base, f"{self.base}/", ENTER) and asked.enters:
            await self._door(scope, receive, send, asked)
        elif not asked.path.startswith(f"{self.base}/") or not self.keys.knows(asked.cookies.get(self.cookie, "")):
            await self._closed(scope, send, asked)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send, asked)
        else:
            await self._page(scope, receive, send, asked)

    @property
    def _origins(self) -> set[str]:
        """The origins of this workbench's own pages."""
        return {f"{'https' if self.secure else 'http'}://{host}" for host in self.hosts}

    @property
    def cookie(self) -> str:
        """The name of the session's cookie."""
        return "sfumato_" + self.base.strip("/").replace("-", "_")

    async def _door(self, scope: Scope, receive: Receive, send: Send, asked: RequestFacts) -> None:
        """Open a session for whoever has the token (and the password), and leave the token out of the address."""
        given = asked.query if asked.method == "GET" else await _form(receive)
        token, password = given.get(TOKEN, ""), given.get("password")
        if asked.method == "GET" and self.keys.password is not None:
            await self._closed(scope, send, asked, token)
            return
        session = self.keys.opened(token, password)
        if session is None:
            await self._closed(scope, send, asked)
            return
        marks = f"Path={self.base}/; HttpOnly; SameSite=Strict{'; Secure' if self.secure else ''}"
        cookie = ("set-cookie", f"{self.cookie}={session}; {marks}")
        if token == self.keys.token:
            await _answer(send, 303, b"", [("location", f"{self.base}/"), cookie])
            return
        # who comes with a ticket comes from a file: only a page of this origin may go on with a strict cookie
        page = f'<!doctype html><title>Sfumato</title><meta http-equiv="refresh" content="0; url={self.base}/">'
        await _answer(send, 200, page.encode(), [("content-type", "text/html; charset=utf-8"), cookie])

    async def _closed(self, scope: Scope, send: Send, asked: RequestFacts, token: str = "") -> None:
        """Answer 401 with the door: a field for the token, and one for the password where there is one."""
        if scope["type"] == "websocket":
            await _refuse(scope, send, 403, "")
            return
        fields = _field(TOKEN, words("door.token")) if not token else _hidden(TOKEN, token)
        fields += _field("password", words("door.password")) if self.keys.password is not None else ""
        body = DOOR.format(
            title=escape(words("door.title")),
            said=escape(words("door.said")),
            action=ENTER,
            fields=fields,
            button=escape(words("door.enter")),
        )
        policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
        headers = [("content-type", "text/html; charset=utf-8"), ("content-security-policy", policy)]
        await _answer(send, 401, body.encode(), headers)

    async def _socket(self, scope: Scope, receive: Receive, send: Send, asked: RequestFacts) -> None:
        """Let a page's socket through while its session is open; a socket without an origin is no page's."""
        if asked.origin is None:
            await _refuse(scope, send, 403, "")
            return
        session = asked.cookies.get(self.cookie, "")

        async def hear() -> Message:
            message = await receive()
            text = message.get("text") or ""
            if not self.keys.knows(session):
                return {"type": "websocket.disconnect", "code": 1008}
            if text.startswith(SAID_BY_A_PERSON):
                self.keys.heard()
            return message

        await self.app(scope, hear, send)

    async def _page(self, scope: Scope, receive: Receive, send: Send, asked: RequestFacts) -> None:
        """Let a request through, and put policy and headers on the answer."""
        if asked.method not in ("GET", "HEAD") and asked.origin is None:
            await _refuse(scope, send, 403, words("door.other_origin"))
            return
        self.keys.heard()
        await self.app(scope, receive, _SecurityHeaders(send, secrets.token_urlsafe(16)))


@dataclass
class _SecurityHeaders:
    """What sends an answer with headers of its own, and a nonce on the scripts of a page."""

    send: Send
    nonce: str
    _start: Message | None = None
    _body: bytes = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            if not self._is_page:
                await self.send(self._headed(message))
            return
        if message["type"] != "http.response.body" or self._start is None or not self._is_page:
            await self.send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body"):
            body = SCRIPT_TAG.sub(b'<script nonce="' + self.nonce.encode() + b'"', self._body)
            await self.send(self._headed(self._start, len(body)))
            await self.send({"type": "http.response.body", "body": body})

    @property
    def _is_page(self) -> bool:
        """Whether this is a page of the workbench: one that is framed has its own policy, and no nonce."""
        headers = {name.lower(): value for name, value in (self._start or {}).get("headers", ())}
        return headers.get(b"content-type", b"").startswith(b"text/html") and b"content-security-policy" not in headers

    def _headed(self, message: Message, length: int | None = None) -> Message:
        own = {name for name, _ in ALWAYS} | ({"content-length"} if length is not None else set())
        kept = [(n, v) for n, v in message.get("headers", ()) if n.decode("latin-1").lower() not in own]
        names = {name.decode("latin-1").lower() for name, _ in kept}
        added = [*ALWAYS, *([("content-length", str(length))] if length is not None else [])]
        if "content-security-policy" not in names:
            added.append(("content-security-policy", POLICY.format(nonce=self.nonce)))
        if "cache-control" not in names or self._is_page:
            kept = [(n, v) for n, v in kept if n.lower() != b"cache-control"]
            added.append(("cache-control", "no-store"))
        return {**message, "headers": kept + [(name.encode(), value.encode()) for name, value in added]}


@dataclass(frozen=True)
class RequestFacts:
    """What a request says of itself."""

    method: str
    path: str
    host: str
    origin: str | None
    query: dict[str, str]
    cookies: dict[str, str]

    @classmethod
    def of(cls, scope: Scope) -> RequestFacts:
        """Read the headers; of a header that stands twice nobody knows which one holds, so it counts as none."""
        found: dict[str, list[str]] = {}
        for name, value in scope.get("headers", ()):
            found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        host, origin = found.get("host", []), found.get("origin")
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        pairs = (part.strip().partition("=") for line in found.get("cookie", ()) for part in line.split(";"))
        return cls(
            method=scope.get("method", "GET"),
            path=scope["path"],
            host=host[0] if len(host) == 1 else "",
            origin=None if origin is None else origin[0] if len(origin) == 1 else "null",
            query={key: values[-1] for key, values in query.items()},
            cookies={name: value for name, equals, value in pairs if equals},
        )

    @property
    def enters(self) -> bool:
        """Whether this asks for a session."""
        return (self.method == "POST" and self.path == ENTER) or (self.method == "GET" and TOKEN in self.query)


def _field(name: str, label: str) -> str:
    return f'<label>{escape(label)}<input name="{name}" type="password" autocomplete="off" required autofocus></label>'


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value, quote=True)}">'


async def _form(receive: Receive) -> dict[str, str]:
    """Read a small form; a larger one is none."""
    body, more = b"", True
    while more and len(body) <= LARGEST_FORM:
        message = await receive()
        if message["type"] != "http.request":
            return {}
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return (
        {}
        if more or len(body) > LARGEST_FORM
        else {key: values[-1] for key, values in parse_qs(body.decode("latin-1")).items()}
    )


async def _refuse(scope: Scope, send: Send, status: int, said: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    await _answer(send, status, said.encode(), [("content-type", "text/plain; charset=utf-8")])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[str, str]]) -> None:
    own = {name for name, _ in headers}
    policy = [] if "content-security-policy" in own else [("content-security-policy", "default-src 'none'")]
    every = [*headers, *ALWAYS, *policy, ("cache-control", "no-store"), ("content-length", str(len(body)))]
    encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in every]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
