"""What every page shares: one frame with header, sections, glossary and footer, one stylesheet, one script.

A page loads nothing: its script, styles and pictures are in it. Its content policy names the script by its hash and
allows no evaluated code, so text from a schema could not run even if it slipped through the escaping.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

import jinja2

from sfumato.report.frame import framed

FOLDER, STYLE, INTERACT = "templates", "style.css", "interact.js"


def render(template: str, **context: Any) -> str:
    """Return a page: ``template`` extends page.html.j2; its navigation and its glossary follow from what it says."""
    script = _read(INTERACT)
    drawn = _environment().get_template(template)
    return framed(drawn.render(style=_read(STYLE), interact=script, allowed_scripts=_source(script), **context))


def _source(script: str) -> str:
    """Return how a content policy names one script: by its hash, so that no other script can run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def _read(name: str) -> str:
    return resources.files("sfumato.report").joinpath(FOLDER, name).read_text(encoding="utf-8")
