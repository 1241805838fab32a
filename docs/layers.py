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
    Floor(("papers",), "what five papers print, beside what we compute; nothing imports it"),
    Floor(("cli",), "arguments, words and exit codes; no logic of its own"),
    Floor(("workbench",), "the same steps as pages in a browser; no logic of its own"),
    Floor(("report",), "a release on disk, its pages, and the check of both"),
    Floor(("quality",), "what may be told in public about how good a release is: noisy, charged, recorded"),
    Floor(("comparison",), "how near a release lies to the confidential table, each measure with its yardstick"),
    Floor(("uncertainty",), "how sure a released number is: the mechanism run again on the released rows"),
    Floor(
        ("synthesize", "testing"),
        "a table that nobody has described, in one call; help for tests of one's own mechanisms",
        files=True,
    ),
    Floor(("calibration",), "which parameter meets a target, and what looking for it costs"),
    Floor(("risk",), "what can be learned about people: in closed form, or by attack"),
    Floor(("utility",), "how close released values are to the confidential ones"),
    Floor(("forecast",), "what a release will be good for, from public facts, before anything is spent"),
    Floor(("methods",), "one folder each: method (the class), plan (public facts), run (touches data), published"),
    Floor(("rows",), "what methods that make rows share: values, the public box, rules, whole files"),
    Floor(("buying",), "facts of a schema bought from the rows: charged and recorded like any release"),
    Floor(("release",), "what a method is, what it plans, and the way every release goes"),
    Floor(("example",), "a made-up population to try everything on", files=True),
    Floor(("entropy",), "entropies of counts, and how much one record can change them"),
    Floor(("privacy",), "accounting, noise, ledger, randomness: everything that the promise rests on"),
    Floor(("table",), "private rows behind an engine: read, encode, count", reads_rows=True),
    Floor(("schema",), "public facts about a table: columns, rules; they never look at rows"),
    Floor(
        ("calling", "shown", "progress"),
        "wrong arguments answered in a sentence; how results look; progress",
        files=True,
    ),
    Floor(
        ("errors", "registry", "arrays", "bounded", "compiled", "lazy", "system", "version"),
        "every error a user can meet, names of methods, small tools",
        files=True,
    ),
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
