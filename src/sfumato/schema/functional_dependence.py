"""Functional dependences between columns (a determines b), with or without a public map.

With its map a dependence is a rule of single rows: b is what the map says of a. Without it the map is not public, and
nothing about a single row can be said; rows that are made find a map of their own
(:mod:`sfumato.constraints.functional_dependence`). Missing is a value like any other here, on both sides.
"""

from __future__ import annotations

import ast
import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import BoolArray
from sfumato.formatting import list_names
from sfumato.schema.column import Column, day_number
from sfumato.schema.column_checks import parse_as_kind

WORD = " determines "
MISSING = "missing()"
"""How a file writes a missing value on either side of a map; Python writes None."""
BETWEEN = ".."
"""Between the ends of an interval: ``"0..17"`` holds both of them, for numbers the lower one (as bins do)."""
SHOWN = 5
MOST_ENTRIES = 12
"""Entries of a map that a sentence lists."""
Pairs = tuple[tuple[Any, Any], ...]
"""A map as it is kept: for levels, or intervals (low, high) of an ordered column, or None for missing, a value each."""


class FunctionalDependence(NamedTuple):
    """The two columns of the sentence ``source determines target``."""

    source: str
    target: str


def parse_dependence(check: str) -> FunctionalDependence | None:
    """Return the columns of a sentence of this kind, or None for any other rule.

    >>> parse_dependence('col("zip code") determines city')
    FunctionalDependence(source='zip code', target='city')
    >>> parse_dependence("a < b")
    """
    pieces = check.split(WORD)
    for cut in range(1, len(pieces)):
        names = [_name(WORD.join(side)) for side in (pieces[:cut], pieces[cut:])]
        if names[0] is not None and names[1] is not None:
            return FunctionalDependence(names[0], names[1])
    return None


def _name(text: str) -> str | None:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return column_name(tree)


def column_name(node: ast.expr) -> str | None:
    """Return the column that an expression names, as a word or as ``col("...")``."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="col"), args=[ast.Constant(value=str() as name)], keywords=[]):
            return name
        case _:
            return None


def normalise_map(written: Any) -> Any:
    """Return a map as pairs that can be compared; anything else is returned as it is, for the schema to refuse."""
    pairs = list(cast("Mapping[Any, Any]", written).items()) if isinstance(written, Mapping) else written
    try:
        return tuple((_plain(key), _plain(value)) for key, value in pairs)
    except (TypeError, ValueError):
        return pairs


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_plain, cast("Sequence[Any]", value))) if isinstance(value, list | tuple) else value


def validate_map(pairs: Any, source: Column, target: Column) -> tuple[Pairs, list[str]]:
    """Return a map with keys and values of the columns' own types, in their order, and every problem with it."""
    if not isinstance(pairs, tuple) or not pairs:
        return (), [f"its map must say for each value of {source.name} which value {target.name} has"]
    if source.is_open or target.is_open:
        return (), ["a map needs columns whose values the schema lists"]
    if MISSING in (*source.levels, *target.levels):
        return (), [f"a level is called {MISSING}, which is how maps write a missing value"]
    problems: list[str] = []
    typed_pairs: list[tuple[Any, Any]] = []
    for key, value in cast("Pairs", pairs):
        try:
            typed_pairs.append((_key(source, key), _value(target, value)))
        except ValueError as error:
            problems.append(f"{_shown(key)} = {_shown(value)}: {error}")
    typed_pairs, gaps = _total(typed_pairs, source, target)
    # What is listed wrongly would be told a second time as absent.
    return tuple(typed_pairs), problems or gaps


def _key(column: Column, written: Any) -> Any:
    if not column.is_ordered or written is None or (written == MISSING and not isinstance(written, tuple)):
        return _value(column, written)
    ends = cast("Any", written.split(BETWEEN, 1) if isinstance(written, str) and BETWEEN in written else written)
    if not isinstance(ends, list | tuple):
        if not column.is_discrete:
            raise ValueError(f"{column.name} needs intervals such as '0..17.5'")
        ends = (ends, ends)
    if len(cast("Sequence[Any]", ends)) != 2:
        raise ValueError("an interval has two ends")
    low, high = (_value(column, end) for end in cast("Sequence[Any]", ends))
    if low is None or high is None or low > high or (low == high and not column.is_discrete):
        raise ValueError("an interval needs low..high")
    return low, high


def _value(column: Column, written: Any) -> Any:
    """Return one value of a column in its own type, None for missing."""
    if written is None or (isinstance(written, str) and written == MISSING):
        if column.missing:
            return None
        raise ValueError(f"{column.name} cannot be missing")
    value = _number(column, written) if column.is_ordered else _level(column, written)
    if value is None:
        raise ValueError(f"{column.name} has no such value")
    if column.is_ordered and column.bounds and not column.bounds[0] <= value <= column.bounds[1]:
        raise ValueError(f"it lies outside the bounds of {column.name}")
    return value


def _level(column: Column, written: Any) -> Any:
    if column.kind == "boolean":
        return (
            {"true": True, "false": False}.get(written) if isinstance(written, str) else _same(written, column.levels)
        )
    if column.has_integer_levels and isinstance(written, str):
        written = int(written) if written.lstrip("-").isdigit() else written
    return _same(written, column.levels)


def _same(value: Any, levels: Sequence[Any]) -> Any:
    return value if type(value) is type(levels[0]) and value in levels else None


def _number(column: Column, written: Any) -> Any:
    if isinstance(written, str) and column.kind != "date":
        try:
            written = float(written)
        except ValueError:
            return None
    return parse_as_kind(written, column.kind)


def _total(pairs: list[tuple[Any, Any]], source: Column, target: Column) -> tuple[list[tuple[Any, Any]], list[str]]:
    """Return the pairs in order, with missing to missing where nothing else is said, and what is doubled or absent."""
    unsaid = [key for key, _ in pairs].count(None) == 0
    if source.missing and unsaid and target.missing:
        pairs = [*pairs, (None, None)]
    present = [pair for pair in pairs if pair[0] is not None]
    absent = [pair for pair in pairs if pair[0] is None]
    problems = [f"missing {source.name} stands twice"] if len(absent) > 1 else []
    if source.missing and not absent:
        problems.append(f"{source.name} may be missing, and {target.name} cannot: say which value it has then")
    if source.is_ordered:
        present.sort(key=lambda pair: pair[0])
        problems += _interval_problems([key for key, _ in present], source)
    else:
        place = {level: number for number, level in enumerate(source.levels)}
        present.sort(key=lambda pair: place[pair[0]])
        problems += _level_problems([key for key, _ in present], source)
    return present + absent, problems


def _level_problems(keys: Sequence[Any], source: Column) -> list[str]:
    there = set(keys)
    missing = [level for level in source.levels if level not in there]
    twice = [format_key(key) for key, times in Counter(keys).items() if times > 1]
    problems = [f"{list_names(twice, SHOWN)}: two entries"] if twice else []
    return problems + ([f"no entry for {list_names([*map(format_key, missing)], SHOWN)}"] if missing else [])


def _interval_problems(keys: Sequence[Any], source: Column) -> list[str]:
    """Return where intervals leave gaps or overlap."""
    if not keys:
        return [f"no entry for any value of {source.name}"]
    low, high = cast("tuple[Any, Any]", source.bounds)
    problems: list[str] = []
    if keys[0][0] > low:
        problems.append(f"no entry for values below {keys[0][0]}")
    for before, after in pairwise(keys):
        wanted = _next(before[1], source)
        if after[0] != wanted:
            words = "overlap" if after[0] < wanted else "leave a gap"
            problems.append(f"{format_key(before)} and {format_key(after)} {words}")
    if keys[-1][1] < high:
        problems.append(f"no entry for values above {keys[-1][1]}")
    return problems


def _next(value: Any, source: Column) -> Any:
    if source.kind == "date":
        return value + dt.timedelta(days=1)
    return value + 1 if source.is_discrete else value


def _shown(value: Any) -> str:
    text = str(cast("object", value)) if isinstance(value, tuple) else format_key(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def format_key(key: Any) -> str:
    """Return a key as a file writes it.

    >>> format_key((0, 17)), format_key((3, 3)), format_key(None), format_key(True)
    ('0..17', '3', 'missing()', 'true')
    """
    if isinstance(key, tuple):
        low, high = cast("tuple[Any, Any]", key)
        return str(low) if low == high else f"{low}{BETWEEN}{high}"
    return MISSING if key is None else str(key).lower() if isinstance(key, bool) else str(key)


def format_map(pairs: Pairs) -> str:
    """Return the first entries of a map in words.

    >>> format_map((((0, 17), "child"), ((18, 110), "adult"), (None, None)))
    '0..17 = child, 18..110 = adult, missing() = missing()'
    """
    entries = [f"{format_key(key)} = {format_key(value)}" for key, value in pairs[:MOST_ENTRIES]]
    return ", ".join(entries) + (f", ... ({len(pairs)} entries)" if len(pairs) > MOST_ENTRIES else "")


@dataclass(frozen=True, eq=False)
class DependenceMap:
    """A whole map, ready to be asked: one place for each level or interval of the source, then one for missing."""

    source: Column
    target: Column
    pairs: Pairs

    @cached_property
    def starts(self) -> NDArray[np.float64]:
        """Lower ends of the intervals of an ordered source; the first reaches down, and the last up, without end."""
        return np.array([_as_number(key[0]) for key, _ in self.pairs if key is not None], float)

    @cached_property
    def images(self) -> NDArray[Any]:
        """The target's value of each pair; meaningless where it is missing."""
        values = [_filler(self.target) if value is None else _as_number(value) for _, value in self.pairs]
        if self.target.is_ordered:
            return np.array(values, np.int64 if self.target.is_discrete else np.float64)
        listed = np.empty(len(values), dtype=object)
        listed[:] = values
        return listed

    @cached_property
    def missing(self) -> BoolArray:
        """At which places the target is missing."""
        return np.array([value is None for _, value in self.pairs], dtype=bool)

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        return {key: place for place, (key, _) in enumerate(self.pairs)}

    def places(self, values: NDArray[Any], missing: BoolArray) -> NDArray[np.int64]:
        """Return the place of each value of the source."""
        if self.source.is_ordered:
            indices = np.searchsorted(self.starts, np.asarray(values, dtype=float), side="right") - 1
            indices = np.clip(indices, 0, None)
        else:
            each = (self._numbers.get(value, 0) for value in values.ravel())
            indices = np.fromiter(each, dtype=np.int64, count=values.size).reshape(values.shape)
        return np.where(missing, len(self.pairs) - 1, indices)

    def of(self, values: NDArray[Any], missing: BoolArray) -> tuple[NDArray[Any], BoolArray]:
        """Return the target's values for values of the source, and where the target is missing."""
        places = self.places(values, missing)
        return self.images[places], self.missing[places]


@lru_cache(maxsize=256)
def dependence_map(pairs: Pairs, source: Column, target: Column) -> DependenceMap:
    """Return a map of these columns, ready to be asked; the pairs are those of a checked schema."""
    return DependenceMap(source, target, pairs)


def _as_number(value: Any) -> Any:
    return day_number(value) if isinstance(value, dt.date) else value


def _filler(target: Column) -> Any:
    return target.numeric_bounds[0] if target.is_ordered else target.levels[0]


def conflicting_maps(dependences: Iterable[tuple[FunctionalDependence | None, Any]]) -> list[str]:
    """Return the dependences for which two different maps are stated."""
    maps: dict[FunctionalDependence, Any] = {}
    problems: list[str] = []
    for dependence, pairs in dependences:
        if dependence is not None and maps.setdefault(dependence, pairs) != pairs:
            problems.append(f"rules: {dependence.source} determines {dependence.target} in two ways")
    return list(dict.fromkeys(problems))
