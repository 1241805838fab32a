"""Find the parameter values that meet a target, and state the cost of the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.method import Method
from sfumato.core.release import LedgerChoice
from sfumato.evaluate.calibrate.private_selection import select_privately
from sfumato.evaluate.calibrate.proved_ceilings import calibrate_ceiling
from sfumato.evaluate.calibrate.result import (
    Calibration,
    Charge,
    Cost,
    Point,
    Prefer,
    choice_of,
    intervals_of,
    is_monotone,
)
from sfumato.evaluate.calibrate.search import (
    BETA,
    LEVEL,
    MOST_POINTS,
    REPEATS,
    SCORE_EPSILON,
    CalibrationRequest,
    Curve,
    bisect,
)
from sfumato.evaluate.calibrate.target import Target
from sfumato.privacy.exact import Number, at_most, format_fraction, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.table import Table

DRAFT = "The schema is a draft: no release may use it before it is confirmed."


def calibrate(
    method: Method,
    target: str | Target,
    table: Table | None = None,
    pilot: Table | None = None,
    *,
    grid: Sequence[float] | None = None,
    bisection: bool | tuple[float, float] = False,
    repeats: int = REPEATS,
    cost: Cost | None = None,
    parameter: str = "epsilon",
    prefer: Prefer | None = None,
    level: float = LEVEL,
    rows: int | None = None,
    seed: int | None = None,
    ledger: LedgerChoice = None,
    score_epsilon: Number = SCORE_EPSILON,
    beta: float = BETA,
    options: Mapping[str, Any] | None = None,
    allow_weak: bool = False,
    schema: Schema | None = None,
) -> Calibration:
    """Find the values of a parameter at which a method meets a target, and say what the search itself costs.

    ``method`` is an instance; its own value of ``parameter`` is replaced. ``target`` is an expression over a metric:
    ``"tvd_2_q16 <= 0.05"``; ``options`` are those of the metric, such as ``{"clusters": 4}``. The values are those of a
    ``grid``, or found by ``bisection`` (true, or a range). At each value the method runs ``repeats`` times, and a value
    meets the target if the worse end of the interval of the mean does; all intervals hold together with probability
    ``level``. By utility the smallest value is chosen, by risk the largest, unless ``prefer`` says.

    ``cost`` says what the search may see. "pilot" (with ``pilot=``): a public or simulated table, nothing private.
    "declared" (with ``table=``): the private table, uncharged; the result says so in words for the guarantee.
    "private": the selection is charged, by the ladder of :mod:`sfumato.evaluate.calibrate.private_selection`;
    candidates are released
    and recorded one by one, and the one that is kept comes with the result. It states the cost of the whole ladder,
    which is refused above epsilon 20 or delta 0.1 unless ``allow_weak`` says that it is wanted.

    Ceilings on risk, ``"advantage <= 0.2"``, ``"hits <= 0.05 at 0.01"`` and ``"success <= 0.2 at 0.1"``, follow from
    the proved curve (:mod:`sfumato.evaluate.calibrate.proved_ceilings`): they take a ``schema`` or a table, of which
    only the schema is read, or for AIM and MST neither. Nothing is run, spent or recorded ("public").
    """
    searched = (grid, bisection, repeats, cost, parameter, prefer, level, rows, seed, dict(options or {}))
    charged = (ledger, score_epsilon, beta, allow_weak)
    request = CalibrationRequest(method, Target.parse(target), table, pilot, *searched, *charged, schema)
    if request.target.metric.proved:
        return _proved(request)
    request.require_sound()
    return _private_selection(request) if request.how == "private" else _simulate(request)


def _proved(request: CalibrationRequest) -> Calibration:
    request.require_public()
    table = request.pilot if request.pilot is not None else request.table
    return calibrate_ceiling(
        request.method,
        request.target,
        request.schema if table is None else table.schema,
        parameter=request.parameter,
        grid=None if request.grid is None else request.values,
        within=None if isinstance(request.bisection, bool) else request.bisection,
        rows=request.rows,
    )


def _simulate(request: CalibrationRequest) -> Calibration:
    table = request.searched
    table.require_valid()
    curve = Curve(request, request.repeats, len(request.values) if request.bisection is False else MOST_POINTS)
    if request.bisection is False:
        for value in request.values:
            curve.at(value)
    else:
        bisect(curve, *request.values)
    notes = () if table.schema.is_confirmed else (DRAFT,)
    return _result(request, curve.sorted(), _assumption(request), notes)


def _private_selection(request: CalibrationRequest) -> Calibration:
    selection = select_privately(request)
    words = _charged_assumption(request, selection.charge)
    result = _result(request, selection.points, words, selection.notes)
    more = {"search": "ladder", "charge": selection.charge, "release": selection.release, "prefer": "smallest"}
    return result.model_copy(update=more)


def _result(
    request: CalibrationRequest, points: tuple[Point, ...], assumption: str, notes: tuple[str, ...]
) -> Calibration:
    intervals, target = intervals_of(points), request.target
    return Calibration(
        method=request.method.name,
        table=request.searched.schema.name,
        parameter=request.parameter,
        **target.facts(),
        prefer=request.prefer,
        search="grid" if request.bisection is False else "bisection",
        points=points,
        intervals=intervals,
        chosen=choice_of(intervals, request.prefer),
        monotone=is_monotone(points),
        level=request.level,
        cost=request.how,
        private_data_used=request.how != "pilot",
        assumption=assumption,
        randomness=Randomness.of(request.seed).mode,
        options=request.options,
        notes=(*notes, *([target.metric.warning] if target.metric.warning else [])),
    )


def _assumption(request: CalibrationRequest) -> str:
    name, parameter = request.searched.schema.name, request.parameter
    if request.how == "pilot":
        return (
            f"{parameter} was chosen on a pilot table with the schema {name!r}, which is public or simulated; "
            "the table that is released was not looked at"
        )
    return (
        f"{parameter} was chosen by looking at the private table {name!r} ({request.target}), and this choice was not "
        "charged: the guarantee is that of a value fixed beforehand, and does not cover what the choice itself gives "
        "away"
    )


def _charged_assumption(request: CalibrationRequest, charge: Charge) -> str:
    delta = f", delta {at_most(charge.delta, 3)}" if to_fraction(charge.delta) else ""
    where = "recorded in the ledger" if charge.recorded else "recorded nowhere, as no ledger was given"
    return (
        f"{request.parameter} was chosen on the private table {request.searched.schema.name!r} by a charged selection "
        f"({request.target}): {charge.candidates_run} of {charge.candidates} candidate releases with their scores cost "
        f"epsilon {format_fraction(to_fraction(charge.epsilon))}{delta} together, {where}; the guarantee of a kept "
        f"release is that of the whole ladder, epsilon {format_fraction(to_fraction(charge.most_epsilon))}"
    )
