"""What every page shares: one template for head, colours, banners and charts, and the chart library inside the file.

A page loads nothing: its scripts, styles and numbers are in it, and its content policy forbids the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import jinja2

from sfumato.report import charts
from sfumato.report.charts import Spec

FOLDER = "templates"


def render(template: str, specs: Mapping[str, Spec], **context: Any) -> str:
    """Return a page: ``template`` extends page.html.j2, and each chart stands where an element has its name as id."""
    return _environment().get_template(template).render(
        specs=embedded({"config": charts.config(), "charts": dict(specs)}),
        vega=vega_script() if specs else "",
        **context,
    )  # fmt: skip


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
