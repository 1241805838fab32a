"""Page on an attack sweep: every attack on a method at several epsilons."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.report.charts.marks import LineMark, describe_ends, lines
from sfumato.report.charts.plane import Axis
from sfumato.report.homogeneity_page import TableBlock
from sfumato.report.page import render_page
from sfumato.risk.attacks.attack import AttackResult
from sfumato.risk.simulated.epsilon_sweep import Sweep
from sfumato.version import __version__

TEMPLATE = "sweep.html.j2"
HEADER = ("epsilon", "attack", "right", "interval", "guessing", "control", "best", "ceiling")
BEST, CEILING, GUESSING = "best of all attacks, exact", "ceiling of the guarantee", "guessing"
HEIGHT = 330
MOST_PLACES = 10
"""As many epsilons have a tick each."""
SIDE = 1.1
"""Room beside the first and the last epsilon, as a factor."""


def sweep_page(found: Sweep, draft: bool = False) -> str:
    """Return the page as HTML; ``draft`` says that the schema was not yet confirmed as public."""
    games, guesses = _split_attacks(found)
    return render_page(
        TEMPLATE,
        games_chart=_chart(found, _games(found, games)) if games else "",
        guesses_chart=_chart(found, _guesses(found, guesses)) if guesses else "",
        version=__version__,
        found=found,
        banners=_banners(found, draft),
        games=games,
        guesses=guesses,
        values=values_grid(found),
        threats=tuple(f"{attack}: the attacker {found.of(attack)[0][1].threat}." for attack in found.attacks),
        notes=tuple(dict.fromkeys(n for point in found.points for result in point.results for n in result.notes)),
    )


def values_grid(found: Sweep) -> TableBlock:
    """Return every result as a table, in per cent."""
    rows = tuple(
        (f"{point.epsilon:g}", found.short(result), *_cells(result))
        for point in found.points
        for result in point.results
    )
    return TableBlock(HEADER, rows, (0, 2, 4, 5, 6, 7))


def _cells(result: AttackResult) -> tuple[str, ...]:
    interval = f"{100 * result.interval.low:.1f} to {100 * result.interval.high:.1f}"
    beside = (result.baseline, result.control, result.optimal, result.ceiling)
    return f"{100 * result.rate:.1f}", interval, *("" if share is None else f"{100 * share:.1f}" for share in beside)


def _banners(found: Sweep, draft: bool) -> list[Banner]:
    banners = [Banner("danger", "Custodian's copy: about confidential data. Do not publish.", found.notice)]
    refuted = [point.epsilon for point in found.points if any(result.refutes_claim for result in point.results)]
    if refuted:
        named = ", ".join(f"{epsilon:g}" for epsilon in refuted)
        text = f"At epsilon {named} an attack is right more often than the guarantee allows: the noise is too small."
        banners.insert(0, Banner("danger", "The guarantee is refuted", text))
    if draft:
        banners.append(
            Banner("warning", "The schema is a draft", "Its values were learned from rows. No release may use it.")
        )
    return banners


def _split_attacks(found: Sweep) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the games between two tables, and the guesses of a value, which have no ceiling."""
    guesses = tuple(attack for attack in found.attacks if attack.startswith("Inference"))
    return tuple(attack for attack in found.attacks if attack not in guesses), guesses


def _chart(found: Sweep, items: Sequence[LineMark]) -> Markup:
    """Return points with their intervals and straight lines between them: nothing is drawn that was not computed."""
    places = sorted({point.epsilon for point in found.points})
    few = places if len(places) <= MOST_PLACES else None
    x = Axis("epsilon (log scale)", places[0] / SIDE, places[-1] * SIDE, logarithmic=True, places=few)
    lowest = min((low for line in items for low in line.low or line.y), default=0.0)
    y = Axis("right", max(0.0, min(0.45, lowest - 0.03)), 1.0, percent=True)
    return lines(items, x, y, describe_ends(items, x, y), height=HEIGHT)


def _line(found: Sweep, attack: str, name: str) -> LineMark:
    results = found.of(attack)
    within = [result.interval for _, result in results]
    low, high = [each.low for each in within], [each.high for each in within]
    return LineMark(name, [epsilon for epsilon, _ in results], [result.rate for _, result in results], low, high)


def _yardstick(name: str, shares: Sequence[tuple[float, float | None]]) -> LineMark:
    known = [(epsilon, share) for epsilon, share in shares if share is not None]
    return LineMark(name, [epsilon for epsilon, _ in known], [share for _, share in known], yardstick=True)


def _games(found: Sweep, attacks: Sequence[str]) -> list[LineMark]:
    first = found.of(attacks[0])
    return [
        *(_line(found, attack, attack) for attack in attacks),
        _yardstick(BEST, [(epsilon, r.optimal) for epsilon, r in first]),
        _yardstick(CEILING, [(epsilon, r.ceiling) for epsilon, r in first]),
        _yardstick(GUESSING, [(epsilon, r.baseline) for epsilon, r in first]),
    ]


def _guesses(found: Sweep, attacks: Sequence[str]) -> list[LineMark]:
    items: list[LineMark] = []
    for attack in attacks:
        items += [
            _line(found, attack, f"{attack}: people in the release"),
            _control(found.of(attack)),
            _yardstick("always naming the most common value", [(e, r.baseline) for e, r in found.of(attack)]),
        ]
    return items


def _control(results: Sequence[tuple[float, AttackResult]]) -> LineMark:
    """Return the same guesses about people who are not in the release."""
    known = [(epsilon, r, r.control) for epsilon, r in results if r.control is not None]
    low = [share if r.control_interval is None else r.control_interval.low for _, r, share in known]
    high = [share if r.control_interval is None else r.control_interval.high for _, r, share in known]
    return LineMark("people who are not in it", [e for e, _, _ in known], [share for _, _, share in known], low, high)
