"""What lies in a bundle's folder: plain files and folders only, looked at before any of them is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Contents:
    """Paths below a folder, by what they are. A link is never followed."""

    files: frozenset[str]
    folders: frozenset[str]
    strange: tuple[str, ...]
    """What no bundle holds: links and things that are neither file nor folder, each in words."""

    @classmethod
    def of(cls, folder: Path) -> Contents:
        """Look through a folder without opening a file."""
        files, folders, strange = set[str](), set[str](), list[str]()
        for entry, path in _walk(folder):
            if entry.is_symlink():
                strange.append(f"{path} is a link; a bundle holds its files itself")
            elif entry.is_dir(follow_symlinks=False):
                folders.add(path)
            elif entry.is_file(follow_symlinks=False):
                files.add(path)
            else:
                strange.append(f"{path} is neither a file nor a folder")
        return cls(frozenset(files), frozenset(folders), tuple(strange))

    def needless_folders(self, listed: set[str]) -> list[str]:
        """Return the folders that hold no listed file, empty ones among them."""
        needed = {str(parent) for path in listed for parent in PurePosixPath(path).parents}
        return sorted(self.folders - needed)


def _walk(folder: Path, above: str = "") -> Iterator[tuple[os.DirEntry[str], str]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda found: found.name):
            path = f"{above}{entry.name}"
            yield entry, path
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{path}/")
