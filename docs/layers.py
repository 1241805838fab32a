"""The floors of the house, from the top down: one list for the picture in the docs and for the test of the imports.

python docs/layers.py    # draws docs/images/layers.svg
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PICTURE = Path(__file__).parent / "images" / "layers.svg"
WIDTH, FLOOR, TOP, SIDE, GAP, LETTER = 900, 44, 54, 24, 6, 8
INK, QUIET, BLUE, RED = "#1d2430", "#56606e", "#24518f", "#b3400e"


@dataclass(frozen=True)
class Floor:
    """Folders and modules that may import every floor below theirs, and one another only where they are one folder."""

    names: tuple[str, ...]
    words: str
    reads_rows: bool = False
    files: bool = False
    """Whether the names are single modules and no folders."""


FLOORS = (
    Floor(("papers",), "published forms, errata and reproductions of the five papers; nothing below imports it"),
    Floor(("cli",), "arguments, messages and exit codes"),
    Floor(("workbench",), "the same steps as pages in a browser"),
    Floor(
        ("synthesis", "testing"), "release a table without a schema in one call; test your own mechanism", files=True
    ),
    Floor(("report",), "pages: the report, comparison, attacks, impact assessment, README"),
    Floor(("evaluate",), "forecast, compare, quality, calibrate, uncertainty: contexts that call metrics"),
    Floor(("risk",), "what can be learned about people: closed forms, attacks, audits"),
    Floor(("metrics",), "every measure of utility, defined once"),
    Floor(("bundle",), "a release on disk: write, read, verify, export"),
    Floor(("mechanisms",), "one folder per formal method: method, plan, run"),
    Floor(("constraints",), "rules kept in every row, structural zeros"),
    Floor(("sampling",), "values inside cells, smooth densities, written forms"),
    Floor(("dp_schema",), "facts of a schema bought under differential privacy"),
    Floor(("core",), "method, plan, release, parameters, registry"),
    Floor(("example",), "simulated households to try everything on", files=True),
    Floor(("entropy",), "entropies of counts and their sensitivity"),
    Floor(("privacy",), "accounting, noise, ledger, randomness"),
    Floor(("table",), "private rows behind an engine: read, encode, count", reads_rows=True),
    Floor(("schema",), "public facts about a table; never reads rows"),
    Floor(
        ("argument_errors", "reprs", "progress", "atomic_files", "process_pool"),
        "argument errors, representations, progress, files",
        files=True,
    ),
    Floor(
        ("arrays", "bounded_reads", "formatting", "jit", "lazy", "system", "version"),
        "hooks, number formats, small tools",
        files=True,
    ),
    Floor(("errors",), "every error and warning a user can meet", files=True),
)
"""From the top down."""


def heights() -> dict[str, int]:
    """Return the height of each folder and root module: what imports must lie above what is imported."""
    return {name: height for height, floor in enumerate(reversed(FLOORS)) for name in floor.names}


def picture() -> str:
    """Return the drawing of all floors."""
    title = "The layers of Sfumato, from the papers and the command line down to the errors"
    height = TOP + len(FLOORS) * (FLOOR + GAP) + 30
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{title}" font-family="system-ui, -apple-system, Segoe UI, Roboto, sans-serif">\n'
        f'<title>{title}</title>\n<rect width="{WIDTH}" height="{height}" fill="#f6f7f9"/>\n'
    )
    lines = [_text(SIDE, 34, "Layers: each may import only what lies below it", INK, 17, 650)]
    for place, floor in enumerate(FLOORS):
        lines += _drawn(floor, TOP + place * (FLOOR + GAP))
    foot = "Only the table layer reads private rows. Methods see its counts; everything above sees what was released."
    lines.append(_text(SIDE, height - 10, foot, QUIET, 13))
    return head + "\n".join(lines) + "\n</svg>\n"


def _drawn(floor: Floor, y: int) -> list[str]:
    fill, edge, ink = ("#fff4ec", "#e0a37c", RED) if floor.reads_rows else ("#ffffff", "#c3ccd8", BLUE)
    label = " · ".join(f"{name}{'' if floor.files else '/'}" for name in floor.names)
    words = _text(max(SIDE + 140, SIDE + 32 + LETTER * len(label)), y + 28, floor.words, INK, 13.5)
    return [
        f'<rect x="{SIDE}" y="{y}" width="{WIDTH - 2 * SIDE}" height="{FLOOR}" rx="8" fill="{fill}" stroke="{edge}"/>',
        _text(SIDE + 16, y + 28, label, ink, 15, 650),
        words,
    ]


def _text(x: int, y: int, words: str, ink: str, size: float, weight: int = 400) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{ink}">{words}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
