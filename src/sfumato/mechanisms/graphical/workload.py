"""Workload: which marginals to preserve, and the candidates it implies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, combinations, islice
from math import comb
from typing import Any, cast

import numpy as np

from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.privacy.exact import shorten_for_message, to_fraction, to_positive_fraction

MOST_CANDIDATES = 20_000
"""Tables that a workload of sets may ask for, and pairs that AIM offers."""
MOST_PAIRS = 2_001_000
"""Tables of one and two columns that are weighed where every pair is asked for: those of 2,000 columns."""
MOST_LARGER = 1500
"""Sets of three and four columns that are looked at unless a workload asks for them: each look takes time."""
WHOLE = 1000
"""Weights are whole multiples of 1/WHOLE of the largest, so that scores stay whole numbers."""
LARGEST_SET = 4
NAMES = ("auto", "2-way", "3-way")


def check_workload(workload: Any) -> Any:
    """Return a name of a workload, or pairs of a column set and its weight; refuse what is neither, all at once.

    >>> check_workload({("age", "sex"): 2})
    ((('age', 'sex'), 2),)
    """
    if isinstance(workload, str):
        if workload in NAMES:
            return workload
        raise PlanError(f"workload {workload!r} is unknown", next_step=f"use one of {', '.join(NAMES)}, or column sets")
    pairs = _pairs(workload)
    problems = [problem for names, weight in pairs for problem in _problems(names, weight)]
    if not problems and len({frozenset(names) for names, _ in pairs}) < len(pairs):
        problems = ["a column set is listed twice"]
    if problems or not pairs:
        raise _refused(problems or ["it is empty"], "give sets of column names, such as [['age', 'sex']]")
    return tuple((tuple(names), weight) for names, weight in pairs)


def _pairs(workload: Any) -> list[tuple[Any, Any]]:
    """Return every set with its weight, 1 by default, whatever they are."""
    if isinstance(workload, Mapping):
        return list(cast(Mapping[Any, Any], workload).items())
    if not isinstance(workload, Iterable):
        return [(workload, 1)]
    return [item if _is_pair(item) else (item, 1) for item in cast(Iterable[Any], workload)]


def _is_pair(item: Any) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], list | tuple)  # pyright: ignore[reportUnknownArgumentType]


def _problems(names: Any, weight: Any) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        return [f"{shorten_for_message(names)} is not a list of column names"]
    listed = [str(name) for name in cast(Iterable[Any], names)]
    label = " x ".join(listed) or "an empty set"
    shape = (
        []
        if 1 <= len(set(listed)) == len(listed) <= LARGEST_SET
        else [f"{label}: name 1 to {LARGEST_SET} columns, each once"]
    )
    try:
        to_positive_fraction(weight, "the weight")
    except PlanError as error:
        return [*shape, f"{label}: {error.headline}"]
    return shape


def _refused(problems: Sequence[str], next_step: str) -> PlanError:
    return PlanError("the workload cannot be kept", list(dict.fromkeys(problems)), next_step)


def compile_workload(workload: Any, names: Sequence[str], targets: Sequence[str] = ()) -> dict[Clique, int]:
    """Return the column sets that may be measured, with whole weights.

    "auto" offers every pair, and sets of three and four columns at half the weight: pairs are what readers ask for,
    and a larger set must show twice as much. Which of them is worth its noise, and at how many groups, is chosen by
    what is seen, in private. Sets around a target come first: with a target the larger sets are those that hold one.
    """
    sound = check_workload(workload)
    if sound == "auto":
        larger = dict.fromkeys(_larger_sets(len(names), [names.index(name) for name in targets]), WHOLE // 2)
        singles = dict.fromkeys(combinations(range(len(names)), 1), WHOLE // 2)
        return singles | dict.fromkeys(combinations(range(len(names)), 2), WHOLE) | larger
    return downward_closure(requested_marginals(sound, names), MOST_PAIRS if sound == "2-way" else None)


def subsample_pairs(
    offered: Mapping[Clique, int], kept: Collection[Clique] = (), most: int = MOST_CANDIDATES
) -> dict[Clique, int]:
    """Return at most so many of the pairs that are offered, drawn without a look at the rows, and all that is no pair.

    The pairs of ``kept`` stay. Which others do is drawn from a fixed seed: it is as public as the number of columns.

    >>> len(subsample_pairs(dict.fromkeys(combinations(range(20), 2), 1), kept=[(0, 1)], most=7))
    7
    """
    pairs = [clique for clique in offered if len(clique) == 2]
    if len(pairs) <= most:
        return dict(offered)
    order = np.random.default_rng(len(pairs)).permutation(len(pairs))
    first = dict.fromkeys(clique for clique in kept if clique in offered)
    drawn = dict.fromkeys(chain(first, (pairs[place] for place in order)))
    stay = set(islice(drawn, most))
    return {clique: weight for clique, weight in offered.items() if len(clique) != 2 or clique in stay}


def _larger_sets(columns: int, targets: Sequence[int]) -> list[Clique]:
    """Return sets of three, and of four where there is room for all of them; with targets those that hold one."""
    larger: list[Clique] = []
    for size in (3, LARGEST_SET):
        if comb(columns, size) > MOST_CANDIDATES * 10:
            break
        sets = [s for s in combinations(range(columns), size) if not targets or not set(targets).isdisjoint(s)]
        if len(larger) + len(sets) > MOST_LARGER:
            break
        larger += sets
    return larger


def requested_marginals(workload: Any, names: Sequence[str]) -> dict[Clique, float]:
    """Return the column sets that a workload of the user asks for, with their weights."""
    sound = check_workload(workload)
    if isinstance(sound, str):
        return dict.fromkeys(combinations(range(len(names)), min(int(sound[0]), len(names))), 1.0)
    unknown = [f"there is no synthesised column {name!r}" for key, _ in sound for name in key if name not in names]
    if unknown:
        raise _refused(unknown, f"name columns among these: {', '.join(names)}")
    places = {name: i for i, name in enumerate(names)}
    return {tuple(sorted(places[name] for name in key)): float(to_fraction(weight)) for key, weight in sound}


def largest_clique(workload: Any) -> int:
    """Return how many columns the largest table of a sound workload has, as far as it says without a schema."""
    if isinstance(workload, str):
        return LARGEST_SET if workload == "auto" else int(workload[0])
    return max(len(names) for names, _ in workload)


def downward_closure(wanted: Mapping[Clique, float], most: int | None = None) -> dict[Clique, int]:
    """Return the tables that may be measured, with whole weights: every subset of what is wanted.

    A table's weight is the sum over the wanted sets of their weight times the number of columns shared, as in AIM.
    """
    subsets = {part for clique in wanted for size in range(1, len(clique) + 1) for part in combinations(clique, size)}
    touching = _by_column(wanted)
    raw = {clique: sum(touching[column] for column in clique) for clique in sorted(subsets)}
    largest = max(raw.values())
    most = MOST_CANDIDATES if most is None else most
    if len(raw) > most:
        raise PlanError(
            f"the workload asks for {len(raw):,} tables, at most {most:,} can be weighed",
            next_step="use fewer columns, workload='2-way', or fewer sets of your own",
        )
    return {clique: max(1, round(WHOLE * weight / largest)) for clique, weight in raw.items()}


def _by_column(wanted: Mapping[Clique, float]) -> dict[int, float]:
    """Sum the weights of the wanted sets that hold a column: |r and s| summed over s is additive in r's columns."""
    total: dict[int, float] = {}
    for clique, weight in wanted.items():
        for column in clique:
            total[column] = total.get(column, 0.0) + weight
    return total
