"""SVG elements as text, with titles for screen readers.

Colours come from the page's stylesheet by class, so that one drawing serves light, dark and print.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

LETTER = 6.7
"""Width of a letter of an axis, for keeping words inside a picture."""
LONGEST_LABEL = 11


def svg(width: int, height: int, drawn: Sequence[str], words: str, kind: str = "") -> Markup:
    """Return an SVG element with its text alternative; what is drawn has been escaped."""
    name = f' class="{kind}"' if kind else ""
    start = f'<svg{name} viewBox="0 0 {width} {height}" role="img" aria-label="{escape(words)}">'
    return Markup(f"{start}{''.join(drawn)}</svg>")  # noqa: S704  numbers, and words that are escaped


def diamond(x: float, y: float, size: float = 5.5) -> str:
    """Return the mark of a true value."""
    return f'<path class="mark" d="M{x:.1f} {y - size:g}l{size:g} {size:g}l-{size:g} {size:g}l-{size:g} -{size:g}Z"/>'


def dot(x: float, y: float, hint: str = "") -> str:
    """Return the mark of a synthetic value."""
    title = f"<title>{escape(hint)}</title>" if hint else ""
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.4g}" r="4.5">{title}</circle>'


def truncate(label: str, most: int = LONGEST_LABEL) -> Markup:
    """Return a label that fits; the whole of it shows when the pointer rests on it."""
    if text_width(label) <= most:
        return escape(label)
    kept = ""
    for letter in label:
        if text_width(kept + letter) > most - 1:
            break
        kept += letter
    return Markup("{}…<title>{}</title>").format(kept, label)


def text_width(label: str) -> int:
    """Return how many letters of usual width a label takes; those of some scripts are twice as wide."""
    return sum(1 if ord(letter) < 0x1100 else 2 for letter in label)
