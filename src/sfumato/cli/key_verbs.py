"""``sfumato key new | sign``, and the options that take keys."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import AsJson
from sfumato.errors import SigningError

if TYPE_CHECKING:
    from sfumato.bundle.signature import SigningKey

key_app = typer.Typer(no_args_is_help=True, help="Make keys and sign bundles, so that readers can tell who released.")
Sign = Annotated[
    str | None,
    typer.Option("--sign", metavar="KEY", help="Sign the bundle with this private key ('sfumato key new' makes one)."),
]
PublicKeyFile = Annotated[
    str | None,
    typer.Option("--key", metavar="PUBLIC", help="The custodian's public key: the bundle must be signed with it."),
]


def signing_key(path: str | None) -> SigningKey | None:
    """Read a private key, asking for its passphrase on a terminal; called before anything is spent."""
    if path is None:
        return None
    from sfumato.bundle.signature import SigningKey

    return SigningKey.load(path, partial(_asked, f"Passphrase of {path}") if sys.stdin.isatty() else None)


def _asked(words: str, twice: bool = False) -> str:
    """Ask for a passphrase that nobody sees; an end of input is an answer that is missing."""
    try:
        return str(typer.prompt(words, hide_input=True, confirmation_prompt=twice, err=True))
    except typer.Abort as stop:
        if isinstance(stop.__context__, EOFError):
            raise SigningError("no passphrase was given", next_step="type it, or put it into the environment") from stop
        raise


@key_app.command()
def new(
    out: Annotated[
        str, typer.Option("--out", "-o", help="File for the private key; the public key gets the ending .pub.")
    ] = "custodian.key",
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Ask for a passphrase that locks the key.")] = False,
    json: AsJson = False,
) -> None:
    """Make a pair of keys (Ed25519): keep the private one, and publish the public one where readers know you."""
    from sfumato.bundle.signature import ENVIRONMENT, PUBLIC, new_key

    voice = Voice(json)
    word = None
    if passphrase:
        if not sys.stdin.isatty():
            raise SigningError("nobody can be asked for a passphrase here", next_step="run it in a terminal")
        word = _asked("Passphrase", twice=True)
    made = new_key(out, word)
    public = str(Path(out).with_suffix(PUBLIC))
    voice.say(f"private key: {out}: for you alone; keep a copy where you keep the ledger", style="bold")
    voice.say(f"public key:  {public}: give it to readers by another way than the bundle", style="bold")
    voice.say(f"fingerprint: {made.fingerprint}")
    if word is not None:
        voice.say(f"where nobody can be asked, the passphrase is read from the environment: {ENVIRONMENT}")
    voice.say(made.pem.rstrip())
    facts = {"private": out, "public": public, "fingerprint": made.fingerprint, "public_key": made.pem}
    voice.document(facts)


@key_app.command()
def sign(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="Folder of a release bundle.")],
    key: Annotated[str, typer.Option("--sign", metavar="KEY", help="The private key.")] = "custodian.key",
    json: AsJson = False,
) -> None:
    """Sign a bundle that exists, or sign it again after a quality statement was added. It must verify first."""
    from sfumato.bundle.layout import SIGNATURE
    from sfumato.bundle.verify import verify_bundle

    voice, private = Voice(json), signing_key(key)
    assert private is not None  # a key was named
    with voice.counting("verifying"):
        problems = verify_bundle(bundle).problems
    if others := [problem for problem in problems if not problem.startswith(SIGNATURE)]:
        raise SigningError(f"{bundle!r} does not verify, so it is not signed", others, "release it again")
    path = private.sign(Path(bundle), overwrite=True)
    voice.say(f"{path}: signed by {private.public.fingerprint}", style="bold")
    voice.document({"signature": str(path), "fingerprint": private.public.fingerprint})
