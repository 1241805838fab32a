"""The risk page of a release that exists, for the custodian's eyes alone: verdict first.

The page holds true numbers about the confidential rows, without noise. It is one file that loads nothing, and it is
written for its owner alone, never inside a bundle.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sfumato.privacy.accounting.curve import Curve
from sfumato.report.attacked.criteria import criteria
from sfumato.report.attacked.nist import Point, hazards, pyramid
from sfumato.report.attacked.rows import attack_rows, hits_chart, worst_grid
from sfumato.report.document import ReleaseDocument
from sfumato.report.page import render
from sfumato.report.private_page import free_place, save_private
from sfumato.report.words.banners import Banner
from sfumato.report.words.numbers import counted, say
from sfumato.risk.released.attacks import promised
from sfumato.risk.released.result import ReleaseAttack, ReleaseAttacks
from sfumato.schema import Schema
from sfumato.version import __version__

TEMPLATE = "attacks.html.j2"
WHAT = "the page of attacks"
TONES = {
    "nothing found": "good",
    "within its guarantee": "good",
    "cannot be told": "part",
    "exposes some people": "bad",
    "gives its people away": "bad",
    "breaks its guarantee": "bad",
}
"""How a grade is coloured; its words always stand beside the colour."""
NOBODY_KNOWS = (
    "Nobody says how these rows were made: they came as a plain file. None of the points can be answered, so that "
    "everything below rests on the attacks that were tried."
)


def attack_page(found: ReleaseAttacks) -> str:
    """Return the page: verdict, the three criteria, every attack, the worst records, pyramid and hazards."""
    curve, claim = promised(found.given)
    document = _document(found)
    schema: Schema | None = found.given.schema
    pillars, pitfalls = list[Point](), list[Point]()
    if document is not None and schema is not None:
        pillars, pitfalls = pyramid(document, schema, curve), hazards(document, schema)
    return render(
        TEMPLATE,
        version=__version__,
        found=found,
        banners=banners(found),
        tone=TONES[found.grade],
        lead=_lead(found),
        criteria=criteria(found, curve),
        attacks=attack_rows(found),
        hits=_hits(found, curve),
        claim=claim,
        worst=worst_grid(found),
        threats=_threats(found.results),
        pyramid=pillars,
        hazards=pitfalls,
        unknown=NOBODY_KNOWS,
        say=say,
    )


def _hits(found: ReleaseAttacks, curve: Curve | None) -> str:
    return "" if curve is None else hits_chart(found, curve)


def _document(found: ReleaseAttacks) -> ReleaseDocument | None:
    """Return the public document of what was attacked, if it is a release of ours."""
    if found.given.document is not None:
        return found.given.document
    return None if found.given.release is None else ReleaseDocument.from_release(found.given.release)


def banners(found: ReleaseAttacks) -> list[Banner]:
    """Return the warnings across the top."""
    text = f"Computed from {counted(found.rows, 'confidential row')} without noise, and no budget paid for it."
    shown = [Banner("danger", "Confidential: for the custodian's eyes. Do not publish.", text)]
    if found.refuted:
        named = "; ".join(each.attack for each in found.refuted)
        shown.insert(0, Banner("danger", "The guarantee is refuted", f"Better than it allows: {named}."))
    if found.holdout_rows is None:
        text = "What the release gives away about its people cannot be told from what it teaches about everybody."
        shown.append(Banner("warning", "No holdout", text))
    return shown


def _lead(found: ReleaseAttacks) -> str:
    made = "" if found.made_rows is None else f", {counted(found.made_rows, 'released row')}"
    held = "no holdout" if found.holdout_rows is None else f"a holdout of {counted(found.holdout_rows, 'row')}"
    return (
        f"{found.what[:1].upper()}{found.what[1:]}{made}, beside {counted(found.rows, 'confidential row')} and {held}. "
        f"{counted(len(found.results), 'attack')} on up to {say(found.targets)} people on each side."
    )


def _threats(results: Iterable[ReleaseAttack]) -> list[tuple[str, tuple[str, ...]]]:
    """Return who attacks, and how the numbers are to be read."""
    return [(each.attack, (f"The attacker {each.threat}.", *each.notes)) for each in results]


def save_attacks(found: ReleaseAttacks, path: str | Path) -> Path:
    """Write the page with mode 600; refuse a place inside a bundle or one that exists."""
    place = free_place(path, WHAT)
    return save_private(place, attack_page(found))
