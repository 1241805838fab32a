"""Re-identification of people who are alone in a cell: ``sfumato risk homogeneity --uniqueness``."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sfumato.cli.console import Console
from sfumato.cli.risk.games import DRAFT
from sfumato.errors import RiskError
from sfumato.privacy.exact import at_least
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.cli.risk.homogeneity import CellOptions, NoiseOptions
    from sfumato.risk.homogeneity.epsilon_search import EpsilonChoice
    from sfumato.risk.homogeneity.noise import Mechanism
    from sfumato.risk.homogeneity.uniqueness import ReidentificationRisk

NAMED = "seen with the value"
HEADER = ("epsilon", "seen", NAMED, "right", "right, known to be in")


def show_uniqueness(console: Console, cells: CellOptions, noise: NoiseOptions, target: float | None) -> None:
    """Print whether a person who is alone in a cell is seen to be alone, and rightly, against epsilon.

    Exact, from the counts of the cells of a published marginal: of the identifiers, and of the sensitive column if one
    is named.
    """
    from sfumato.risk.homogeneity.curves import check_request, stated_sensitivity
    from sfumato.risk.homogeneity.noise import Mechanism
    from sfumato.risk.homogeneity.results import evenly_spaced

    facts, grid, named = cells.facts, noise.grid, cells.named_sensitive or []
    if len(named) > 1:
        raise RiskError("--uniqueness takes one sensitive column", next_step="name one of them, or none")
    check_request(grid, noise.mechanism, {"delta": noise.delta, "rule": noise.rule})
    mechanism = Mechanism(noise.mechanism, noise.delta, noise.rule, stated_sensitivity(facts, noise.mechanism))
    choice = None if target is None else _choice(target, facts, named[0] if named else None, mechanism)
    with console.progress("counting cells"):
        risks = _risks(cells.count_source(named), cells.named_identifiers, named, grid, mechanism)
    if not facts.is_confirmed:
        console.say(f"warning: {DRAFT}", style="yellow")
    title = f"People who are alone in their cell, {noise.mechanism} noise, in per cent"
    rows = [_row(grid[i], risks[i]) for i in evenly_spaced(len(grid))]
    kept = [i for i, name in enumerate(HEADER) if named or name != NAMED]
    console.table(title, [HEADER[i] for i in kept], [[row[i] for i in kept] for row in rows])
    answers = _answers(risks[0], choice)
    for sentence in answers:
        console.say(sentence)
    console.say(cells.notice, style="yellow")
    points = [{"epsilon": epsilon, **asdict(risk)} for epsilon, risk in zip(grid, risks, strict=True)]
    stated = {"mechanism": noise.mechanism, "delta": noise.delta, "rule": mechanism.sigma_rule}
    console.print_json(
        {"notice": cells.notice, **stated, "answers": answers, "points": points, "choice": _saved(choice)}
    )


def _choice(target: float, schema: Schema, sensitive: str | None, noise: Mechanism) -> EpsilonChoice:
    from sfumato.risk.homogeneity.uniqueness import epsilon_for_uniqueness

    values = schema[sensitive].size if sensitive and sensitive in schema else 1
    return epsilon_for_uniqueness(target, values, noise.name, noise.sensitivity, delta=noise.delta, rule=noise.rule)


def _risks(
    table: Any, identifiers: list[str] | None, sensitive: list[str], grid: Sequence[float], noise: Mechanism
) -> list[ReidentificationRisk]:
    import numpy as np

    from sfumato.risk.homogeneity.cells import cell_counts
    from sfumato.risk.homogeneity.uniqueness import reidentification

    cells, empty = cell_counts(table, identifiers, sensitive)
    rows, repeats = np.unique(np.sort(cells, axis=1), axis=0, return_counts=True)
    return [reidentification(rows, noise.law(epsilon), empty, repeats) for epsilon in grid]


def _row(epsilon: float, risk: ReidentificationRisk) -> list[str]:
    return [f"{epsilon:.3g}", *(f"{100 * share:.1f}" for share in (risk.seen, risk.named, risk.right, risk.known))]


def _answers(risk: ReidentificationRisk, choice: EpsilonChoice | None) -> list[str]:
    return [
        f"{risk.alone:,.0f} people are alone in their cell, {100 * risk.baseline:.3g} % of all: the certainty of a "
        "neighbour who knows that the person is in the table, without any release.",
        "Seen: the chance that the noisy counts show one person in the cell of somebody who is alone; it depends on "
        "epsilon and the number of values only. Right: of the cells shown with one person, the share that hold one.",
        *([] if choice is None else [_answer(choice)]),
    ]


def _answer(choice: EpsilonChoice) -> str:

    if choice.safe is None:
        what = f"No epsilon keeps the chance of being seen at {choice.target:g}"
        return f"{what}: even pure noise gives {choice.floor:.4g}."
    end = "every epsilon" if math.isinf(choice.safe[1]) else f"every epsilon up to {at_least(choice.safe[1], 4)}"
    return f"Somebody who is alone is seen with a chance of {choice.target:g} or less at {end}."


def _saved(choice: EpsilonChoice | None) -> Any:
    from sfumato.risk.homogeneity.results import EpsilonChoiceRecord

    return None if choice is None else json.loads(EpsilonChoiceRecord.of(choice).model_dump_json())
