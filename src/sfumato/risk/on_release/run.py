"""Run every applicable attack on an existing release and judge all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.argument_errors import checked_arguments
from sfumato.errors import RiskError
from sfumato.formatting import percent, percent_fixed
from sfumato.metrics.confidence import LEVEL
from sfumato.metrics.evaluation_input import EvaluationInput
from sfumato.privacy.exact import at_most, format_fraction
from sfumato.progress import report_progress
from sfumato.risk.attacks.attack import AttackAttempt, AttackOptions, Attempts, check_trials
from sfumato.risk.attacks.registry import ON_RELEASE
from sfumato.risk.on_release.people import AttackTargets, read_attack_targets
from sfumato.risk.on_release.result import ReleaseAttackReport, judge_attacks, strongest_of, verdict_of
from sfumato.risk.simulated.membership_game import seeded_stream
from sfumato.schema import Schema

TARGETS = 1000
"""People who are attacked on each side, and predicates that are tried, by default."""
NO_HOLDOUT = (
    "No holdout was given. After a release nobody can hold rows back any more: all of them had a part in it. What "
    "remains are attacks beside what is reached without the release. Give rows of the same population that were not in "
    "the table, or hold some back before the next release."
)
NO_ROWS = "Linkage and nearness: left out, as the release has no rows."
NO_MEMBERSHIP = "Membership, and the distance to the closest record: left out, as they need people who are not in it."


@checked_arguments
def attack_release(
    released: Any,
    table: Any,
    holdout: Any = None,
    secret: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    parts: tuple[Sequence[str], Sequence[str]] | None = None,
    targets: int = TARGETS,
    shadows: int | None = None,
    seed: int = 0,
    level: float = LEVEL,
    schema: Schema | str | Path | None = None,
) -> ReleaseAttackReport:
    """Attack what was released: membership, singling out, linkage, attribute inference, nearness. For the custodian.

    ``released`` is a release, the folder of a bundle, or any rows (a frame, a file) with the columns of the table.
    ``table`` is the confidential table, ``holdout`` rows of the same population that had no part in the release: the
    control of every attack. ``secret`` are the columns to be guessed (the sensitive ones, or some, by default), from
    ``known`` (the quasi-identifiers, or all others); ``parts`` what two files hold that are joined through the release.
    At most ``targets`` people are attacked on each side. ``shadows`` is how often the method is run on people of the
    holdout; as often as fits into a minute by default. All intervals hold together with probability ``level``.
    """
    check_trials(targets, level)
    seeded_stream(seed)
    report_progress("reading")
    what = read_attack_targets(released, table, holdout, schema, targets, seed)
    tried, left_out = _attempts(what, AttackOptions(secret, known, parts, shadows))
    curve, claim = guarantee_curve(what.was)
    results = judge_attacks(tried, curve, claim, level)
    grade, verdict = verdict_of(results, what.held is not None, curve is not None, targets)
    strongest = strongest_of(results)
    return ReleaseAttackReport(
        table=what.schema.name,
        what=_release_text(what.was),
        rows=len(what.true),
        made_rows=None if what.made is None else len(what.made),
        holdout_rows=None if what.held is None else len(what.held),
        results=results,
        left_out=tuple(left_out),
        grade=grade,
        verdict=verdict,
        strongest=None if strongest is None else strongest.attack,
        advantage_low=0.0 if strongest is None else strongest.gain_low,
        targets=targets,
        level=level,
        notes=(
            *what.notes,
            *([NO_HOLDOUT.removesuffix(".")] if what.held is None else []),
            _simultaneity_note(results, level),
        ),
        given=what.was,
    )


def guarantee_curve(was: EvaluationInput) -> tuple[Any, str]:
    """Return the curve of the guarantee and the guarantee in a few words; nothing where none is formal."""
    promise = was.guarantee
    if promise is None or not promise.formal:
        return None, ""
    delta = f", delta {at_most(promise.exact_delta, 3)}" if promise.exact_delta else ""
    return promise.resting_on(
        was.events
    ).curve, f"epsilon {format_fraction(promise.exact_epsilon)}{delta}, its whole curve"


def _attempts(targets: AttackTargets, options: AttackOptions) -> Attempts:
    """Run every attack that reads such a release; return what was tried, and what was left out and why."""
    reads = "counts" if targets.made is None else "rows"
    if reads == "counts" and not targets.was.tables:
        raise RiskError("the release holds no table", next_step="attack a release with counts or rows")
    tried: list[AttackAttempt] = []
    left_out = [NO_ROWS] if reads == "counts" else [NO_MEMBERSHIP] if targets.held is None else []
    for attack in ON_RELEASE:
        if reads in attack.reads:
            report_progress(attack.name)
            attempts, why = attack.attempt(targets, options)
            tried += attempts
            left_out += why
    return tried, left_out


def _release_text(was: EvaluationInput) -> str:
    if was.method is None:
        return "somebody's synthetic rows" if was.guarantee is None else "a release"
    return f"{was.makes} by {was.method.name}"


def _simultaneity_note(results: Sequence[Any], level: float) -> str:
    each = 1 - (1 - level) / (2 * max(len(results), 1))
    return (
        f"attacks tried: {len(results)}. Each interval is taken at {percent_fixed(each, 2)}, so that all hold together "
        f"with {percent(level, 6)}, and an attack is said to work only after Holm's correction for all of them"
    )
