"""Addresses of ledgers: reading one, and showing one without its secrets."""

from __future__ import annotations

import re
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from sfumato.errors import LedgerError

_ADDRESSES = "give a path (ledger.db), sqlite:///ledger.db or postgresql://user@host/database"
_SQLITE = sa.make_url("sqlite://")
_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
_HOST = re.compile(r"[\w./:,-]+")


def place_of_ledger(address: str | Path) -> tuple[Path | None, sa.URL]:
    """Return the file of a SQLite ledger, or no file and the address of a PostgreSQL one."""
    if "\0" in str(address):
        raise LedgerError("the address of the ledger holds a NUL character", next_step=_ADDRESSES)
    if isinstance(address, Path) or "://" not in address:
        return _file(str(address)), _SQLITE
    url = _url(address)
    if url.drivername == "sqlite":
        return _file(url.database or ""), _SQLITE
    if url.drivername in _POSTGRES:
        return None, url.set(drivername="postgresql+psycopg")
    raise LedgerError(f"a ledger cannot be kept in {url.drivername!r}", next_step=_ADDRESSES)


def shown_address(address: str | Path) -> str:
    """Return an address as it may be shown and written down: scheme, user, host, port and database, nothing else.

    >>> shown_address("postgresql://ann:secret@db/ledger?sslpassword=secret"), shown_address("budget.db")
    ('postgresql://ann@db/ledger', 'budget.db')
    """
    if isinstance(address, Path) or "://" not in address:
        return str(address)
    return shown_url(_url(address))


def shown_url(url: sa.URL) -> str:
    """Return the address without its secrets; of the query part, only a host stays that stands nowhere else."""
    hosts = url.query.get("host", ()) if url.host is None else ()
    kept = [host for host in ([hosts] if isinstance(hosts, str) else hosts) if _HOST.fullmatch(host)]
    scheme = url.drivername.partition("+")[0]
    bare = sa.URL.create(scheme, url.username, None, url.host, url.port, url.database)
    return bare.set(query={"host": kept}).render_as_string() if kept else bare.render_as_string()


def without_secrets(text: str, url: sa.URL) -> str:
    """Return a message of the database without the secrets of its address."""
    secrets = [url.password or ""]
    for value in url.query.values():
        secrets += [value] if isinstance(value, str) else value
    for secret in secrets:
        if len(secret) > 3 and secret not in shown_url(url):
            text = text.replace(secret, "...")
    return text


def _url(address: str) -> sa.URL:
    scheme, _, rest = address.partition("://")
    try:
        url = sa.make_url(f"{scheme.lower()}://{rest}")
    except (ArgumentError, ValueError):
        # Without its cause: that one quotes the address.
        raise LedgerError("the address of the ledger cannot be read", next_step=_ADDRESSES) from None
    if "@" in f"{url.host}{url.database}":
        step = "write '@' in a name or a password as %40"
        raise LedgerError("the address of the ledger has more than one '@'", next_step=step)
    return url


def _file(path: str) -> Path:
    if path in ("", ":memory:"):
        raise LedgerError("a ledger must outlive the process: it needs a file", next_step=_ADDRESSES)
    try:
        # Absolute, so that a later change of folder cannot start a second ledger.
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        step = "give the whole path, without '~'"
        raise LedgerError(f"{path!r} lies in the home of a user who does not exist", next_step=step) from error
