"""Signatures of bundles by Ed25519: who published a release, which hashes inside it cannot say.

A signature covers the SHA-256 of release.json, which lists the SHA-256 of every file of the release, and of each
quality statement that lies beside it when it is signed. ``signature.json`` holds it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError, field_validator

from sfumato.atomic_files import atomic_file
from sfumato.bundle.layout import DOCUMENT, SIGNATURE, STATEMENT_NAME, file_record, statement_files
from sfumato.bundle.ledger_record import DocumentPart
from sfumato.errors import SigningError
from sfumato.privacy.canonical_json import SealedDocument
from sfumato.system import write_owner_only

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ENVIRONMENT = "SFUMATO_KEY_PASSPHRASE"
"""The environment variable with the passphrase of a signing key."""
PUBLIC, ENCRYPTED = ".pub", b"BEGIN ENCRYPTED PRIVATE KEY"
HEAD = "sfumato bundle signature 1\n"
"""First line of what is signed, so that no signature made for something else fits."""
LAYOUT = SealedDocument(indent=2)
MOST_BYTES = 1 << 16
"""More than any key or signature has; a larger file is not read."""
NEW = "make a pair of keys with 'sfumato key new --out custodian.key'"
UNPROVED = (
    "the bundle is signed with the key {fingerprint}, and that key came with the bundle: this proves that nothing was "
    "changed since, and not who signed. Get the public key from the custodian elsewhere, and give it with --key"
)


class SignatureDocument(DocumentPart):
    """The content of signature.json."""

    format: Literal[1] = 1
    algorithm: Literal["Ed25519"] = "Ed25519"
    fingerprint: str
    public_key: str
    """The 32 bytes of the key in base64."""
    covers: dict[str, str]
    """SHA-256 of release.json and of each quality statement, by name."""
    signature: str

    @field_validator("covers")
    @classmethod
    def _known_names(cls, covers: dict[str, str]) -> dict[str, str]:
        if DOCUMENT not in covers or any(name != DOCUMENT and not STATEMENT_NAME.fullmatch(name) for name in covers):
            raise ValueError(f"a signature covers {DOCUMENT} and quality statements, found {', '.join(covers)}")
        return covers

    @property
    def text(self) -> str:
        """The one text of the file."""
        return LAYOUT.text(self.model_dump(mode="json"))


@dataclass(frozen=True)
class PublicKey:
    """A key that checks signatures; it may be given to everybody."""

    key: Ed25519PublicKey

    @property
    def raw(self) -> bytes:
        """The 32 bytes of the key."""
        return self.key.public_bytes_raw()

    @property
    def fingerprint(self) -> str:
        """The first 128 bits of the SHA-256 of the key."""
        return hashlib.sha256(self.raw).hexdigest()[:32]

    @property
    def pem(self) -> str:
        """The key as text, as other programs read it too."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        return self.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    @classmethod
    def of(cls, raw: bytes) -> PublicKey:
        """Return the key of 32 bytes; ValueError where they are none."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return cls(Ed25519PublicKey.from_public_bytes(raw))

    @classmethod
    def load(cls, path: str | Path) -> PublicKey:
        """Read a public key from a PEM file."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        content, step = _key_bytes(path), f"give the file {PUBLIC} of 'sfumato key new', got from the custodian"
        if b"PRIVATE KEY" in content:
            raise SigningError(f"{str(path)!r} is a private key, which only its owner may have", next_step=step)
        try:
            key = load_pem_public_key(content)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise SigningError(f"{str(path)!r} is no public key in PEM form", next_step=step) from error
        if not isinstance(key, Ed25519PublicKey):
            raise SigningError(f"{str(path)!r} is no Ed25519 key", next_step=step)
        return cls(key)

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Whether the owner of this key signed a message."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, repr=False)
class SigningKey:
    """A private key that signs bundles."""

    key: Ed25519PrivateKey

    @property
    def public(self) -> PublicKey:
        """The key that checks its signatures."""
        return PublicKey(self.key.public_key())

    @classmethod
    def of(cls, key: SigningKey | str | Path) -> SigningKey:
        """Return a key as it is, or read its file."""
        return key if isinstance(key, SigningKey) else cls.load(key)

    @classmethod
    def load(cls, path: str | Path, ask: Callable[[], str] | None = None) -> SigningKey:
        """Read a private key from a PEM file that only its owner may read.

        The passphrase of an encrypted key comes from the environment (SFUMATO_KEY_PASSPHRASE), or from ``ask``.
        """
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        content = _key_bytes(path)
        if os.name == "posix" and (mode := Path(path).stat().st_mode & 0o077):
            raise SigningError(
                f"others may read or change the private key {str(path)!r} (mode {mode:03o} for them)",
                next_step=f"chmod 600 {path}; if others could have read it, make a new pair",
            )
        word = _passphrase(path, ask) if ENCRYPTED in content else None
        try:
            key = load_pem_private_key(content, word)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            wrong = f"the passphrase of {str(path)!r} is wrong, or the file is damaged"
            headline = wrong if word else f"{str(path)!r} is no private key in PEM form"
            raise SigningError(headline, next_step="try again" if word else NEW) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise SigningError(f"{str(path)!r} is no Ed25519 key", next_step=NEW)
        return cls(key)

    def sign(self, folder: Path, overwrite: bool = False) -> Path:
        """Write signature.json into a bundle, over release.json and the statements that lie there, and return it."""
        covers = {path.name: file_record(path).sha256 for path in (folder / DOCUMENT, *statement_files(folder))}
        signature = base64.b64encode(self.key.sign(_message(covers))).decode()
        raw = base64.b64encode(self.public.raw).decode()
        document = SignatureDocument(
            fingerprint=self.public.fingerprint, public_key=raw, covers=covers, signature=signature
        )
        target = folder / SIGNATURE
        with atomic_file(target, overwrite) as fresh:
            fresh.write_text(document.text, encoding="utf-8")
        return target


def new_key(path: str | Path, passphrase: str | None = None) -> PublicKey:
    """Make a pair of keys: the private one at ``path`` for its owner alone, the public one beside it as .pub."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    place = Path(path)
    public = place.with_suffix(PUBLIC) if place.name else place
    problems = [f"{str(each)!r} exists" for each in (place, public) if os.path.lexists(each)]
    problems += [f"there is no folder {str(place.parent)!r}"] if not place.parent.is_dir() else []
    problems += [f"{str(place)!r} is the name of a public key"] if place.suffix == PUBLIC else []
    problems += ["the passphrase is empty"] if passphrase is not None and not passphrase else []
    if problems:
        raise SigningError("no keys were made", problems, "choose another place, such as --out custodian.key")
    locked = (
        serialization.NoEncryption()
        if passphrase is None
        else serialization.BestAvailableEncryption(passphrase.encode())
    )
    key = SigningKey(Ed25519PrivateKey.generate())
    pkcs8 = serialization.PrivateFormat.PKCS8
    text = key.key.private_bytes(serialization.Encoding.PEM, pkcs8, locked).decode()
    try:
        public.write_text(key.public.pem, encoding="utf-8")
        write_owner_only(place, text)
    except OSError as error:
        public.unlink(missing_ok=True)
        raise SigningError(
            f"cannot write {str(place)!r}: {error.strerror}", next_step="choose another place"
        ) from error
    return key.public


@dataclass(frozen=True)
class SignatureCheck:
    """What a bundle's signature says: whose it is, what does not hold, and which statements it does not cover."""

    fingerprint: str = ""
    problems: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()


def check_signature(folder: Path, key: PublicKey | None) -> SignatureCheck:
    """Check the signature of a bundle against a key, or against the one that lies in the bundle."""
    place = folder / SIGNATURE
    if not place.is_file():
        return SignatureCheck(problems=(f"{SIGNATURE} is missing: nobody signed this bundle",))
    try:
        content = _small_bytes(place)
        document = SignatureDocument.model_validate_json(content)
        included = PublicKey.of(base64.b64decode(document.public_key, validate=True))
        signature = base64.b64decode(document.signature, validate=True)
    except (OSError, ValueError) as error:
        details = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        return SignatureCheck(problems=(f"{SIGNATURE} cannot be read: {details}",))
    stands = (content.decode(), document.fingerprint) == (document.text, included.fingerprint)
    problems = [] if stands else [f"{SIGNATURE} was changed after it was written"]
    if key is not None and key.raw != included.raw:
        problems.append(f"{SIGNATURE} is by the key {included.fingerprint}, not by {key.fingerprint}, which was given")
    elif not included.signed(_message(document.covers), signature):
        problems.append(f"{SIGNATURE} holds no valid signature by the key {included.fingerprint}")
    problems += _changed(folder, document.covers)
    uncovered = tuple(path.name for path in statement_files(folder) if path.name not in document.covers)
    return SignatureCheck(included.fingerprint, tuple(problems), uncovered)


def _changed(folder: Path, covers: Mapping[str, str]) -> Iterator[str]:
    for name, sha256 in covers.items():
        if not (folder / name).is_file():
            yield f"{SIGNATURE} covers {name}, which is missing"
        elif file_record(folder / name).sha256 != sha256:
            yield f"{SIGNATURE} covers another {name}: this one was changed after it was signed"


def _message(covers: Mapping[str, str]) -> bytes:
    """Return what is signed: the lines that sha256sum prints for the covered files, under a head."""
    return (HEAD + "".join(f"{covers[name]}  {name}\n" for name in sorted(covers))).encode()


def _passphrase(path: str | Path, ask: Callable[[], str] | None) -> bytes:
    word = os.environ.get(ENVIRONMENT) or (ask() if ask is not None else "")
    if not word:
        raise SigningError(
            f"the private key {str(path)!r} has a passphrase, and none was given",
            next_step=f"put it into {ENVIRONMENT}",
        )
    return word.encode()


def _key_bytes(path: Any) -> bytes:
    """Return the content of a key's file; refuse what is none."""
    try:
        if not Path(path).is_file():
            raise SigningError(f"there is no key at {str(path)!r}", next_step=NEW)
        return _small_bytes(Path(path))
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SigningError(f"the key {str(path)!r} cannot be read: {reason}", next_step=NEW) from error


def _small_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES:,} bytes")
    return content
