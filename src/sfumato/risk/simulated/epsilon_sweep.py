"""Run every applicable attack against a method at several epsilons.

>>> import sfumato
>>> from sfumato.example import codebook, households
>>> table = sfumato.read(households(rows=200), codebook())
>>> found = epsilon_sweep(table, sfumato.Histogram("age", epsilon=1), [0.5, 4], trials=200, seed=1)
>>> [f"{point.epsilon:g}: {point.results[0].optimal:.3f}" for point in found.points]
['0.5: 0.622', '4: 0.982']
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from sfumato.core.method import Method, parameters_of
from sfumato.errors import PlanError, RiskError
from sfumato.formatting import percent_fixed
from sfumato.metrics.confidence import LEVEL, FrozenModel
from sfumato.metrics.rows_view import Observes
from sfumato.privacy.exact import Number, to_fraction
from sfumato.risk.attacks.attack import AttackResult
from sfumato.risk.attacks.attribute_inference import MOST_TARGETS, AttributeInference, known_and_sensitive
from sfumato.risk.attacks.linkage import FreshReferenceLinkage
from sfumato.risk.attacks.registry import simulated_attacks
from sfumato.risk.simulated.membership_game import membership_game, run_attacks
from sfumato.schema import Schema
from sfumato.table import Table

NOTICE = (
    "Every number here is about the private rows: for the custodian's eyes. Nothing was released or spent. Choosing "
    "epsilon by them is a query that no budget pays for: decide on a pilot, or say so in the guarantee."
)
MOST_RESULTS = 6
"""Intervals at one epsilon: three attacks on membership, one on linkage, and inference for members and for others."""


class SweepPoint(FrozenModel):
    """Every attack at one epsilon."""

    epsilon: float
    results: tuple[AttackResult, ...]


class Sweep(FrozenModel):
    """Attacks on one method against epsilon, and why an attack was left out."""

    table: str
    method: str
    points: tuple[SweepPoint, ...]
    left_out: tuple[str, ...] = ()
    level: float = LEVEL
    """Probability with which the intervals of all points hold together."""
    notice: str = NOTICE

    @property
    def attacks(self) -> tuple[str, ...]:
        """The attacks in the order in which they were run, each once."""
        named = (self.short(result) for point in self.points for result in point.results)
        return tuple(dict.fromkeys(named))

    def of(self, attack: str) -> tuple[tuple[float, AttackResult], ...]:
        """Return one attack's results against epsilon."""
        return tuple((p.epsilon, r) for p in self.points for r in p.results if self.short(r) == attack)

    def short(self, result: AttackResult) -> str:
        """Return the name of an attack without the method it was run against."""
        return result.attack.removesuffix(f", against {self.method}")

    def statement(self) -> str:
        """Return the results in plain words, an attack a line."""
        lines = [f"{attack}: {self._rates(attack)}" for attack in self.attacks]
        return "\n".join([*lines, *self.left_out, self.notice])

    def _rates(self, attack: str) -> str:
        found = self.of(attack)
        shown = ", ".join(f"{percent_fixed(result.rate)} at epsilon {epsilon:g}" for epsilon, result in found)
        return f"right in {shown}; guessing {100 * found[0][1].baseline:.1f} %"


def epsilon_sweep(
    table: Table,
    method: Method,
    epsilons: Sequence[Number],
    *,
    known: Sequence[str] | None = None,
    sensitive: str | None = None,
    learner: str = "nearest",
    references: int = 1,
    target: int | None = None,
    rows: int | None = None,
    sees: Observes = "values",
    trials: int | None = None,
    seed: int | None = None,
    level: float = LEVEL,
) -> Sweep:
    """Attack what a method would release at each of several epsilons: membership, linkage and attribute inference.

    ``method`` is an instance; its own epsilon is replaced. The target is the same person throughout. Inference needs
    to know what the attacker knows and wants: ``known`` and ``sensitive``, or else the schema's quasi-identifiers and
    its one sensitive column; where neither says it, that attack is left out and the result says so. The intervals hold
    for all points together with probability ``level``, so that many points do not refute a guarantee by chance. Nothing
    is released or recorded.
    """
    values = _sound(epsilons)
    each = _each(level, len(values))
    methods = [_at(method, value) for value in values]
    attack, why = _inference(table.schema, known, sensitive, learner, sees)
    linkage, left_out = FreshReferenceLinkage(references), dict.fromkeys(why)
    points: list[SweepPoint] = []
    for value, made in zip(values, methods, strict=True):
        played = membership_game(table, made, target, rows=rows, sees=sees)
        attacks = [*simulated_attacks(played, "membership"), linkage]
        results = run_attacks(played, attacks, trials, seed, each, f"epsilon {value:g}, about")
        if attack is not None:
            results += _inference_result(attack, table, made, rows, seed, each, left_out)
        points.append(SweepPoint(epsilon=value, results=tuple(results)))
    return Sweep(
        table=table.schema.name, method=method.name, points=tuple(points), left_out=tuple(left_out), level=level
    )


def _each(level: float, epsilons: int) -> float:
    """Return the level of one interval at which all of them hold together (Bonferroni)."""
    if not 0 < level < 1:
        raise RiskError(f"level must lie between 0 and 1, found {level!r}", next_step="use level=0.95")
    return 1 - (1 - level) / (epsilons * MOST_RESULTS)


def _sound(epsilons: Sequence[Number]) -> tuple[float, ...]:
    """Return the epsilons in order, each once; refuse what is none, all of it at once."""
    values, problems = set[float](), list[str]()
    for given in epsilons:
        try:
            value = float(to_fraction(given, "epsilon"))
        except PlanError as error:
            problems.append(error.headline)
            continue
        if value > 0 and math.isfinite(value):
            values.add(value)
        else:
            problems.append(f"epsilon must be above 0, found {given}")
    if problems or not values:
        raise RiskError(
            "these are no epsilons to sweep over", problems or ["none is given"], "give for example 0.5,1,2,4"
        )
    return tuple(sorted(values))


def _at(method: Method, epsilon: float) -> Method:
    if "epsilon" not in parameters_of(method):
        raise RiskError(
            f"{method.name} has no epsilon, so that there is nothing to sweep over",
            next_step="attack it once: sfumato risk membership, linkage and inference",
        )
    return dataclasses.replace(method, epsilon=epsilon)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]


def _inference(
    schema: Schema, known: Sequence[str] | None, sensitive: str | None, learner: str, sees: Observes
) -> tuple[AttributeInference | None, list[str]]:
    """Return the attack on a sensitive value, or why it is left out; what was named wrongly is refused."""
    try:
        columns = known_and_sensitive(schema, known, sensitive)
    except RiskError as error:
        if known or sensitive:
            raise
        why = "; ".join([error.headline, *error.problems])
        return None, [f"Inference is left out: {why} ({error.next_step})."]
    return AttributeInference(*columns, learner, sees), []


def _inference_result(
    attack: AttributeInference,
    table: Table,
    method: Method,
    rows: int | None,
    seed: int | None,
    level: float,
    left_out: dict[str, None],
) -> list[AttackResult]:
    """Return the inference attack's result; a release that shows nothing of the sensitive column is no problem."""
    if method.makes == "values":
        left_out[f"Inference is left out: {method.name} releases numbers, not rows or counts."] = None
        return []
    try:
        return [attack.against(table, method, rows=rows, trials=MOST_TARGETS, seed=seed, level=level)]
    except RiskError as error:
        left_out[f"Inference is left out: {error.headline}."] = None
        return []
