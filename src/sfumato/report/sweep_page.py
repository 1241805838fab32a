"""Page on an attack sweep: every attack on a method at several epsilons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.report.blocks import ChartBlock, Page, Paragraphs, Section, TableBlock
from sfumato.report.charts.axis import Axis
from sfumato.report.charts.marks import LineMark, describe_ends, lines
from sfumato.report.page import to_html
from sfumato.report.texts import Texts
from sfumato.risk.attacks.attack import AttackResult
from sfumato.risk.simulated.epsilon_sweep import Sweep
from sfumato.version import __version__

say = Texts("risk_pages")
HEADER = ("epsilon", "attack", "right", "interval", "guessing", "control", "best", "ceiling")
BEST, CEILING, GUESSING = "best of all attacks, exact", "ceiling of the guarantee", "guessing"
HEIGHT = 330
MOST_PLACES = 10
"""As many epsilons have a tick each."""
SIDE = 1.1
"""Room beside the first and the last epsilon, as a factor."""


def sweep_page(sweep: Sweep, draft: bool = False) -> str:
    """Return the page as HTML; ``draft`` says that the schema was not yet confirmed as public."""
    page = Page(
        sweep.table,
        f"What attackers get out of {sweep.method} at {len(sweep.points)} epsilons, and what no attacker can exceed.",
        tuple(_banners(sweep, draft)),
        tuple(_sections(sweep)),
        kicker="Sfumato attacks, custodian's copy",
        footer=f"Attacks on {sweep.method} of table {sweep.table}. sfumato {__version__}.",
        tab=f"{sweep.table}: attacks on {sweep.method} against epsilon",
    )
    return to_html(page)


def _sections(sweep: Sweep) -> Iterator[Section]:
    games, guesses = _split_attacks(sweep)
    if games:
        chart = ChartBlock("", (say("sweep.games", level=sweep.level),), _chart(_games(sweep, games)))
        yield Section("games", "Which of two tables was released", (chart,), "Two tables")
    if guesses:
        chart = ChartBlock("", (say("sweep.guesses"),), _chart(_guesses(sweep, guesses)))
        yield Section("guesses", "A person's sensitive value", (chart,), "Sensitive value")
    yield Section("values", "Table of values, in per cent", (values_grid(sweep),), "Values")
    threats = (f"{attack}: the attacker {sweep.of(attack)[0][1].threat}." for attack in sweep.attacks)
    notes = dict.fromkeys(note for point in sweep.points for result in point.results for note in result.notes)
    words = Paragraphs((*threats, *sweep.left_out, *notes))
    yield Section("attackers", "Who attacks, and what was left out", (words,), "Attackers")


def values_grid(sweep: Sweep) -> TableBlock:
    """Return every result as a table, in per cent."""
    rows = tuple(
        (f"{point.epsilon:g}", sweep.short(result), *_cells(result))
        for point in sweep.points
        for result in point.results
    )
    return TableBlock(HEADER, rows, (0, 2, 4, 5, 6, 7))


def _cells(result: AttackResult) -> tuple[str, ...]:
    interval = f"{100 * result.interval.low:.1f} to {100 * result.interval.high:.1f}"
    beside = (result.baseline, result.control, result.optimal, result.ceiling)
    return f"{100 * result.rate:.1f}", interval, *("" if share is None else f"{100 * share:.1f}" for share in beside)


def _banners(sweep: Sweep, draft: bool) -> list[Banner]:
    banners = [Banner("danger", "Custodian's copy: about confidential data. Do not publish.", sweep.notice)]
    refuted = [point.epsilon for point in sweep.points if any(result.refutes_claim for result in point.results)]
    if refuted:
        named = ", ".join(f"{epsilon:g}" for epsilon in refuted)
        text = f"At epsilon {named} an attack is right more often than the guarantee allows: the noise is too small."
        banners.insert(0, Banner("danger", "The guarantee is refuted", text))
    if draft:
        banners.append(
            Banner("warning", "The schema is a draft", "Its values were learned from rows. No release may use it.")
        )
    return banners


def _split_attacks(sweep: Sweep) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the games between two tables, and the guesses of a value, which have no ceiling."""
    guesses = tuple(attack for attack in sweep.attacks if attack.startswith("Inference"))
    return tuple(attack for attack in sweep.attacks if attack not in guesses), guesses


def _chart(items: Sequence[LineMark]) -> Markup:
    """Return points with their intervals and straight lines between them: nothing is drawn that was not computed."""
    places = sorted({epsilon for line in items for epsilon in line.x})
    few = places if len(places) <= MOST_PLACES else None
    x = Axis("epsilon (log scale)", places[0] / SIDE, places[-1] * SIDE, logarithmic=True, places=few)
    lowest = min((low for line in items for low in line.low or line.y), default=0.0)
    y = Axis("right", max(0.0, min(0.45, lowest - 0.03)), 1.0, percent=True)
    return lines(items, x, y, describe_ends(items, x, y), height=HEIGHT)


def _line(sweep: Sweep, attack: str, name: str) -> LineMark:
    results = sweep.of(attack)
    within = [result.interval for _, result in results]
    low, high = [each.low for each in within], [each.high for each in within]
    return LineMark(name, [epsilon for epsilon, _ in results], [result.rate for _, result in results], low, high)


def _yardstick(name: str, shares: Sequence[tuple[float, float | None]]) -> LineMark:
    known = [(epsilon, share) for epsilon, share in shares if share is not None]
    return LineMark(name, [epsilon for epsilon, _ in known], [share for _, share in known], yardstick=True)


def _games(sweep: Sweep, attacks: Sequence[str]) -> list[LineMark]:
    first = sweep.of(attacks[0])
    return [
        *(_line(sweep, attack, attack) for attack in attacks),
        _yardstick(BEST, [(epsilon, r.optimal) for epsilon, r in first]),
        _yardstick(CEILING, [(epsilon, r.ceiling) for epsilon, r in first]),
        _yardstick(GUESSING, [(epsilon, r.baseline) for epsilon, r in first]),
    ]


def _guesses(sweep: Sweep, attacks: Sequence[str]) -> list[LineMark]:
    items: list[LineMark] = []
    for attack in attacks:
        items += [
            _line(sweep, attack, f"{attack}: people in the release"),
            _control(sweep.of(attack)),
            _yardstick("always naming the most common value", [(e, r.baseline) for e, r in sweep.of(attack)]),
        ]
    return items


def _control(results: Sequence[tuple[float, AttackResult]]) -> LineMark:
    """Return the same guesses about people who are not in the release."""
    known = [(epsilon, r, r.control) for epsilon, r in results if r.control is not None]
    low = [share if r.control_interval is None else r.control_interval.low for _, r, share in known]
    high = [share if r.control_interval is None else r.control_interval.high for _, r, share in known]
    return LineMark("people who are not in it", [e for e, _, _ in known], [share for _, _, share in known], low, high)
