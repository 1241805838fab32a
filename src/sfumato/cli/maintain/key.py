"""The verbs sfumato key new and sign, and the reader of private keys."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import Bundle
from sfumato.errors import SigningError

if TYPE_CHECKING:
    from sfumato.bundle.signature import SigningKey


def load_signing_key(path: str | None) -> SigningKey | None:
    """Read a private key, asking for its passphrase on a terminal; called before anything is spent."""
    if path is None:
        return None
    from sfumato.bundle.signature import SigningKey

    return SigningKey.load(path, partial(_prompt, f"Passphrase of {path}") if sys.stdin.isatty() else None)


def _prompt(words: str, twice: bool = False) -> str:
    """Ask for a passphrase without showing it; an end of input is a missing answer."""
    try:
        return str(typer.prompt(words, hide_input=True, confirmation_prompt=twice, err=True))
    except typer.Abort as stop:
        if isinstance(stop.__context__, EOFError):
            raise SigningError("no passphrase was given", next_step="type it, or set it in the environment") from stop
        raise


def new(
    console: Console,
    out: Annotated[
        str, typer.Option("--out", "-o", help="File of the private key; the public key gets the suffix .pub.")
    ] = "custodian.key",
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Ask for a passphrase that locks the key.")] = False,
) -> None:
    """Create a pair of signing keys (Ed25519).

    Keep the private key, and publish the public one where readers know you.
    """
    from sfumato.bundle.signature import ENVIRONMENT, PUBLIC, new_key

    secret = None
    if passphrase:
        if not sys.stdin.isatty():
            raise SigningError("a passphrase cannot be asked for here", next_step="run it in a terminal")
        secret = _prompt("Passphrase", twice=True)
    key = new_key(out, secret)
    public = str(Path(out).with_suffix(PUBLIC))
    console.say(f"private key: {out}: for you alone; keep a copy where you keep the ledger", style="bold")
    console.say(f"public key:  {public}: give it to readers separately from the bundle", style="bold")
    console.say(f"fingerprint: {key.fingerprint}")
    if secret is not None:
        console.say(f"without a terminal, the passphrase is read from the environment variable {ENVIRONMENT}")
    console.say(key.pem.rstrip())
    console.print_json({"private": out, "public": public, "fingerprint": key.fingerprint, "public_key": key.pem})


def sign(
    console: Console,
    bundle: Bundle,
    key: Annotated[str, typer.Option("--sign", metavar="KEY", help="The private key.")] = "custodian.key",
) -> None:
    """Sign a bundle that verifies.

    Also signs a bundle again, after a quality statement was added to it.
    """
    from sfumato.bundle.layout import SIGNATURE
    from sfumato.bundle.verify import verify_bundle

    private = load_signing_key(key)
    assert private is not None  # a key was named
    with console.progress("verifying"):
        problems = verify_bundle(bundle).problems
    if others := [problem for problem in problems if not problem.startswith(SIGNATURE)]:
        raise SigningError(f"{bundle!r} does not verify, so it is not signed", others, "release it again")
    path = private.sign(Path(bundle), overwrite=True)
    console.say(f"{path}: signed by {private.public.fingerprint}", style="bold")
    console.print_json({"signature": str(path), "fingerprint": private.public.fingerprint})
