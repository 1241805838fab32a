"""Make the picture of noise.md: ``.venv/bin/python docs/picture_noise.py``. Computed from the tables themselves."""

from __future__ import annotations

import sys
from bisect import bisect_left
from fractions import Fraction

from drawn import WIDTH, Panel, write
from markupsafe import Markup, escape

from sfumato.privacy.noise.inversion.cdf_tables import LaplaceMagnitude, cdf_table, enclose_exp
from sfumato.report.charts.axis import Scale
from sfumato.report.charts.category_marks import legend_box
from sfumato.report.charts.svg import svg

NAME = "noise-inversion.svg"
WORDS = "Words of four bits for scale 1, each with the draw that it decides; those that hold a value of F are read on"
HEIGHT, FOOT, BITS = 46, 44, 4
SCALE = Fraction(1)
READ_ON = "read on"
LOOKS = {"|X| = 0": "tone-1 half", "|X| = 1": "tone-2 light", "|X| = 2": "tone-3 half", READ_ON: "yardstick hollow"}


def main() -> int:
    """Write the picture."""
    write(NAME, WORDS, [Panel(inversion())], legend=[(legend_box(look), name) for name, look in LOOKS.items()])
    print(f"wrote {NAME}")
    return 0


def inversion() -> Markup:
    """Return the words of four bits with the draw that each decides, and F(k) as rules between them."""
    across = Scale(0, 1 << BITS, 1, WIDTH - 1)
    title = f'<text class="word" x="{WIDTH / 2:g}" y="{HEIGHT + FOOT - 4}">first four bits of u, as a number</text>'
    drawn = [*(_box(word, name, across) for word, name in enumerate(_words())), *_rules(across), title]
    return svg(WIDTH, HEIGHT + FOOT, drawn, WORDS)


def _box(word: int, name: str, across: Scale) -> str:
    start, end = across.at(word), across.at(word + 1)
    return (
        f'<rect class="{LOOKS[name]}" x="{start + 1:.1f}" y="4" width="{end - start - 2:.1f}" height="{HEIGHT - 8}"/>'
        f'<text class="word cell" x="{(start + end) / 2:.1f}" y="{HEIGHT / 2 + 4:g}">{word}</text>'
    )


def _rules(across: Scale) -> list[str]:
    return [
        f'<path class="rule goal" d="M{across.at(at):.1f} 0V{HEIGHT}"/>'
        f'<text class="word name" x="{across.at(at):.1f}" y="{HEIGHT + 15}">{escape(name)}</text>'
        for name, at in _edges()
    ]


def _words() -> list[str]:
    """Return what each word decides."""
    table = cdf_table(LaplaceMagnitude(SCALE), BITS)
    found = [bisect_left(table, word) for word in range(1 << BITS)]
    return [READ_ON if table[outcome] == word else f"|X| = {outcome}" for word, outcome in enumerate(found)]


def _edges() -> list[tuple[str, float]]:
    """Return 16 F(k) for k = 0, 1, 2; later ones crowd at the end."""
    r = enclose_exp(1 / SCALE, 64)[0] / 2**64
    return [(f"F({k})", (1 << BITS) * (1 - 2 * r ** (k + 1) / (1 + r))) for k in range(3)]


if __name__ == "__main__":
    sys.exit(main())
