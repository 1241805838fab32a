"""Texts of the workbench, read from texts.toml."""

from __future__ import annotations

from sfumato.report.texts import Texts

words = Texts("texts", "sfumato.workbench")
"""The texts by their names, such as ``words("table.open")``, with facts filled in."""
