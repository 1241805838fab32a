"""Several versions of the site side by side: one folder each, a list of them, and a page that leads to the newest."""

from __future__ import annotations

import json
import re
from pathlib import Path

START = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<title>Sfumato</title>
</head>
<body><p><a href="{newest}/index.html">Sfumato {newest}</a></p></body>
</html>
"""


def order(name: str) -> tuple[list[int], bool]:
    """Return a key by which versions stand in their order; a final one comes after what led to it.

    >>> sorted(["0.10.0", "0.9.1", "0.10.0rc1"], key=order)
    ['0.9.1', '0.10.0rc1', '0.10.0']
    """
    numbers = re.match(r"[\d.]+", name)
    final = numbers is not None and numbers[0] == name
    return [int(number) for number in re.findall(r"\d+", numbers[0] if numbers else "")], final


def write_versions(site: Path) -> list[str]:
    """Write the list of versions and the start page, by the folders that are there; return them, newest first."""
    found = sorted((path.parent.name for path in site.glob("*/index.html")), key=order, reverse=True)
    (site / "versions.js").write_text(f"window.SFUMATO_VERSIONS = {json.dumps(found)};\n", encoding="utf-8")
    (site / "index.html").write_text(START.format(newest=found[0]), encoding="utf-8")
    return found
