"""Engine expressions that read raw columns in the schema's types and bound rows per person.

``typed`` is null where a value is missing or cannot be read; ``unreadable`` tells the two apart. Text sources (CSV)
hold every value as text, so nothing is lost or rounded before the schema says what it should be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from sfumato.schema.column import Column

TRUE_TEXTS = ("true", "t", "yes", "y", "1")
FALSE_TEXTS = ("false", "f", "no", "n", "0")
NO_PERSON_TEXTS = ("", "nan", "-nan", "nat", "none", "null", "<na>", "na", "n/a", "#n/a")
"""What programs write where there is no value: never the name of a person."""
EPOCH = date(1970, 1, 1)
MANY_LEVELS = 1000
"""Listed values above which a query does not name them all: rows are grouped by value, and looked up here."""


def select_as(table: Any, columns: Mapping[str, Any]) -> Any:
    """Return a table of computed columns by name, whatever the names are: one may be ``self``."""
    return table.select([expression.name(name) for name, expression in columns.items()])


def has_many_levels(column: Column) -> bool:
    """Whether a column lists too many values for a query to name them all."""
    return not column.is_ordered and len(column.levels) > MANY_LEVELS


def cast_to_kind(raw: Any, column: Column) -> Any:
    """Return the raw column in the type of the schema; null where missing or unreadable."""
    if column.kind == "boolean":
        return _boolean(raw, column)
    if column.kind == "date":
        return _date(raw)
    if column.is_ordered or column.has_integer_levels:
        return _number(raw)
    return raw if raw.type().is_string() else _known(raw).cast("string")


def _known(raw: Any) -> Any:
    """Return a column that is null where it holds NaN: not a number is no value, whatever the kind."""
    kind = raw.type()
    if kind.is_floating():
        return raw.isnan().ifelse(None, raw)
    # Decimals cannot be asked, but PostgreSQL's hold NaN.
    return raw.cast("float64").isnan().ifelse(None, raw) if kind.is_decimal() else raw


def _number(raw: Any) -> Any:
    """Return integers as they are and everything else as 64-bit floats, without NaN."""
    kind = raw.type()
    if kind.is_uint64():
        return raw.cast("float64")
    if kind.is_integer():
        return raw if kind.is_signed_integer() else raw.cast("int64")
    return _known(raw.try_cast("float64") if kind.is_string() else raw.cast("float64"))


def _boolean(raw: Any, column: Column) -> Any:
    """Return what is true or false, in the words that the schema states or in any of those that programs write."""
    import ibis

    kind = raw.type()
    if kind.is_boolean():
        return raw
    if kind.is_numeric():
        return ibis.cases((raw == 1, True), (raw == 0, False), else_=ibis.null("boolean"))
    is_true, is_false = _truth(raw, column)
    return ibis.cases((is_true, True), (is_false, False), else_=ibis.null("boolean"))


def _truth(raw: Any, column: Column) -> tuple[Any, Any]:
    """Return whether a text says true, and whether it says false."""
    text = raw.cast("string").lower()
    if column.true is not None and column.false is not None:
        return text.isin((column.true.lower(), "true")), text.isin((column.false.lower(), "false"))
    return text.isin(TRUE_TEXTS), text.isin(FALSE_TEXTS)


def _date(raw: Any) -> Any:
    kind = raw.type()
    if kind.is_date():
        return raw
    return raw.date() if kind.is_timestamp() else raw.cast("string").try_cast("date")


def is_unreadable(raw: Any, column: Column) -> Any:
    """Return whether a value is there but is not of the kind that the schema says."""
    value = cast_to_kind(raw, column)
    bad = (raw.notnull() & value.isnull()) | _fraction(value, column)
    if raw.type().is_floating() or raw.type().is_decimal():
        return bad & ~raw.cast("float64").isnan().fill_null(False)
    if raw.type().is_string() and (column.is_ordered or column.has_integer_levels) and column.kind != "date":
        return bad & ~raw.lower().strip().isin(["nan"])
    return bad


def lacks_person(raw: Any, column: Column) -> Any:
    """Return whether a row names no person: rows without one must never share one person's allowance."""
    value = cast_to_kind(raw, column)
    if not value.type().is_string():
        return value.isnull()
    return value.isnull() | value.strip().lower().isin(NO_PERSON_TEXTS).fill_null(False)


def is_outside_domain(value: Any, column: Column) -> Any:
    """Return whether a readable value lies outside the public domain; ``value`` is typed."""
    if column.kind == "boolean" or column.is_open:
        return value.isnull() & value.notnull()
    if not column.is_ordered:
        return value.notin([float(v) if value.type().is_floating() else v for v in column.levels]).fill_null(False)
    low, high = column.bounds or (None, None)
    return ((value < low) | (value > high)).fill_null(False)


def _fraction(value: Any, column: Column) -> Any:
    """Return whether a whole-valued column holds a fraction; what lies beyond the bounds is judged by them alone.

    Clipped first, because engines floor into 64-bit integers, which infinity does not fit.
    """
    if column.kind != "integer" or not value.type().is_floating() or column.bounds is None:
        return value.isnull() & value.notnull()
    inside = value.clip(*(float(bound) for bound in column.bounds))
    return (inside != inside.floor()).fill_null(False)


UNREADABLE_NUMBER = float("inf")
UNREADABLE_DAY = -(10**9)
UNREADABLE_FLAG = 2


def encodable(raw: Any, column: Column, by_encoders: bool = False) -> Any:
    """Return a column as the encoders want it; what cannot be read becomes a value outside every domain.

    Encoders find fractions in columns of whole numbers themselves, faster than SQL does; other readers cannot. The
    likely case of a text stands first: engines look at the others only where it does not hold.
    """
    import ibis

    value = cast_to_kind(raw, column)
    known = _clamped(value, column)
    if not raw.type().is_string() or not (column.is_ordered or column.kind == "boolean" or column.has_integer_levels):
        return known
    if column.kind == "boolean":
        is_true, is_false = _truth(raw, column)
        return ibis.cases((is_true, 1), (is_false, 0), (raw.notnull(), UNREADABLE_FLAG), else_=ibis.null("int8"))
    if column.kind == "date":
        unread = ibis.cases((raw.notnull(), UNREADABLE_DAY), else_=ibis.null("int32"))
        return value.notnull().ifelse(day_number_of(known), unread)
    absent = raw.isnull() | raw.lower().strip().isin(["nan"])
    good = value.notnull() if by_encoders else value.notnull() & ~_fraction(value, column)
    return ibis.cases((good, known), (absent, ibis.null("float64")), else_=UNREADABLE_NUMBER)


def _clamped(value: Any, column: Column) -> Any:
    """Return the nearest bound of values outside where the schema says so; dates have no clip of their own."""
    import ibis

    if column.outside != "clamp" or column.bounds is None:
        return value
    if column.kind != "date":
        return value.clip(*column.bounds)
    low, high = (ibis.literal(bound) for bound in column.bounds)
    return ibis.cases((value < low, low), (value > high, high), else_=value)


def day_number_of(value: Any) -> Any:
    """Return a date as days since 1970."""
    import ibis

    return value.delta(ibis.date("1970-01-01"), unit="day")


def code_expression(raw: Any, column: Column) -> Any:
    """Return the code of each value as an engine expression; -1 where it lies outside the public domain."""
    import ibis

    value = _clamped(cast_to_kind(raw, column), column)
    missing = column.present_size if column.missing else -1
    outside_code = missing if column.unreadable_is_missing else -1
    bad = is_unreadable(raw, column) | is_outside_domain(value, column)
    return ibis.cases((bad, outside_code), (value.isnull(), missing), else_=_present_code(value, column)).cast("int64")


def _present_code(value: Any, column: Column) -> Any:
    import ibis

    if column.kind == "boolean":
        return value.ifelse(1, 0)
    if not column.is_ordered:
        return ibis.cases(*((value == level, code) for code, level in enumerate(column.levels)), else_=-1)
    if column.has_unit_bins:
        number = day_number_of(value) if column.kind == "date" else value
        return number.cast("int64") - int(column.numeric_bounds[0])
    return _bin_code(value, [_start(start, column) for start in column.starts], 0)


def _start(start: float, column: Column) -> Any:
    """Return where a bin begins as a literal of the column's type: a day counted for each bin would cost more."""
    import ibis

    if column.kind == "date":
        return ibis.date(EPOCH + timedelta(days=int(start)))
    return int(start) if column.is_discrete else float(start)


def _bin_code(value: Any, starts: Sequence[Any], first: int) -> Any:
    """Return the last bin that begins at or below a value, by halving: a few comparisons, however many bins."""
    import ibis

    if len(starts) == 1:
        return ibis.literal(first)
    half = len(starts) // 2
    upper, lower = _bin_code(value, starts[half:], first + half), _bin_code(value, starts[:half], first)
    return (value >= starts[half]).ifelse(upper, lower)
