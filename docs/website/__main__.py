"""Check the pages, build the site into docs/_site/VERSION, check the site: ``make docs``. Nothing is fetched."""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from sphinx.application import Sphinx

from sfumato.version import __version__
from website.finished import shortcomings
from website.pages import DOCS, all_pages, problems
from website.stage import lay_out
from website.versions import write_versions

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SITE = DOCS / "_site"
FORGIVEN = "[docutils]"
"""Warnings about the markup of a docstring: the text is shown as it stands, and nothing leads astray."""


def main() -> int:
    """Return 0 where all is well; a site is written only where all links lead somewhere."""
    started, pages = time.perf_counter(), all_pages()
    broken = problems(pages)
    if not broken:
        with tempfile.TemporaryDirectory() as folder:
            lay_out(pages, Path(folder))
            target = SITE / __version__
            shutil.rmtree(target, ignore_errors=True)
            broken = build(Path(folder), target)
        versions = write_versions(SITE)
        broken += shortcomings(target)
    if broken:
        print(*broken, sep="\n", file=sys.stderr)
        return 1
    count = len(list(target.rglob("*.html")))
    seconds = time.perf_counter() - started
    print(f"{count} pages in {seconds:.0f} s, versions {', '.join(versions)}: open {SITE / 'index.html'}")
    return 0


def build(sources: Path, target: Path) -> list[str]:
    """Run Sphinx; return its warnings, but for those about docstrings."""
    warnings = io.StringIO()
    app = Sphinx(
        sources,
        confdir=Path(__file__).parent,
        outdir=target,
        doctreedir=sources / "_doctrees",
        buildername="html",
        status=None,
        warning=warnings,
    )
    app.build(force_all=True)
    lines = COLOUR.sub("", warnings.getvalue()).splitlines()
    return [line for line in lines if line.strip() and (FORGIVEN not in line or " ERROR: " in line)]


if __name__ == "__main__":
    sys.exit(main())
