"""One self-contained page: every attack on a method against epsilon, beside guessing, best attack and ceiling."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.report.card import Banner
from sfumato.report.charts.look import Spec
from sfumato.report.charts.sweep import Dot, Track, dotted_lines
from sfumato.report.page import render
from sfumato.report.risk_page import Grid
from sfumato.risk.attack import AttackResult
from sfumato.risk.sweep import Sweep
from sfumato.version import __version__

TEMPLATE = "sweep.html.j2"
HEADER = ("epsilon", "attack", "right", "interval", "guessing", "control", "best", "ceiling")
BEST, CEILING, GUESSING = "best of all attacks, exact", "ceiling of the guarantee", "guessing"


def sweep_page(found: Sweep, draft: bool = False) -> str:
    """Return the page as HTML; ``draft`` says that the schema was not yet confirmed as public."""
    games, guesses = _kinds(found)
    specs: dict[str, Spec] = {}
    if games:
        specs["chart-games"] = dotted_lines(_games(found, games), "epsilon", "right")
    if guesses:
        specs["chart-guesses"] = dotted_lines(_guesses(found, guesses), "epsilon", "right")
    return render(
        TEMPLATE,
        specs,
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


def _track(found: Sweep, attack: str) -> Track:
    dots = [Dot(epsilon, r.rate, r.interval.low, r.interval.high) for epsilon, r in found.of(attack)]
    return Track(attack, dots)


def _yardstick(name: str, shares: Sequence[tuple[float, float | None]]) -> Track:
    return Track(name, [Dot(epsilon, share) for epsilon, share in shares if share is not None], yardstick=True)


def _games(found: Sweep, attacks: Sequence[str]) -> list[Track]:
    first = found.of(attacks[0])
    return [
        *(_track(found, attack) for attack in attacks),
        _yardstick(BEST, [(epsilon, r.optimal) for epsilon, r in first]),
        _yardstick(CEILING, [(epsilon, r.ceiling) for epsilon, r in first]),
        _yardstick(GUESSING, [(epsilon, r.baseline) for epsilon, r in first]),
    ]


def _guesses(found: Sweep, attacks: Sequence[str]) -> list[Track]:
    tracks: list[Track] = []
    for attack in attacks:
        results = found.of(attack)
        members = _track(found, attack)
        tracks += [
            Track(f"{attack}: people in the release", members.dots),
            Track("people who are not in it", [_control(e, r) for e, r in results if r.control is not None]),
            _yardstick("always naming the most common value", [(e, r.baseline) for e, r in results]),
        ]
    return tracks


def _control(epsilon: float, result: AttackResult) -> Dot:
    within = result.control_interval
    return Dot(epsilon, result.control or 0.0, within and within.low, within and within.high)
