"""Output paths of an HTML page and its JSON file: checked first, written together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.atomic_files import atomic_file, check_target
from sfumato.cli.console import Console
from sfumato.errors import BundleError, RiskError, SfumatoError


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
        require_html(page, RiskError)
        return cls(page, page.with_suffix(".json"))._checked(force)

    @classmethod
    def in_folder(cls, out: str | None, name: str, page: str, json: str, force: bool) -> OutputPage:
        """Return the paths of page and JSON in a folder that need not exist, by default named after the content."""
        folder = Path(out or re.sub(r"[^\w.-]+", "-", name))
        places = cls(folder / page, folder / json, BundleError)
        return places._checked(force) if folder.exists() else places

    def _checked(self, force: bool) -> OutputPage:
        for path in (self.page, self.json):
            check_target(path, force, self.error)
        return self

    def write(self, page: str, document: Mapping[str, Any] | str) -> None:
        """Write page and JSON: both or none."""
        body = document if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False)
        try:
            self.page.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot write {str(self.page)!r}: {error.strerror}"
            raise self.error(message, next_step="choose another --out") from error
        with (
            atomic_file(self.page, True, self.error) as fresh_page,
            atomic_file(self.json, True, self.error) as fresh_json,
        ):
            fresh_page.write_text(page, encoding="utf-8")
            fresh_json.write_text(body + "\n", encoding="utf-8")


def require_html(page: Path, error: type[SfumatoError]) -> None:
    """Refuse the name of a page that does not end in .html."""
    if page.suffix.lower() not in (".html", ".htm"):
        raise error(f"{str(page)!r} does not end in .html", next_step="choose a name such as --out risk.html")


def say_private_page(console: Console, places: OutputPage, kind: str = "custodian's copy, do not publish") -> None:
    """Say where a page and its JSON file are, and who may see them."""
    console.say(f"page: {places.page} ({kind})", style="bold")
    console.say(f"json: {places.json}", style="bold")
