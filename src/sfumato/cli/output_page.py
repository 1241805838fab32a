"""Output paths of an HTML page and its JSON file: checked first, written together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.cli.console import Console
from sfumato.errors import BundleError, RiskError, SfumatoError, TableError


@dataclass(frozen=True)
class OutputPage:
    """A page and its JSON file."""

    page: Path
    json: Path
    error: type[SfumatoError] = RiskError
    """What a path that cannot be written raises."""

    @classmethod
    def at(cls, out: str | None, name: str, ending: str, force: bool) -> OutputPage:
        """Return the paths of page and JSON, by default named after the table; refuse paths that cannot be written."""
        page = Path(out or re.sub(r"[^\w.-]+", "-", name) + ending)
        if page.suffix.lower() not in (".html", ".htm"):
            raise RiskError(f"{str(page)!r} does not end in .html", next_step="choose a name such as --out risk.html")
        if not page.absolute().parent.is_dir():
            raise RiskError(f"there is no folder {str(page.parent)!r}", next_step="create it, or choose another --out")
        return cls(page, page.with_suffix(".json"))._checked(force)

    @classmethod
    def in_folder(cls, out: str | None, name: str, page: str, json: str, force: bool) -> OutputPage:
        """Return the paths of page and JSON in a folder that need not exist, by default named after the content."""
        folder = Path(out or re.sub(r"[^\w.-]+", "-", name))
        return cls(folder / page, folder / json, BundleError)._checked(force)

    def _checked(self, force: bool) -> OutputPage:
        existing = [str(path) for path in (self.page, self.json) if path.exists()]
        if any(Path(path).is_dir() for path in existing):
            raise self.error(f"{existing[0]!r} is a folder", next_step="choose another name with --out")
        if existing and not force:
            raise self.error(
                f"{' and '.join(map(repr, existing))} exist", next_step="choose another --out, or add --force"
            )
        return self

    def write(self, page: str, document: Mapping[str, Any] | str) -> None:
        """Write page and JSON: both or none."""
        body = document if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False)
        texts = {self.page: page, self.json: body + "\n"}
        fresh = {path: path.with_name(f".{path.name}.part") for path in texts}
        try:
            self.page.parent.mkdir(parents=True, exist_ok=True)
            for path, text in texts.items():
                fresh[path].write_text(text, encoding="utf-8")
            for path, part in fresh.items():
                part.replace(path)
        except OSError as error:
            message = f"cannot write {str(self.page)!r}: {error.strerror}"
            raise self.error(message, next_step="choose another --out") from error
        finally:
            for part in fresh.values():
                part.unlink(missing_ok=True)


def say_private_page(console: Console, places: OutputPage, kind: str = "custodian's copy, do not publish") -> None:
    """Say where a page and its JSON file are, and who may see them."""
    console.say(f"page: {places.page} ({kind})", style="bold")
    console.say(f"json: {places.json}", style="bold")


def require_free_page(out: str | None, what: str) -> None:
    """Refuse a private page that cannot be written, before minutes are spent on it."""
    if out is None:
        return
    place = Path(out)
    problems = [
        *([] if place.suffix.lower() in (".html", ".htm") else ["it does not end in .html"]),
        *(["it exists"] if place.exists() else []),
        *([] if place.absolute().parent.is_dir() else [f"there is no folder {str(place.parent)!r}"]),
    ]
    if problems:
        raise TableError(f"the page cannot be written to {out!r}", problems, "choose another --out")
    from sfumato.bundle.target_folder import require_free_path

    require_free_path(out, what)
