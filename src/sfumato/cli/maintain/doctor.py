"""The verb sfumato doctor: check this machine, and clean up interrupted releases.

A release can be made securely where the operating system gives random bytes and a sampler works. Table inversion is the
usual one; OpenDP stands in with a warning, for it draws the same laws more slowly and refuses seeded runs.
"""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Callable
from importlib import metadata, util
from typing import Annotated, Literal

import typer
from pydantic import BaseModel, ConfigDict

from sfumato.cli.console import EXIT_ERROR, Voice
from sfumato.cli.options import AsJson, LedgerUrl
from sfumato.errors import PlanError, SfumatoError
from sfumato.privacy import noise
from sfumato.privacy.noise import opendp
from sfumato.system import free_memory, usable_cores

Folder = Annotated[
    str | None, typer.Argument(metavar="[FOLDER]", help="Also look for what killed runs left in this folder.")
]

Clean = Annotated[bool, typer.Option("--clean", help="Remove partial folders that are no complete bundle.")]


def doctor(folder: Folder = None, ledger: LedgerUrl = None, clean: Clean = False, json: AsJson = False) -> None:
    """Say which sampler draws the noise and why, run its self-test, and show what is installed.

    With FOLDER it looks for partial folders of killed runs instead: one that is a complete bundle is finished, others
    are listed, and removed with --clean. With --ledger the bundles in FOLDER that the ledger does not know are marked.

    Ends with 0 where a release can be made securely, OpenDP's slower sampler included, and with 2 where not. Needs no
    network and touches no private data.
    """
    voice = Voice(json)
    if folder is not None:
        _clean_up(voice, folder, ledger, clean)
    elif ledger is not None or clean:
        raise PlanError("--ledger and --clean need a folder", next_step="write 'sfumato doctor FOLDER --ledger LEDGER'")
    else:
        _machine(voice)


def _clean_up(voice: Voice, folder: str, ledger: str | None, clean: bool) -> None:
    from sfumato.bundle.incomplete_bundles import clean_up

    found = clean_up(folder, ledger, clean)
    voice.document({"folder": folder, "leftovers": [each.model_dump(mode="json") for each in found]})
    if not found:
        voice.say(f"{folder}: nothing was left behind", style="green")
        return
    voice.table("Left behind", ("path", "state", "more"), [[each.path, each.state, each.detail] for each in found])


def _machine(voice: Voice) -> None:

    found = diagnose_machine()
    voice.document({**found.model_dump(mode="json"), "warnings": [check.detail for check in found.warnings]})
    voice.say(f"noise is drawn by {found.sampler}: {found.why}", style="bold")
    voice.table(
        "Checks", ("part", "what", "state", "more"), [[c.part, c.name, c.state, c.detail] for c in found.checks]
    )
    voice.table("Versions", ("of", "version"), list(found.versions.items()))
    try:
        found.require_secure()
    except PlanError as error:
        Voice().fail(error)  # to standard error alone: with --json the document above is the only one
        raise typer.Exit(EXIT_ERROR) from error
    for check in found.warnings:
        voice.say(f"warning: {check.name}, {check.detail}", style="yellow")
    voice.say("a release can be made securely here", style="green")


State = Literal["ok", "warning", "failed", "absent"]

PACKAGES = ("sfumato", "numba", "numpy", "cryptography", "opendp", "dp-accounting", "duckdb")

EXTRAS = {
    "bayes": ("jax", "numpyro"),
    "deep": ("jax", "optax"),
    "formats": ("pyreadstat", "python_calamine", "xlsxwriter"),
    "opendp": ("opendp",),
    "polars": ("polars",),
    "postgres": ("psycopg",),
    "spark": ("pyspark",),
    "web": ("nicegui",),
}

FAST = "table inversion"

RANDOM, SAMPLER = "the operating system gives random bytes", "noise can be drawn"

RANDOM_BYTES = 32


class MachineCheck(BaseModel):
    """One thing that was looked at; ``absent`` is something optional that is not there."""

    model_config = ConfigDict(frozen=True)

    part: str
    name: str
    state: State
    detail: str = ""


class Diagnosis(BaseModel):
    """All that was found. ``can_release`` is the verdict: noise can be drawn from secure randomness."""

    model_config = ConfigDict(frozen=True)

    can_release: bool
    sampler: str
    why: str
    checks: tuple[MachineCheck, ...]
    versions: dict[str, str]

    @property
    def warnings(self) -> tuple[MachineCheck, ...]:
        """What works less well than it could."""
        return tuple(check for check in self.checks if check.state == "warning")

    def require_secure(self) -> None:
        """Refuse a machine on which no release can be made securely."""
        if not self.can_release:
            failed = [f"{check.name}: {check.detail}" for check in self.checks if check.state == "failed"]
            raise PlanError(
                "no release can be made securely on this machine",
                failed,
                "mend what failed; pip install --upgrade sfumato",
            )


def diagnose_machine() -> Diagnosis:
    """Look at this machine. Nothing is released, sent or written.

    >>> diagnose_machine().can_release
    True
    """
    sampler = noise.current_sampler()
    needed, tested = [_random_source(), _sampler(sampler)], _self_test()
    if sampler.name == FAST:  # chosen earlier in this process: it must still pass
        needed += tested
    return Diagnosis(
        can_release=all(check.state != "failed" for check in needed),
        sampler=sampler.name,
        why=sampler.why,
        checks=(*needed[:2], _opendp(sampler), *tested, *_machine_machine(), *_extras()),
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """Return the versions on which a release rests."""
    found = {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}
    return {**found, "sqlite": sqlite3.sqlite_version, "system": f"{platform.system()} {platform.machine()}"}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _random_source() -> MachineCheck:
    """Ask twice: bytes that repeat are not random (by chance with probability 2^-256)."""
    try:
        first, second = os.urandom(RANDOM_BYTES), os.urandom(RANDOM_BYTES)
    except (OSError, NotImplementedError) as error:
        return MachineCheck(part="noise", name=RANDOM, state="failed", detail=str(error))
    if first == second:
        return MachineCheck(part="noise", name=RANDOM, state="failed", detail="it gave the same bytes twice")
    return MachineCheck(part="noise", name=RANDOM, state="ok")


def _sampler(sampler: noise.NoiseSampler) -> MachineCheck:
    """Draw a few numbers by the sampler in use, whichever it is."""
    state: State = "ok" if sampler.name == FAST else "warning"
    detail = "by table inversion" if state == "ok" else f"by {sampler.name}: {sampler.why}"
    try:
        drawn = noise.add_laplace([0] * 8, 1.0), noise.add_gaussian([0] * 8, 1.0)
    except Exception as error:  # noqa: BLE001  whatever breaks a sampler, the doctor names it
        return MachineCheck(
            part="noise", name=SAMPLER, state="failed", detail=f"{detail}; {type(error).__name__}: {error}"
        )
    if any(part.shape != (8,) for part in drawn):
        return MachineCheck(part="noise", name=SAMPLER, state="failed", detail=f"{detail}; a draw is missing")
    return MachineCheck(part="noise", name=SAMPLER, state=state, detail=detail)


def _self_test() -> list[MachineCheck]:
    """Return every check of table inversion; without its packages there is nothing to check."""
    try:
        from sfumato.privacy.noise.inversion.self_test import self_test
    except ImportError as missing:
        return [
            MachineCheck(
                part="self-test", name=FAST, state="absent", detail=f"{missing}; pip install --upgrade sfumato"
            )
        ]
    return [
        MachineCheck(
            part="self-test",
            name=check.name,
            state="ok" if check.problem is None else "failed",
            detail=check.problem or "",
        )
        for check in self_test()
    ]


def _opendp(sampler: noise.NoiseSampler) -> MachineCheck:
    """Say whether the other sampler is there; loading it takes a second and is left to those who need it."""
    name = "OpenDP stands by"
    if not opendp.is_installed():
        detail = f"it draws for scales above 2^50 and where table inversion cannot: {opendp.INSTALL}"
        return MachineCheck(
            part="noise", name=name, state="absent" if sampler.name == FAST else "warning", detail=detail
        )
    detail = "it draws now" if sampler.name != FAST else "it draws scales above 2^50"
    return MachineCheck(part="noise", name=name, state="ok", detail=detail)


def _machine_machine() -> list[MachineCheck]:
    from sfumato.core.plan import memory_limit

    found: list[tuple[str, Callable[[], str]]] = [
        ("processor cores", lambda: str(usable_cores())),
        ("memory", _free_memory),
        ("memory a plan may need", lambda: f"{memory_limit() / 1e9:.1f} GB"),
    ]
    return [_measured(name, value) for name, value in found]


def _free_memory() -> str:
    free = free_memory()
    return "this system does not say" if free is None else f"{free / 1e9:.1f} GB free"


def _measured(name: str, value: Callable[[], str]) -> MachineCheck:
    try:
        return MachineCheck(part="machine", name=name, state="ok", detail=value())
    except SfumatoError as error:
        return MachineCheck(part="machine", name=name, state="warning", detail=f"{error.headline}; {error.next_step}")


def _extras() -> list[MachineCheck]:
    """Look for the packages of every extra without importing them: some take seconds."""
    return [_extra(name, packages) for name, packages in EXTRAS.items()]


def _extra(name: str, packages: tuple[str, ...]) -> MachineCheck:
    missing = [package for package in packages if util.find_spec(package) is None]
    if missing:
        detail = f"without {', '.join(missing)}: pip install 'sfumato[{name}]'"
        return MachineCheck(part="extra", name=name, state="absent", detail=detail)
    return MachineCheck(part="extra", name=name, state="ok", detail=", ".join(f"{p} {_version(p)}" for p in packages))
