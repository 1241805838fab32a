"""One self-contained page: every attack on a method against epsilon, beside guessing, best attack and ceiling."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from sfumato.report.charts.lines import Line, ends_in_words, lines
from sfumato.report.charts.plane import Axis
from sfumato.report.page import render
from sfumato.report.risk_page import Grid
from sfumato.report.words.banners import Banner
from sfumato.risk.attack import AttackResult
from sfumato.risk.sweep import Sweep
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
    games, guesses = _kinds(found)
    return render(
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


def values_grid(found: Sweep) -> Grid:
    """Return every result as a table, in per cent."""
    rows = tuple(
        (f"{point.epsilon:g}", found.short(result), *_cells(result))
        for point in found.points
        for result in point.results
    )
    return Grid(HEADER, rows, (0, 2, 4, 5, 6, 7))


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


def _kinds(found: Sweep) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the games between two tables, and the guesses of a value, which have no ceiling."""
    guesses = tuple(attack for attack in found.attacks if attack.startswith("Inference"))
    return tuple(attack for attack in found.attacks if attack not in guesses), guesses


def _chart(found: Sweep, items: Sequence[Line]) -> Markup:
    """Return points with their intervals and straight lines between them: nothing is drawn that was not computed."""
    places = sorted({point.epsilon for point in found.points})
    few = places if len(places) <= MOST_PLACES else None
    x = Axis("epsilon (log scale)", places[0] / SIDE, places[-1] * SIDE, logarithmic=True, places=few)
    lowest = min((low for line in items for low in line.low or line.y), default=0.0)
    y = Axis("right", max(0.0, min(0.45, lowest - 0.03)), 1.0, percent=True)
    return lines(items, x, y, ends_in_words(items, x, y), height=HEIGHT)


def _line(found: Sweep, attack: str, name: str) -> Line:
    results = found.of(attack)
    within = [result.interval for _, result in results]
    low, high = [each.low for each in within], [each.high for each in within]
    return Line(name, [epsilon for epsilon, _ in results], [result.rate for _, result in results], low, high)


def _yardstick(name: str, shares: Sequence[tuple[float, float | None]]) -> Line:
    known = [(epsilon, share) for epsilon, share in shares if share is not None]
    return Line(name, [epsilon for epsilon, _ in known], [share for _, share in known], yardstick=True)


def _games(found: Sweep, attacks: Sequence[str]) -> list[Line]:
    first = found.of(attacks[0])
    return [
        *(_line(found, attack, attack) for attack in attacks),
        _yardstick(BEST, [(epsilon, r.optimal) for epsilon, r in first]),
        _yardstick(CEILING, [(epsilon, r.ceiling) for epsilon, r in first]),
        _yardstick(GUESSING, [(epsilon, r.baseline) for epsilon, r in first]),
    ]


def _guesses(found: Sweep, attacks: Sequence[str]) -> list[Line]:
    items: list[Line] = []
    for attack in attacks:
        items += [
            _line(found, attack, f"{attack}: people in the release"),
            _control(found.of(attack)),
            _yardstick("always naming the most common value", [(e, r.baseline) for e, r in found.of(attack)]),
        ]
    return items


def _control(results: Sequence[tuple[float, AttackResult]]) -> Line:
    """Return the same guesses about people who are not in the release."""
    known = [(epsilon, r, r.control) for epsilon, r in results if r.control is not None]
    low = [share if r.control_interval is None else r.control_interval.low for _, r, share in known]
    high = [share if r.control_interval is None else r.control_interval.high for _, r, share in known]
    return Line("people who are not in it", [e for e, _, _ in known], [share for _, _, share in known], low, high)
