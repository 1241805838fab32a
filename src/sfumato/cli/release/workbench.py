"""The verb sfumato workbench: start the browser interface on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.console import Console
from sfumato.progress import Stopped

Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; default: a free one.")]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")]
Folder = Annotated[str, typer.Option("--project", help="Project folder, which keeps all input; created if missing.")]
Host = Annotated[
    str, typer.Option(help="Host to listen on; other than this machine it needs a certificate and a password.")
]
Certificate = Annotated[str | None, typer.Option(help="Certificate for TLS (PEM).")]
Key = Annotated[str | None, typer.Option(help="Private key of the certificate (PEM).")]
Lock = Annotated[float, typer.Option("--lock-after", min=0.05, help="Minutes without activity until it locks itself.")]


def workbench(
    port: Port = 0,
    no_open: NoOpen = False,
    project: Folder = "sfumato-project",
    host: Host = "127.0.0.1",
    certificate: Certificate = None,
    key: Key = None,
    lock_after: Lock = 15,
) -> None:
    """Work in a browser: from a file to a verified bundle.

    Listens on this machine only. The address that it prints holds a token: whoever has it can see the table. Ctrl-C
    stops it; the project folder keeps all input.
    """
    from sfumato.workbench.project import Project
    from sfumato.workbench.server import Address, start

    console = Console()
    opened = Project(project)

    def say(address: str) -> None:
        typer.echo(f"workbench: {address}")
        console.say(f"project: {opened.folder}; Ctrl-C stops")

    try:
        start(opened, Address(host, port, certificate, key), say, not no_open, 60 * lock_after)
    except Stopped:
        console.say("stopped; the project folder keeps all input, and the ledger what was spent")
    finally:
        opened.close()
