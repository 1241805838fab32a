"""Names of the files in a bundle, and what lies in its folder: what writing, reading and verifying share."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sfumato.bundle.ledger_record import DocumentPart

DOCUMENT = "release.json"
SCHEMA = "schema.toml"
REPORT = "report.html"
SCRIPT = "reproduce.py"
MODEL = "model.sfumato"
WARNING = "NOT-FOR-RELEASE.txt"
SIGNATURE = "signature.json"
TABLES = "tables"
"""Folder of the released tables where there are several."""
PAGES = (
    *(REPORT, "README.html", "README.md", "datacard.json"),
    *("croissant.json", "datapackage.json", "registry.yaml"),
)
"""What is drawn from the document, and so cannot be part of what it shows a fingerprint of."""
STATEMENT_NAME = re.compile(r"quality(-[1-9][0-9]*)?\.json")
"""How files are called that hold quality statements: quality.json, then quality-2.json and so on."""
LONGEST_STEM = 100


class FileRecord(DocumentPart):
    """One file of the bundle."""

    sha256: str
    bytes: int


@dataclass(frozen=True)
class FolderListing:
    """Paths below a folder, by what they are. A link is never followed."""

    files: frozenset[str]
    folders: frozenset[str]
    unexpected: tuple[str, ...]
    """What no bundle holds: links and things that are neither file nor folder, each in words."""

    @classmethod
    def of(cls, folder: Path) -> FolderListing:
        """Look through a folder without opening a file."""
        files, folders, unexpected = set[str](), set[str](), list[str]()
        for entry, path in _walk(folder):
            if entry.is_symlink():
                unexpected.append(f"{path} is a link; a bundle holds its files itself")
            elif entry.is_dir(follow_symlinks=False):
                folders.add(path)
            elif entry.is_file(follow_symlinks=False):
                files.add(path)
            else:
                unexpected.append(f"{path} is neither a file nor a folder")
        return cls(frozenset(files), frozenset(folders), tuple(unexpected))

    def needless_folders(self, listed: set[str]) -> list[str]:
        """Return the folders that hold no listed file, empty ones among them."""
        needed = {str(parent) for path in listed for parent in PurePosixPath(path).parents}
        return sorted(self.folders - needed)


def _walk(folder: Path, above: str = "") -> Iterator[tuple[os.DirEntry[str], str]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            path = f"{above}{entry.name}"
            yield entry, path
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{path}/")


def file_records(folder: Path) -> dict[str, FileRecord]:
    """Return hash and size of every file in a folder except the document itself, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / DOCUMENT)
    return {path.relative_to(folder).as_posix(): file_record(path) for path in paths}


def file_record(path: Path) -> FileRecord:
    """Return hash and size of one file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return FileRecord(sha256=digest.hexdigest(), bytes=path.stat().st_size)


def statement_files(folder: str | Path) -> tuple[Path, ...]:
    """Return the quality statements in a bundle, the first one first."""
    statements = (path for path in Path(folder).iterdir() if STATEMENT_NAME.fullmatch(path.name))
    return tuple(sorted(statements, key=lambda path: (len(path.name), path.name)))


def file_stems(sets: list[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Return a safe and unique file name for each column set, whatever its columns are called.

    >>> file_stems([("age", "sex"), ("net income",), ("net/income",)])
    {('age', 'sex'): 'age--sex', ('net income',): 'net_income', ('net/income',): 'net_income-2'}
    """
    stems: dict[tuple[str, ...], str] = {}
    taken: set[str] = set()
    for names in sets:
        slug = "--".join(re.sub(r"[^\w.-]+", "_", name).strip("._-") or "column" for name in names)[:LONGEST_STEM]
        # file systems that ignore case must not fold two tables into one
        candidates = (slug if i == 1 else f"{slug}-{i}" for i in range(1, len(sets) + 2))
        stems[names] = next(stem for stem in candidates if stem.casefold() not in taken)
        taken.add(stems[names].casefold())
    return stems
