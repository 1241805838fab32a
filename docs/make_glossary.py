"""Write docs/glossary.md from the glossary of the reports: ``.venv/bin/python docs/make_glossary.py``."""

from __future__ import annotations

from pathlib import Path

from sfumato.report.texts.glossary import as_markdown

if __name__ == "__main__":
    (Path(__file__).parent / "glossary.md").write_text(as_markdown(), encoding="utf-8")
