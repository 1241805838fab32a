"""Make the pictures of reading-a-report.md and the README: ``.venv/bin/python docs/picture_report.py``. Needs Chromium.

They show the bundle of a real release of the example households, whom nobody has to protect: nobody in them exists.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from photograph import BETWEEN, hindrance, keep, phones, photograph, printed

import sfumato
from sfumato.example import codebook, households
from sfumato.privacy.ledger import Ledger

ROWS, EPSILON, RERUNS = 20_000, 1, 10
REPORT = {
    "report.png": ("", '<h2 id="data"'),
    "report-columns.png": ('<h2 id="data"', '<article id="column-9"'),
    "report-relations.png": ('<h2 id="relations"', '<article id="relation-5"'),
    "report-together.png": ('<h2 id="measured"', '<section class="fine"'),
    "report-fine-print.png": ('<section class="fine"', '<section class="panelled whole"><h3>Columns'),
    "report-words.png": ('<section class="glossary"', "<footer>"),
}
"""Each picture: the part of the page that it begins with, and what it ends before."""
USERS = {"readme.png": ('<h2 id="columns"', "<h3>R,")}
PHONE, PLACES = "report-phone.png", ("", "data", "column-6")
PAPER, SHEETS, SHARP = "report-paper.png", (0, 2), 0.95
SIGNED = "Signature"


def main() -> int:
    """Write the pictures, or say why not."""
    if hindrance():
        print(f"{hindrance()}: {', '.join((*REPORT, *USERS, PHONE, PAPER))} stay as they are", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        bundle = example_bundle(Path(folder))
        report, users = ((bundle / name).read_text(encoding="utf-8") for name in ("report.html", "README.html"))
        for page, views in ((report, REPORT), (users, USERS)):
            for name, (part, until) in views.items():
                photograph(page, part, until, name)
        phones(report, PLACES, PHONE)
        told = sheets(report, Path(folder) / "report.pdf")
    print(f"wrote {', '.join((*REPORT, *USERS, PHONE))}{told}")
    return 0


def example_bundle(folder: Path) -> Path:
    """Return the bundle of a release of the example households, charged to a ledger."""
    table, book = sfumato.read(households(rows=ROWS), codebook()), Ledger(folder / "budget.db")
    book.open_table(table.schema.name, epsilon=3, delta=1e-6)
    made = sfumato.release(table, sfumato.AIM(epsilon=EPSILON), ledger=book)
    return made.save(folder / "bundle", reruns=RERUNS)


def sheets(report: str, file: Path) -> str:
    """Lay sheets of the printed report side by side, the signed one last, where something can draw them."""
    from PIL import Image

    printed(report, file)
    try:
        import pypdfium2
    except ImportError:
        return f"; {PAPER} stays as it is: pip install pypdfium2"
    with pypdfium2.PdfDocument(file) as document:
        signed = max(i for i, sheet in enumerate(document) if SIGNED in sheet.get_textpage().get_text_range())
        drawn = [document[i].render(scale=SHARP).to_pil() for i in (*SHEETS, signed)]
    wide, high = drawn[0].size
    together = Image.new("RGB", (wide * len(drawn) + 10 * (len(drawn) - 1), high), BETWEEN)
    for place, sheet in enumerate(drawn):
        together.paste(sheet, (place * (wide + 10), 0))
    keep(together, PAPER)
    return f", {PAPER}"


if __name__ == "__main__":
    sys.exit(main())
