"""The verb sfumato doctor: check this machine, and clean up interrupted releases.

A release is secure if the operating system gives random bytes and a sampler works: table inversion, or with a warning
OpenDP, which draws from the same distributions more slowly and refuses seeded runs.
"""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata, util
from typing import Annotated, Literal

import typer

from sfumato.cli.console import EXIT_ERROR, Console
from sfumato.cli.options import LedgerPath
from sfumato.errors import PlanError, SfumatoError
from sfumato.privacy import noise
from sfumato.privacy.noise import opendp
from sfumato.system import free_memory, usable_cores


def doctor(
    console: Console,
    folder: Annotated[
        str | None, typer.Argument(metavar="[FOLDER]", help="Look for what interrupted runs left in this folder.")
    ] = None,
    ledger: LedgerPath = None,
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove partial folders that are not complete bundles.")
    ] = False,
) -> None:
    """Check the noise sampler and the installation.

    Prints which sampler draws the noise and why, runs its self-test, and lists what is installed. With FOLDER it looks
    for partial folders of interrupted runs instead: complete bundles are finished, others are listed, and removed with
    --clean; with --ledger, bundles that the ledger does not know are marked.

    Exit codes: 0 if a release can be made securely, OpenDP's slower sampler included, and 2 if not. Needs no network
    and reads no private data.
    """
    if folder is not None:
        _clean_up(console, folder, ledger, clean)
    elif ledger is not None or clean:
        raise PlanError(
            "--ledger and --clean require a folder", next_step="write 'sfumato doctor FOLDER --ledger LEDGER'"
        )
    else:
        _show_diagnosis(console)


def _clean_up(console: Console, folder: str, ledger: str | None, clean: bool) -> None:
    from sfumato.bundle.target_folder import clean_up

    leftovers = clean_up(folder, ledger, clean)
    console.print_json({"folder": folder, "leftovers": [each.model_dump(mode="json") for each in leftovers]})
    if not leftovers:
        console.say(f"{folder}: nothing was left behind", style="green")
        return
    console.table(
        "Left behind", ("path", "state", "more"), [[each.path, each.state, each.detail] for each in leftovers]
    )


def _show_diagnosis(console: Console) -> None:
    diagnosis = diagnose_machine()
    console.print_json({**asdict(diagnosis), "warnings": [check.detail for check in diagnosis.warnings]})
    console.say(f"noise is drawn by {diagnosis.sampler}: {diagnosis.why}", style="bold")
    console.table(
        "Checks", ("part", "what", "state", "more"), [[c.part, c.name, c.state, c.detail] for c in diagnosis.checks]
    )
    console.table("Versions", ("of", "version"), list(diagnosis.versions.items()))
    try:
        diagnosis.require_secure()
    except PlanError as error:
        Console().fail(error)  # to standard error alone: with --json the document above is the only one
        raise typer.Exit(EXIT_ERROR) from error
    for check in diagnosis.warnings:
        console.say(f"warning: {check.name}, {check.detail}", style="yellow")
    console.say("a release can be made securely here", style="green")


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


@dataclass(frozen=True)
class MachineCheck:
    """The result of one check; ``absent`` is an optional part that is not installed."""

    part: str
    name: str
    state: State
    detail: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """The results of all checks. ``can_release``: noise can be drawn from secure randomness."""

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
                "repair what failed; pip install --upgrade sfumato",
            )


def diagnose_machine() -> Diagnosis:
    """Check this machine. Nothing is released, sent or written.

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
        checks=(*needed[:2], _opendp(sampler), *tested, *_machine_checks(), *_extras()),
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """Return the versions that a release depends on."""
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
        return MachineCheck("noise", RANDOM, "failed", str(error))
    if first == second:
        return MachineCheck("noise", RANDOM, "failed", "it gave the same bytes twice")
    return MachineCheck("noise", RANDOM, "ok")


def _sampler(sampler: noise.NoiseSampler) -> MachineCheck:
    """Draw a few numbers with the sampler in use."""
    state: State = "ok" if sampler.name == FAST else "warning"
    detail = "by table inversion" if state == "ok" else f"by {sampler.name}: {sampler.why}"
    try:
        drawn = noise.add_laplace([0] * 8, 1.0), noise.add_gaussian([0] * 8, 1.0)
    except Exception as error:  # noqa: BLE001  whatever breaks a sampler, the doctor names it
        return MachineCheck("noise", SAMPLER, "failed", f"{detail}; {type(error).__name__}: {error}")
    if any(part.shape != (8,) for part in drawn):
        return MachineCheck("noise", SAMPLER, "failed", f"{detail}; a draw is missing")
    return MachineCheck("noise", SAMPLER, state, detail)


def _self_test() -> list[MachineCheck]:
    """Return the checks of table inversion; absent without its packages."""
    try:
        from sfumato.privacy.noise.inversion.self_test import self_test
    except ImportError as missing:
        return [MachineCheck("self-test", FAST, "absent", f"{missing}; pip install --upgrade sfumato")]
    return [
        MachineCheck("self-test", check.name, "ok" if check.problem is None else "failed", check.problem or "")
        for check in self_test()
    ]


def _opendp(sampler: noise.NoiseSampler) -> MachineCheck:
    """Check whether OpenDP is installed, without loading it, which takes a second."""
    name = "OpenDP is available"
    if not opendp.is_installed():
        detail = f"it draws for scales above 2^50 and if table inversion fails: {opendp.INSTALL}"
        return MachineCheck("noise", name, "absent" if sampler.name == FAST else "warning", detail)
    detail = "it draws now" if sampler.name != FAST else "it draws scales above 2^50"
    return MachineCheck("noise", name, "ok", detail)


def _machine_checks() -> list[MachineCheck]:
    from sfumato.core.plan import memory_limit

    found: list[tuple[str, Callable[[], str]]] = [
        ("processor cores", lambda: str(usable_cores())),
        ("memory", _free_memory),
        ("memory a plan may need", lambda: f"{memory_limit() / 1e9:.1f} GB"),
    ]
    return [_measured(name, value) for name, value in found]


def _free_memory() -> str:
    free = free_memory()
    return "unknown on this system" if free is None else f"{free / 1e9:.1f} GB free"


def _measured(name: str, value: Callable[[], str]) -> MachineCheck:
    try:
        return MachineCheck("machine", name, "ok", value())
    except SfumatoError as error:
        return MachineCheck("machine", name, "warning", f"{error.headline}; {error.next_step}")


def _extras() -> list[MachineCheck]:
    """Check the packages of every extra without importing them, which takes seconds."""
    return [_extra(name, packages) for name, packages in EXTRAS.items()]


def _extra(name: str, packages: tuple[str, ...]) -> MachineCheck:
    missing = [package for package in packages if util.find_spec(package) is None]
    if missing:
        detail = f"without {', '.join(missing)}: pip install 'sfumato[{name}]'"
        return MachineCheck("extra", name, "absent", detail)
    return MachineCheck("extra", name, "ok", ", ".join(f"{p} {_version(p)}" for p in packages))
