"""What the site wants of Sphinx beyond its settings: the anchors of code hosts as real ids."""

from __future__ import annotations

from typing import Any

from docutils import nodes


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", add_anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_anchors(_: Any, doctree: nodes.document) -> None:
    """Give every section the id that code hosts give it, so that links from anywhere find it."""
    taken = {name for node in doctree.findall(nodes.Element) for name in node.get("ids", ())}
    for section in doctree.findall(nodes.section):
        slug = section.get("slug")
        if slug and slug not in taken:
            section["ids"].append(slug)
            taken.add(slug)
