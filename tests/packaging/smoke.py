"""Install the package under other Pythons, make a release of the example and verify its bundle: ``make smoke``.

All tests run under the oldest Python that is supported; this says that the package installs, releases and verifies
under the newer ones, with the same constraints. An interpreter that is not on this machine is skipped, and named.
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
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.12", "3.13")
RELEASE = """
import sfumato
from sfumato.example import codebook, households
from sfumato.report.verify import verify_bundle

table = sfumato.read(households(rows=500).to_pandas(), codebook())
ledger = sfumato.Ledger("budget.db")
ledger.open_table("households", epsilon=4, delta="1e-6", adjacency="add-remove")
made = sfumato.release(table, sfumato.AIM(epsilon=1), ledger=ledger)
made.save("bundle")
found = verify_bundle("bundle", "budget.db")
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


def smoke(python: str, folder: Path) -> None:
    """Install into a fresh environment, release and verify there; raise where any of it fails."""
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
    inside = str(folder / "venv" / "bin" / "python")
    quiet = ["--quiet", "--disable-pip-version-check"]
    wanted = ["--constraint", str(ROOT / "constraints.txt"), str(ROOT)]
    subprocess.run([inside, "-m", "pip", "install", *quiet, *wanted], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([inside, "-W", "ignore", "-c", RELEASE], cwd=folder, env=environment, check=True)
    subprocess.run([str(Path(inside).with_name("sfumato")), "--version"], cwd=folder, env=environment, check=True)


def tried(version: str) -> bool:
    """Return whether a version did all that is asked of it; one that is not installed is skipped, and named."""
    python = interpreter(version)
    if python is None:
        print(f"Python {version} is not installed here: skipped", flush=True)
        return True
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sfumato-smoke-") as folder:
        try:
            smoke(python, Path(folder))
        except subprocess.CalledProcessError as error:
            print(f"Python {version}: {error}", flush=True)
            return False
    print(f"Python {version}: {time.monotonic() - began:.0f} s", flush=True)
    return True


def main(versions: tuple[str, ...]) -> int:
    """Try every version, side by side; return 1 where one fails."""
    with ThreadPoolExecutor() as pool:
        return int(not all(list(pool.map(tried, versions))))


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or VERSIONS))
