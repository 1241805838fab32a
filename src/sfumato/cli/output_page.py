"""Output paths of an HTML page and its JSON file: checked first, written together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.errors import RiskError, TableError


class OutputPage(NamedTuple):
    """The page and its JSON file."""

    page: Path
    json: Path

    @classmethod
    def at(cls, out: str | None, name: str, ending: str, force: bool) -> OutputPage:
        """Return the paths of page and JSON, by default named after the table; refuse paths that cannot be written."""
        page = Path(out or re.sub(r"[^\w.-]+", "-", name) + ending)
        if page.suffix.lower() not in (".html", ".htm"):
            raise RiskError(f"{str(page)!r} does not end in .html", next_step="choose a name such as --out risk.html")
        places = cls(page, page.with_suffix(".json"))
        if not page.absolute().parent.is_dir():
            raise RiskError(f"there is no folder {str(page.parent)!r}", next_step="make it, or choose another --out")
        taken = [str(place) for place in places if place.exists()]
        if any(Path(place).is_dir() for place in taken):
            raise RiskError(f"{taken[0]!r} is a folder", next_step="choose another name with --out")
        if taken and not force:
            raise RiskError(f"{' and '.join(map(repr, taken))} exist", next_step="choose another --out, or add --force")
        return places

    def write(self, page: str, document: Mapping[str, Any]) -> None:
        """Write page and JSON: both or none."""
        texts = (page, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        fresh = [place.with_name(f".{place.name}.part") for place in self]
        try:
            for place, text in zip(fresh, texts, strict=True):
                place.write_text(text, encoding="utf-8")
            for place, target in zip(fresh, self, strict=True):
                place.replace(target)
        except OSError as error:
            raise RiskError(
                f"cannot write {str(self.page)!r}: {error.strerror}", next_step="choose another --out"
            ) from error
        finally:
            for place in fresh:
                place.unlink(missing_ok=True)


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
    from sfumato.bundle.private_files import require_free_path

    require_free_path(out, what)
