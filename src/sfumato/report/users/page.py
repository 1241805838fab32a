"""README.html: a guide as a page of the common design."""

from __future__ import annotations

from sfumato.report.page import render
from sfumato.report.users.parts import Guide
from sfumato.report.users.subject import Subject


def page(guide: Guide, subject: Subject) -> str:
    """Return the page; nothing in it is drawn, so that it opens everywhere."""
    return render(
        "users.html.j2",
        version=subject.document.versions["sfumato"],
        document=subject.document,
        guide=guide,
        banners=guide.banners,
    )
