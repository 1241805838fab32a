"""Compares the tables of a ledger with those it creates: a changed definition can drop what is written.

A trigger, a rule, a generated column or a conflict clause can undo a spend without a word. On SQLite the text of every
definition must be the one that was written; on PostgreSQL the catalogue must hold plain tables with plain columns.
"""

from __future__ import annotations

from functools import cache

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from sfumato.privacy.ledger.store import ACCOUNTS, CHAIN, HEAD

TABLES = (CHAIN, ACCOUNTS, HEAD)
_SQLITE = sa.text(
    r"""
SELECT type, name, sql FROM (SELECT * FROM sqlite_master UNION ALL SELECT 'temporary ' || type, name, tbl_name,
    rootpage, sql FROM sqlite_temp_master)
WHERE type NOT IN ('table', 'index')
    OR lower(name) LIKE 'sfumato\_ledger\_%' ESCAPE '\' OR lower(tbl_name) LIKE 'sfumato\_ledger\_%' ESCAPE '\'
"""
)
_POSTGRES = """
WITH due (relname, attname, type) AS (VALUES {columns}),
keys (relname, definition) AS (VALUES {keys}),
ours AS (
    SELECT oid, relname, relkind, relrowsecurity, relpersistence, relispartition
    FROM pg_class WHERE oid IN (SELECT to_regclass(relname) FROM keys)
)
SELECT 'trigger ' || tgname || ' on ' || relname FROM pg_trigger JOIN ours ON ours.oid = tgrelid WHERE NOT tgisinternal
UNION ALL SELECT 'rule ' || rulename || ' on ' || relname FROM pg_rewrite JOIN ours ON ours.oid = ev_class
UNION ALL SELECT relname || ', which is no table or hides rows' FROM ours WHERE relkind <> 'r' OR relrowsecurity
UNION ALL SELECT relname || ', which is temporary or unlogged' FROM ours WHERE relpersistence <> 'p'
UNION ALL SELECT relname || ', which is part of another table or has parts' FROM ours
    WHERE relispartition OR EXISTS (SELECT FROM pg_inherits WHERE ours.oid IN (inhparent, inhrelid))
UNION ALL SELECT 'a second ' || c.relname || ' in schema ' || c.relnamespace::regnamespace FROM pg_class c
    JOIN ours ON ours.relname = c.relname AND ours.oid <> c.oid
    WHERE c.relnamespace::regnamespace::name = ANY (current_schemas(true))
UNION ALL SELECT 'column ' || attname || ' of ' || relname || ', which is defined otherwise' FROM ours
    JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped LEFT JOIN due USING (relname, attname)
    WHERE due.type IS DISTINCT FROM format_type(atttypid, atttypmod) OR NOT attnotnull OR attgenerated <> ''
        OR attidentity <> '' OR atthasdef OR attcollation NOT IN (0, 'pg_catalog."default"'::regcollation)
UNION ALL SELECT 'constraint ' || conname || ' on ' || relname FROM ours JOIN pg_constraint c ON conrelid = ours.oid
    LEFT JOIN keys USING (relname)
    WHERE contype <> 'n' AND (contype <> 'p' OR pg_get_constraintdef(c.oid) <> definition)
UNION ALL SELECT 'index ' || indexrelid::regclass || ' on ' || relname FROM ours JOIN pg_index ON indrelid = ours.oid
    WHERE NOT indisprimary AND (indisunique OR indexprs IS NOT NULL OR indpred IS NOT NULL)
"""


def definition_problems(connection: sa.Connection) -> list[str]:
    """Return the differences between the ledger's tables and those it creates."""
    if connection.dialect.name != "sqlite":
        objects = sorted(str(row[0]) for row in connection.execute(_postgres_query()))
        return [f"the database holds something that is not the ledger's: {each!a}" for each in objects]
    problems: list[str] = []
    for kind, name, text in connection.execute(_SQLITE):
        if kind not in ("table", "index") or name not in _sqlite_definitions():
            if text is not None or not str(name).startswith("sqlite_autoindex_"):
                problems.append(f"the database holds something that is not the ledger's: {f'{kind} {name}'!a}")
        elif _one_line(text) != _sqlite_definitions()[name]:
            problems.append(f"the definition of the {kind} {name} was changed: {_one_line(text)[:300]!a}")
    return sorted(problems)


@cache
def _sqlite_definitions() -> dict[str, str]:
    dialect = sqlite.dialect()
    tables = {table.name: _one_line(CreateTable(table).compile(dialect=dialect)) for table in TABLES}
    indexes = {str(each.name): _one_line(CreateIndex(each).compile(dialect=dialect)) for each in CHAIN.indexes}
    return {**tables, **indexes}


@cache
def _postgres_query() -> sa.TextClause:
    types = postgresql.dialect()
    columns = [(table.name, each.name, each.type.compile(types).lower()) for table in TABLES for each in table.columns]
    keys = [(table.name, f"PRIMARY KEY ({table.primary_key.columns.keys()[0]})") for table in TABLES]
    return sa.text(_POSTGRES.format(columns=_values(columns), keys=_values(keys)).replace(":", r"\:"))


def _values(rows: list[tuple[str, str, str]] | list[tuple[str, str]]) -> str:
    return ", ".join(f"({', '.join(repr(each) for each in row)})" for row in rows)


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
