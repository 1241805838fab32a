"""The rows of each person that count, chosen by a keyed hash that every engine computes alike.

Let K be fixed and public, x the values of a row as the schema reads them, and i its place among the rows of its person
with the same x. A person's rows are ordered by md5(K, person, x, i), and the first k = ``rows_per_person`` are kept.
Rows with the same x count alike, so it does not matter which of them is called i.

Proof that one person moves at most k rows. The order is a function of K and of that person's rows alone: where two
hashes agree, x and i decide. So whoever else is in the table, the same rows of a person are kept, and adding or
removing a person adds or removes at most k kept rows. This holds for every K that was fixed without looking at the
table, and needs nothing of the hash. QED. The hash serves fairness: it knows nothing of what a value means, so that
each row of a person is kept about equally often. K is public, so that all queries, releases and engines keep the same
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.column_expressions import cast_to_kind, day_number_of, is_unreadable

KEY = "sfumato kept rows 1"
BETWEEN, THERE, UNREAD = "\x1f", "=", "?"
STEPS, LARGEST = 2.0**52, 2.0**62
"""Into how many steps the range of a number is cut to be hashed, and what fits 64 bits."""
ADDED = ("sfumato person", "sfumato values", "sfumato place", "sfumato hash", "sfumato rank")


def kept_rows(table: Any, schema: Schema) -> Any:
    """Return the rows that count: all of them, or at most ``rows_per_person`` of each person.

    Persons are told apart by the values that the schema reads: 5 and 5.0 are one.
    """
    import ibis

    if schema.person is None:
        return table
    person, values, place, hashed, rank = ADDED
    others = [column for column in schema if column.name != schema.person]
    read = table.mutate(
        **{
            person: cast_to_kind(table[schema.person], schema[schema.person]),
            values: _joined([_text(table[column.name], column) for column in others]),
        }
    )
    # numbers that lie too near to each other to be hashed apart
    numbers = [cast_to_kind(read[column.name], column) for column in others if _is_fine(read[column.name], column)]
    read = read.mutate(**{place: ibis.row_number().over(group_by=[person, values], order_by=numbers)})
    parts = [ibis.literal(KEY), _text(read[schema.person], schema[schema.person]), read[values]]
    text = _joined([*parts, read[place].cast("string")])
    read = read.mutate(**{hashed: _hash_of(text, table)})
    read = read.mutate(**{rank: ibis.row_number().over(group_by=person, order_by=[hashed, values, place])})
    return read.filter(read[rank] < schema.rows_per_person).drop(*ADDED)


def _joined(texts: Sequence[Any]) -> Any:
    import ibis

    return reduce(lambda left, right: left + BETWEEN + right, texts) if texts else ibis.literal("")


def _is_fine(raw: Any, column: Column) -> bool:
    return cast_to_kind(raw, column).type().is_floating()


def _text(raw: Any, column: Column) -> Any:
    """Return a value as the schema reads it in a text that is the same on every engine."""
    import ibis

    value = cast_to_kind(raw, column)
    if raw.type().is_floating() or value.type().is_numeric():
        number = raw.cast("float64") if value.type().is_string() else value
        text = _whole(number, column)
    elif value.type().is_boolean():
        text = value.ifelse("1", "0")
    else:
        text = day_number_of(value).cast("string") if value.type().is_date() else value
    return ibis.cases((value.notnull(), ibis.literal(THERE) + text), (is_unreadable(raw, column), UNREAD), else_="")


def _whole(value: Any, column: Column) -> Any:
    """Return the step of its public range in which a number lies: engines write fractions in many ways."""
    low, high = column.numeric_bounds if column.is_ordered and column.bounds is not None else (0, 0)
    number = value.cast("float64")
    if not column.is_discrete and high > low:
        number = (number - float(low)) / float(high - low) * STEPS
    return number.clip(-LARGEST, LARGEST).floor().cast("int64").cast("string")


def _hash_of(text: Any, table: Any) -> Any:
    """Return the md5 of a text as what is ordered alike on every engine: bytes, or their hexadecimal form."""
    import ibis
    import ibis.expr.operations as ops
    from ibis.common.exceptions import IbisError

    try:
        backend = table.get_backend()
    except IbisError:  # tables of our own DuckDB are bound when they are run
        return text.hexdigest("md5")
    if backend.has_operation(ops.HexDigest):
        return text.hexdigest("md5")
    if backend.has_operation(ops.HashBytes):
        return text.hashbytes("md5")
    builtin: Any = ibis.udf.scalar.builtin
    return builtin(_md5, name="md5")(text)


def _md5(text: str) -> str: ...  # the engine has it
