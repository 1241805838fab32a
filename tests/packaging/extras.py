"""Ask the package index whether the package and all its extras together resolve to wheels: ``make extras``.

Nothing is installed. pip is asked for the versions that each supported Python would get, as the interpreter itself
where it is on this machine, since a dependency may depend on the version of Python, and by name where it is not. What
resolves together resolves one by one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from building import ROOT, build, outside
from smoke import VERSIONS, interpreter

LEFT_OUT = ("dev", "spark")
"""What those who work on the package need, for one Python; and pyspark, which comes as one archive for every Python."""


def extras() -> list[str]:
    """Return every extra that users may ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [name for name in project["optional-dependencies"] if name not in LEFT_OUT]


def resolved(wheel: Path, version: str, wanted: list[str]) -> int | None:
    """Return how many packages would be installed, or None where no set of wheels fits."""
    python = interpreter(version)
    asked = ["install", "--dry-run", "--quiet", "--ignore-installed", "--disable-pip-version-check", "--report", "-"]
    asked += ["--only-binary", ":all:", f"{wheel}[{','.join(wanted)}]"]
    if python is None:
        asked += ["--python-version", version, "--target", str(wheel.parent / "nowhere")]
    pip = [sys.executable, "-m", "pip", *(["--python", python] if python else [])]
    done = subprocess.run([*pip, *asked], env=outside(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr.strip().splitlines()[-1], flush=True)
        return None
    return len(json.loads(done.stdout)["install"])


def main() -> int:
    """Ask for all extras on every Python; return 1 where they do not resolve."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="sfumato-dist-") as folder:
        wheel = build(Path(folder)).wheel
        for version in VERSIONS:
            found = resolved(wheel, version, extras())
            failed += found is None
            words = "does not resolve" if found is None else f"{found} packages"
            print(f"Python {version} [{','.join(extras())}]: {words}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
