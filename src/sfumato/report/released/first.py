"""The first screen: what this is, what it may be used for, how good it is, what is promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.report.document import ReleaseDocument
from sfumato.report.foretold import foretold
from sfumato.report.words.bought import bought
from sfumato.report.words.good import UNKNOWN, how_good
from sfumato.report.words.main_numbers import sure
from sfumato.report.words.promise import promise
from sfumato.report.words.released import explained, headline
from sfumato.report.words.uses import uses
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.quality.document import QualityDocument


def first_screen(
    document: ReleaseDocument, schema: Schema, statements: Sequence[QualityDocument] = ()
) -> dict[str, Any]:
    """Return what released_first.html.j2 shows."""
    forecast = foretold(document, schema)
    return {
        "headline": headline(document),
        "explained": explained(document, schema),
        "uses": uses(document, forecast),
        "good": how_good(forecast),
        "unknown": UNKNOWN,
        "bought": [bought(statement) for statement in statements],
        "promise": promise(document),
        "sure": sure(document, schema),
    }
