"""Install the wheel and all that it needs under every supported Python, release, verify, run the demo: ``make smoke``.

All tests run under the oldest Python that is supported; this says that the wheel installs into an empty environment
outside the checkout under each of them, with the same constraints and without any extra, and works there. An
interpreter that is not on this machine is skipped, and named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from building import ROOT, build, outside, program

VERSIONS = ("3.11", "3.12", "3.13")
RELEASE = """
import sfumato
from sfumato.example import codebook, households
from sfumato.bundle.verify import verify_bundle

table = sfumato.read(households(rows=500).to_pandas(), codebook())
ledger = sfumato.Ledger("budget.db")
ledger.open_table("households", epsilon=4, delta="1e-6", adjacency="add-remove")
made = sfumato.release(table, sfumato.AIM(epsilon=1), ledger=ledger)
made.save("bundle")
found = verify_bundle("bundle", "budget.db")
assert "venv" in sfumato.__file__, sfumato.__file__
assert found.ok and not found.unchecked and found.stamp is None, found
assert made.data.shape[0] > 0 and ledger.account("households").left_epsilon == "3"
print("released and verified:", found.verdict)
"""


def interpreter(version: str) -> str | None:
    """Return a Python of that version which runs; a shim may only say that it does not."""
    return next((path for path in _candidates(version) if _is(path, version)), None)


def _candidates(version: str) -> Iterator[str]:
    named = shutil.which(f"python{version}")
    if named is not None:
        yield named
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(path) for path in sorted(managed.glob(f"{version}*/bin/python")))


def _is(path: str, version: str) -> bool:
    asked = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return found.returncode == 0 and found.stdout.strip() == version


def smoke(python: str, folder: Path, wheel: Path) -> None:
    """Install into a fresh environment, release, verify and run the demo there; raise where any of it fails."""
    environment = folder / "venv"
    subprocess.run([python, "-m", "venv", str(environment)], check=True)
    inside, command = program(environment, "python"), program(environment, "sfumato")
    quiet = ["--quiet", "--disable-pip-version-check", "--constraint", str(ROOT / "constraints.txt")]
    run = partial(subprocess.run, cwd=folder, env=outside(), check=True)
    run([inside, "-m", "pip", "install", *quiet, str(wheel)])
    print(f"{megabytes(environment)} MB without pip, before anything was compiled or run", flush=True)
    run([inside, "-W", "ignore", "-c", RELEASE])
    run([command, "--version"])
    run([command, "demo", "--out", "demo"], stdout=subprocess.DEVNULL)
    run([command, "verify", "demo/synthetic", "--ledger", "demo/ledger.db"])


def megabytes(environment: Path) -> int:
    """Return the size of the packages of an environment, without what venv put there itself and without bytecode."""
    own = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    packages = next(environment.glob("lib/python*/site-packages"))
    places = [place for place in packages.iterdir() if not place.name.startswith(own)]
    files = (path for place in places for path in (place, *place.rglob("*")) if path.is_file())
    return round(sum(path.stat().st_size for path in files if path.suffix != ".pyc") / 1e6)


def tried(version: str, python: str, wheel: Path) -> bool:
    """Return whether a Python did all that is asked of it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sfumato-smoke-") as folder:
        try:
            smoke(python, Path(folder), wheel)
        except subprocess.CalledProcessError as error:
            print(f"Python {version}: {error}", flush=True)
            return False
    print(f"Python {version}: {time.monotonic() - began:.0f} s", flush=True)
    return True


def found(versions: tuple[str, ...]) -> dict[str, str]:
    """Return the interpreters of the versions that are installed; one that is not is skipped, and named."""
    asked = {version: interpreter(version) for version in versions}
    for version in (version for version, python in asked.items() if python is None):
        print(f"Python {version} is not installed here: skipped", flush=True)
    return {version: python for version, python in asked.items() if python is not None}


def main(versions: tuple[str, ...]) -> int:
    """Build the wheel, then try every version that is there, side by side; return 1 where one fails."""
    there = found(versions)
    if not there:
        return 0
    with tempfile.TemporaryDirectory(prefix="sfumato-dist-") as folder, ThreadPoolExecutor() as pool:
        wheel = build(Path(folder)).wheel
        return int(not all(list(pool.map(partial(tried, wheel=wheel), there.keys(), there.values()))))


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or VERSIONS))
