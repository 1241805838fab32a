"""The first picture of the README: what goes in, what comes out, and who may see it.

python docs/overview.py    # draws docs/images/overview.svg
"""

from __future__ import annotations

from pathlib import Path

PICTURE = Path(__file__).parent / "images" / "overview.svg"
WIDTH, HEIGHT = 900, 330
INK, QUIET, BLUE, RED, GREEN = "#1d2430", "#56606e", "#24518f", "#b3400e", "#1c6b48"
TITLE = "A sensitive table and public facts go in; synthetic rows, a guarantee and a report come out; a ledger counts"
PRIVATE = (("name", "age", "income"), ("A. Moreau", "47", "38,200"), ("B. Okafor", "31", "61,750"), ("...", "", ""))
PUBLIC = (("age", "income"), ("44", "39,100"), ("33", "58,400"), ("...", ""))


def picture() -> str:
    """Return the drawing."""
    font = "system-ui, -apple-system, Segoe UI, Roboto, sans-serif"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{TITLE}" font-family="{font}">\n'
        f'<title>{TITLE}</title>\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#f6f7f9"/>\n'
    )
    parts = [*_private(), *_middle(), *_public(), *_arrows()]
    return head + "\n".join(parts) + "\n</svg>\n"


def _private() -> list[str]:
    return [
        _text(24, 34, "stays with you", RED, 15, 650),
        *_table(24, 48, (96, 50, 74), PRIVATE, "#fff4ec", "#e0a37c"),
        _text(24, 184, "a sensitive table", INK, 14, 650),
        _text(24, 204, "files, frames, databases, Spark", QUIET, 12.5),
        _box(24, 228, 220, 66, "#ffffff", "#c3ccd8"),
        _text(38, 254, "a schema", INK, 14, 650),
        _text(38, 276, "what anyone may know of it", QUIET, 12.5),
    ]


def _middle() -> list[str]:
    words = ("exact noise on counts", "a model of noisy tables", "rows drawn from the model")
    steps = [_text(348, 124 + 22 * place, line, INK, 13) for place, line in enumerate(words)]
    return [
        _box(330, 62, 210, 124, "#ffffff", BLUE),
        _text(348, 94, "Sfumato", BLUE, 18, 700),
        *steps,
        _box(330, 228, 210, 66, "#ffffff", "#c3ccd8"),
        _text(344, 254, "a ledger", INK, 14, 650),
        _text(344, 276, "epsilon 1 of 4 spent: 3 left", QUIET, 12.5),
    ]


def _public() -> list[str]:
    words = (
        ("a guarantee", "in words and numbers"),
        ("a report", "how good it is"),
        ("a bundle", "anyone can verify it"),
    )
    lines: list[str] = []
    for place, (name, more) in enumerate(words):
        lines += [_text(640, 218 + 28 * place, name, INK, 14, 650), _text(744, 218 + 28 * place, more, QUIET, 12.5)]
    return [
        _text(640, 34, "may be given away", GREEN, 15, 650),
        *_table(640, 48, (60, 84), PUBLIC, "#eef8f2", "#8fc4a8"),
        _text(640, 184, "synthetic rows: nobody's", INK, 14, 650),
        *lines,
    ]


def _arrows() -> list[str]:
    return [
        _arrow(254, 116, 322, 116),
        _arrow(254, 261, 322, 168),
        _arrow(548, 116, 630, 116),
        _arrow(435, 192, 435, 222),
    ]


def _table(
    x: int, y: int, widths: tuple[int, ...], rows: tuple[tuple[str, ...], ...], fill: str, edge: str
) -> list[str]:
    made = [_box(x, y, sum(widths), 29 * len(rows), fill, edge)]
    for line, cells in enumerate(rows):
        for column, words in enumerate(cells):
            place = x + 10 + sum(widths[:column])
            made.append(_text(place, y + 20 + 28 * line, words, INK, 13, 650 if line == 0 else 400))
    return made


def _box(x: int, y: int, width: int, height: int, fill: str, edge: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" stroke="{edge}"/>'


def _arrow(x: int, y: int, to_x: int, to_y: int) -> str:
    length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
    along, across = ((to_x - x) / length, (to_y - y) / length), ((y - to_y) / length, (to_x - x) / length)
    corners = [(to_x - 10 * along[0] + side * across[0], to_y - 10 * along[1] + side * across[1]) for side in (5, -5)]
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in ((to_x, to_y), *corners))
    return (
        f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{QUIET}" stroke-width="2"/>'
        f'<polygon points="{points}" fill="{QUIET}"/>'
    )


def _text(x: int, y: int, words: str, ink: str, size: float, weight: int = 400) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{ink}">{words}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
