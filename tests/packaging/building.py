"""Build the wheel and the source archive as a version does, and install a wheel outside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Built:
    """The two files that a version consists of."""

    wheel: Path
    archive: Path

    def wheel_names(self) -> set[str]:
        """Return the files of the wheel."""
        with zipfile.ZipFile(self.wheel) as file:
            return set(file.namelist())

    def archive_names(self) -> set[str]:
        """Return the files of the archive, without the folder that all of them are in."""
        with tarfile.open(self.archive) as file:
            return {member.name.partition("/")[2] for member in file.getmembers() if member.isfile()}


def build(folder: Path, source: Path = ROOT) -> Built:
    """Build both by hatchling, as it is installed: nothing is downloaded."""
    asked = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(asked, cwd=source, env=outside(), check=True, capture_output=True)
    return Built(next(folder.glob("*.whl")), next(folder.glob("*.tar.gz")))


def outside() -> dict[str, str]:
    """Return the environment of somebody who knows nothing of the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SFUMATO_DATA")}


def program(environment: Path, name: str) -> str:
    """Return the path of a program in a virtual environment."""
    return str(environment / ("Scripts" if os.name == "nt" else "bin") / name)


def install_beside(wheel: Path, environment: Path) -> None:
    """Install a wheel alone into a fresh environment which borrows the other packages of this one.

    A line in a .pth file adds a folder without reading the .pth files in it, so that an editable install of the
    checkout in this environment is not borrowed.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = program(environment, "python")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True, env=outside())
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    own = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    places = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    (Path(own) / "borrowed.pth").write_text("\n".join(places) + "\n", encoding="utf-8")
