"""Write docs/glossary.md from the glossary of the reports: ``.venv/bin/python docs/make_glossary.py``.

What follows from the heading ``IN_CODE`` on is written by hand and stays.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.report.page import glossary_markdown

PAGE = Path(__file__).parent / "glossary.md"
IN_CODE = "\n## Words in the code\n"

if __name__ == "__main__":
    _, heading, by_hand = PAGE.read_text(encoding="utf-8").partition(IN_CODE)
    PAGE.write_text(glossary_markdown() + heading + by_hand, encoding="utf-8")
