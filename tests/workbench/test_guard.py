"""Who may ask: token, session, host, origin, silence; and what every answer carries."""

from __future__ import annotations

import asyncio
import re
import stat
import sys
import threading
from dataclasses import dataclass, field

import pytest

from sfumato.cli.main import run
from sfumato.errors import WorkbenchError
from sfumato.workbench import server
from sfumato.workbench.access import FRAMED, Guard, SessionKeys
from sfumato.workbench.server import PASSWORD, Address, require_tls_or_local, start

HOST, BASE = "127.0.0.1:8000", "/w-abc"
PAGE = b"<html><script>one()</script><script type=module>two()</script></html>"


@dataclass
class Inside:
    """What stands behind the guard, and remembers who came."""

    headers: tuple[tuple[bytes, bytes], ...] = ((b"content-type", b"text/html; charset=utf-8"),)
    seen: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)

    async def __call__(self, scope, receive, send):
        self.seen.append(scope["path"])
        if scope["type"] == "websocket":
            while (message := await receive())["type"] != "websocket.disconnect":
                self.heard.append(message.get("text", ""))
            return
        await send({"type": "http.response.start", "status": 200, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": PAGE})


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def keys(clock):
    return SessionKeys(token="right", lock_seconds=100, clock=clock)


@pytest.fixture
def inside():
    return Inside()


@pytest.fixture
def guard(inside, keys):
    return Guard(inside, keys, frozenset({HOST}), BASE)


def ask(guard, path, query="", method="GET", body=b"", kind="http", said=(), **headers):
    """Send one request through the guard, and return what came back."""
    given = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": kind,
        "path": path,
        "method": method,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items() if value is not None],
    }
    sent, waiting = [], [*said, {"type": "websocket.disconnect"}]

    async def receive():
        return waiting.pop(0) if kind == "websocket" else {"type": "http.request", "body": body}

    async def send(message):
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    if kind == "websocket":
        return sent
    names = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], names, b"".join(message.get("body", b"") for message in sent[1:]))


def entered(guard):
    """Return the cookie of a session."""
    answer = ask(guard, "/", "token=right")
    assert answer.status == 303 and answer.headers["location"] == f"{BASE}/"
    return answer.headers["set-cookie"].split(";")[0]


def test_the_token_opens_a_session_and_leaves_the_address(guard, inside):
    answer = ask(guard, "/", "token=right")
    assert "token" not in answer.headers["location"]
    assert {"HttpOnly", "SameSite=Strict", f"Path={BASE}/"} <= set(answer.headers["set-cookie"].split("; "))
    assert ask(guard, f"{BASE}/", cookie=entered(guard)).status == 200
    assert inside.seen == [f"{BASE}/"]


@pytest.mark.parametrize("query", ["", "token=", "token=wrong", "token=righ", "token=right%00", "other=right"])
def test_without_the_right_token_nothing_is_served(guard, inside, query):
    for path in ("/", f"{BASE}/", f"{BASE}/plan", f"{BASE}/_nicegui/x.js", f"{BASE}/bundle/1/report", "/enter"):
        answer = ask(guard, path, query)
        assert answer.status == 401 and "set-cookie" not in answer.headers
    assert inside.seen == []


def test_a_ticket_opens_one_session(guard, keys, inside):
    ticket = keys.ticket()
    first = ask(guard, "/", f"token={ticket}")
    assert first.status == 200 and f'content="0; url={BASE}/"'.encode() in first.body
    assert ask(guard, f"{BASE}/", cookie=first.headers["set-cookie"].split(";")[0]).status == 200
    second = ask(guard, "/", f"token={ticket}")
    assert second.status == 401 and "set-cookie" not in second.headers
    assert ask(guard, "/", "token=right").status == 303  # that of the terminal opens another
    assert inside.seen == [f"{BASE}/"]


def test_a_ticket_is_not_used_up_by_a_wrong_password(guard, keys):
    keys.password, ticket = "a long password", keys.ticket()
    for password, status in (("guess", 401), ("a+long+password", 200), ("a+long+password", 401)):
        body = f"token={ticket}&password={password}".encode()
        assert ask(guard, "/enter", method="POST", body=body, origin=f"http://{HOST}").status == status


def test_the_browser_is_given_a_file_and_no_token(project, monkeypatch):
    opened, said = [], []

    class Server:
        def __init__(self, config):
            pass

        def run(self, sockets):
            door = project.folder / "open-workbench.html"
            opened.append((stat.S_IMODE(door.stat().st_mode), door.read_text()))

    uvicorn, _ = server._require_nicegui()
    monkeypatch.setattr(server, "application", lambda *_: None)
    monkeypatch.setattr(server, "_load", lambda: None)
    monkeypatch.setattr(server.threading, "Timer", lambda _, work, words: opened.append(words) or threading.Thread())
    monkeypatch.setattr(uvicorn, "Server", Server)
    start(project, Address(), said.append)
    (words,), (mode, text) = opened
    token, ticket = (re.search(r"token=([\w-]+)", each)[1] for each in (said[0], text))
    assert words == (project.folder / "open-workbench.html").as_uri() and mode == 0o600
    assert ticket != token and token not in text
    assert not (project.folder / "open-workbench.html").exists()


@pytest.mark.parametrize("more", [("--host", "0.0.0.0"), ("--port", "1", "--host", "203.0.113.9")])
def test_a_refusal_leaves_no_folder(tmp_path, monkeypatch, more):
    monkeypatch.setattr(sys, "argv", ["sfumato", "workbench", "--no-open", "--project", str(tmp_path / "p"), *more])
    assert run() == 2
    assert list(tmp_path.iterdir()) == []


def test_a_made_up_session_is_none(guard, inside):
    name = entered(guard).partition("=")[0]
    assert ask(guard, f"{BASE}/", cookie=f"{name}=made-up").status == 401
    assert inside.seen == []


def test_the_cookie_alone_does_not_open_what_lies_outside(guard, inside):
    cookie = entered(guard)
    for path in ("/", "/w-other/", "/etc/passwd", BASE, f"{BASE}x/"):
        assert ask(guard, path, cookie=cookie).status == 401
    assert inside.seen == []


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1:9000", "127.0.0.1", "", None])
def test_another_name_for_this_address_is_refused(guard, inside, host):
    cookie = entered(guard)
    assert ask(guard, f"{BASE}/", cookie=cookie, host=host).status == 421
    assert ask(guard, "/", "token=right", host=host).status == 421
    assert inside.seen == []


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:9000", "http://127.0.0.1", "http://[", "", f"ftp://{HOST}"],
)
def test_another_origin_is_refused(guard, inside, origin):
    cookie = entered(guard)
    assert ask(guard, f"{BASE}/", cookie=cookie, origin=origin).status == 403
    assert ask(guard, f"{BASE}/upload", method="POST", cookie=cookie, origin=origin).status == 403
    assert ask(guard, f"{BASE}/ws", kind="websocket", cookie=cookie, origin=origin)[0]["type"] == "websocket.close"
    assert inside.seen == []


def test_what_changes_something_must_say_where_it_comes_from(guard, inside):
    cookie = entered(guard)
    assert ask(guard, f"{BASE}/upload", method="POST", cookie=cookie).status == 403
    assert ask(guard, f"{BASE}/ws", kind="websocket", cookie=cookie)[0]["type"] == "websocket.close"
    assert inside.seen == []
    assert ask(guard, f"{BASE}/upload", method="POST", cookie=cookie, origin=f"http://{HOST}").status == 200


def test_a_socket_needs_a_session(guard, inside):
    assert ask(guard, f"{BASE}/ws", kind="websocket", origin=f"http://{HOST}")[0]["type"] == "websocket.close"
    assert inside.seen == []


def test_every_page_has_a_policy_with_a_nonce_of_its_own(guard):
    cookie = entered(guard)
    first, second = (ask(guard, f"{BASE}/", cookie=cookie) for _ in range(2))
    policy = first.headers["content-security-policy"]
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert first.body.count(f'<script nonce="{nonce}"'.encode()) == 2
    assert "default-src 'none'" in policy and "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    assert "http:" not in policy and "https:" not in policy
    assert nonce not in second.headers["content-security-policy"]
    assert int(first.headers["content-length"]) == len(first.body)
    assert first.headers["cache-control"] == "no-store" and first.headers["x-content-type-options"] == "nosniff"
    assert first.headers["referrer-policy"] == "no-referrer"


def test_a_report_keeps_its_own_policy_and_gets_no_nonce(guard, inside):
    inside.headers = ((b"content-type", b"text/html"), (b"content-security-policy", FRAMED.encode()))
    answer = ask(guard, f"{BASE}/bundle/1/report", cookie=entered(guard))
    assert answer.body == PAGE and answer.headers["content-security-policy"].startswith("sandbox")
    assert "allow-same-origin" not in FRAMED


def test_the_door_asks_for_the_token_by_a_form(guard):
    answer = ask(guard, "/")
    assert b'<form method="post" action="/enter">' in answer.body
    opened = ask(guard, "/enter", method="POST", body=b"token=right", origin=f"http://{HOST}")
    assert opened.status == 303
    assert ask(guard, "/enter", method="POST", body=b"token=wrong", origin=f"http://{HOST}").status == 401
    assert ask(guard, "/enter", method="POST", body=b"token=right&x=" + b"x" * 9999).status == 401
    assert ask(guard, "/enter", method="POST", body=b"token=right", origin="http://evil.example").status == 403


def test_after_a_long_silence_the_token_is_asked_for_again(guard, clock, inside):
    cookie = entered(guard)
    clock.now = 99
    assert ask(guard, f"{BASE}/", cookie=cookie).status == 200
    clock.now = 198
    assert ask(guard, f"{BASE}/", cookie=cookie).status == 200
    clock.now = 299
    assert ask(guard, f"{BASE}/", cookie=cookie).status == 401
    assert ask(guard, f"{BASE}/", cookie=entered(guard)).status == 200


def test_only_a_person_breaks_the_silence(guard, clock, keys, inside):
    cookie = entered(guard)
    machine = ("2", "3", '42["ack",{}]', '42["handshake",{}]')

    def talk(*texts):
        said = [{"type": "websocket.receive", "text": text} for text in texts]
        ask(guard, f"{BASE}/ws", kind="websocket", cookie=cookie, origin=f"http://{HOST}", said=said)

    clock.now = 90
    talk(*machine)
    clock.now = 101
    assert keys.lock_if_silent()
    cookie = entered(guard)
    clock.now = 190
    talk('42["event",{"id":1}]')
    clock.now = 280
    assert not keys.lock_if_silent()


def test_a_socket_of_a_closed_session_hears_nothing_more(guard, keys, inside):
    cookie = entered(guard)
    keys.lock()
    said = [{"type": "websocket.receive", "text": "private"}]
    ask(guard, f"{BASE}/ws", kind="websocket", cookie=cookie, origin=f"http://{HOST}", said=said)
    assert inside.heard == []


def test_with_a_password_the_token_is_not_enough(guard, keys):
    keys.password = "a long password"
    door = ask(guard, "/", "token=right")
    assert door.status == 401 and b'type="hidden" name="token"' in door.body and b"password" in door.body
    wrong = ask(guard, "/enter", method="POST", body=b"token=right&password=guess", origin=f"http://{HOST}")
    right = ask(guard, "/enter", method="POST", body=b"token=right&password=a+long+password", origin=f"http://{HOST}")
    assert (wrong.status, right.status) == (401, 303)


def test_a_hostile_token_stays_a_text_on_the_door(guard, keys):
    keys.password = "a long password"
    assert b"<script" not in ask(guard, "/", "token=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").body


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.4", "::", "example.org"])
def test_elsewhere_needs_encryption_and_a_password(host):
    for place, password in (
        (Address(host), None),
        (Address(host), "a long password"),
        (Address(host, 0, "c.pem", "k.pem"), None),
        (Address(host, 0, "c.pem", "k.pem"), "short"),
    ):
        with pytest.raises(WorkbenchError, match="will not answer") as refused:
            require_tls_or_local(place, password)
        assert PASSWORD in refused.value.next_step
    require_tls_or_local(Address(host, 0, "c.pem", "k.pem"), "a long password")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_at_home_neither_is_needed(host):
    require_tls_or_local(Address(host), None)


def test_tokens_are_long_and_shown_by_no_repr():
    first, second = SessionKeys(), SessionKeys()
    assert first.token != second.token and len(first.token) >= 43
    assert first.token not in repr(first)
