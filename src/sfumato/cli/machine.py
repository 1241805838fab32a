"""What this machine can do: which sampler draws noise and why, whether it passes its self-test, what is installed.

A release can be made securely where the operating system gives random bytes and a sampler works. Table inversion is the
usual one; OpenDP stands in with a warning, for it draws the same laws more slowly and refuses seeded runs.
"""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Callable
from importlib import metadata, util
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sfumato.errors import PlanError, SfumatoError
from sfumato.privacy import noise
from sfumato.privacy.noise import opendp
from sfumato.system import cores, free_memory

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


class Check(BaseModel):
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
    checks: tuple[Check, ...]
    versions: dict[str, str]

    @property
    def warnings(self) -> tuple[Check, ...]:
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


def diagnose() -> Diagnosis:
    """Look at this machine. Nothing is released, sent or written.

    >>> diagnose().can_release
    True
    """
    sampler = noise.sampler_in_use()
    needed, tested = [_random_source(), _sampler(sampler)], _self_test()
    if sampler.name == FAST:  # chosen earlier in this process: it must still pass
        needed += tested
    return Diagnosis(
        can_release=all(check.state != "failed" for check in needed),
        sampler=sampler.name,
        why=sampler.why,
        checks=(*needed[:2], _opendp(sampler), *tested, *_machine(), *_extras()),
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


def _random_source() -> Check:
    """Ask twice: bytes that repeat are not random (by chance with probability 2^-256)."""
    try:
        first, second = os.urandom(RANDOM_BYTES), os.urandom(RANDOM_BYTES)
    except (OSError, NotImplementedError) as error:
        return Check(part="noise", name=RANDOM, state="failed", detail=str(error))
    if first == second:
        return Check(part="noise", name=RANDOM, state="failed", detail="it gave the same bytes twice")
    return Check(part="noise", name=RANDOM, state="ok")


def _sampler(sampler: noise.Sampler) -> Check:
    """Draw a few numbers by the sampler in use, whichever it is."""
    state: State = "ok" if sampler.name == FAST else "warning"
    detail = "by table inversion" if state == "ok" else f"by {sampler.name}: {sampler.why}"
    try:
        drawn = noise.add_laplace([0] * 8, 1.0), noise.add_gaussian([0] * 8, 1.0)
    except Exception as error:  # noqa: BLE001  whatever breaks a sampler, the doctor names it
        return Check(part="noise", name=SAMPLER, state="failed", detail=f"{detail}; {type(error).__name__}: {error}")
    if any(part.shape != (8,) for part in drawn):
        return Check(part="noise", name=SAMPLER, state="failed", detail=f"{detail}; a draw is missing")
    return Check(part="noise", name=SAMPLER, state=state, detail=detail)


def _self_test() -> list[Check]:
    """Return every check of table inversion; without its packages there is nothing to check."""
    try:
        from sfumato.privacy.noise.inversion.self_test import self_test
    except ImportError as missing:
        return [Check(part="self-test", name=FAST, state="absent", detail=f"{missing}; pip install --upgrade sfumato")]
    return [
        Check(
            part="self-test",
            name=check.name,
            state="ok" if check.problem is None else "failed",
            detail=check.problem or "",
        )
        for check in self_test()
    ]


def _opendp(sampler: noise.Sampler) -> Check:
    """Say whether the other sampler is there; loading it takes a second and is left to those who need it."""
    name = "OpenDP stands by"
    if not opendp.is_installed():
        detail = f"it draws for scales above 2^50 and where table inversion cannot: {opendp.INSTALL}"
        return Check(part="noise", name=name, state="absent" if sampler.name == FAST else "warning", detail=detail)
    detail = "it draws now" if sampler.name != FAST else "it draws scales above 2^50"
    return Check(part="noise", name=name, state="ok", detail=detail)


def _machine() -> list[Check]:
    from sfumato.release.plan import memory_limit

    found: list[tuple[str, Callable[[], str]]] = [
        ("processor cores", lambda: str(cores())),
        ("memory", _free_memory),
        ("memory a plan may need", lambda: f"{memory_limit() / 1e9:.1f} GB"),
    ]
    return [_measured(name, value) for name, value in found]


def _free_memory() -> str:
    free = free_memory()
    return "this system does not say" if free is None else f"{free / 1e9:.1f} GB free"


def _measured(name: str, value: Callable[[], str]) -> Check:
    try:
        return Check(part="machine", name=name, state="ok", detail=value())
    except SfumatoError as error:
        return Check(part="machine", name=name, state="warning", detail=f"{error.headline}; {error.next_step}")


def _extras() -> list[Check]:
    """Look for the packages of every extra without importing them: some take seconds."""
    return [_extra(name, packages) for name, packages in EXTRAS.items()]


def _extra(name: str, packages: tuple[str, ...]) -> Check:
    missing = [package for package in packages if util.find_spec(package) is None]
    if missing:
        detail = f"without {', '.join(missing)}: pip install 'sfumato[{name}]'"
        return Check(part="extra", name=name, state="absent", detail=detail)
    return Check(part="extra", name=name, state="ok", detail=", ".join(f"{p} {_version(p)}" for p in packages))
