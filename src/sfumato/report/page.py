"""What every page shares: one template for head, colours, banners and charts, and the chart library inside the file.

A page loads nothing: its scripts, styles and numbers are in it. Its content policy names the two scripts by their
hashes and allows no evaluated code, so text from a schema could not run even if it slipped through the escaping.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import jinja2

from sfumato.report.charts.look import Spec, config

FOLDER, DRIVER = "templates", "charts.js"


def render(template: str, specs: Mapping[str, Spec], **context: Any) -> str:
    """Return a page: ``template`` extends page.html.j2, and each chart stands where an element has its name as id."""
    scripts = {"vega": vega_script(), "driver": _read(DRIVER)} if specs else {"vega": "", "driver": ""}
    return (
        _environment()
        .get_template(template)
        .render(
            specs=embedded({"config": config(), "charts": dict(specs)}),
            allowed_scripts=" ".join(_source(script) for script in scripts.values() if script) or "'none'",
            **scripts,
            **context,
        )
    )


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


def _read(name: str) -> str:
    return resources.files("sfumato.report").joinpath(FOLDER, name).read_text(encoding="utf-8")


@cache
def vega_script() -> str:
    """Return the chart library as one script that needs no network."""
    import vl_convert

    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")


def embedded(value: Any) -> str:
    """Return JSON that can stand inside a script element: no text in it can end the element."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
