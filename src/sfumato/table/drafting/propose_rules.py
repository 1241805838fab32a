"""Propose rules between columns: candidates from a sample, verified on all rows.

Candidates come from a sample of rows; every proposed rule holds in all of them, and would hardly hold by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from sfumato.schema import Rule, Schema
from sfumato.schema.column import Column
from sfumato.schema.rules import quote_column, rule_fingerprint
from sfumato.table.check import find_broken_dependences
from sfumato.table.column_expressions import cast_to_kind
from sfumato.table.drafting.row_sample import RowSample, row_sample
from sfumato.table.drafting.rule_candidates import (
    FEWEST_ROWS,
    Pair,
    Sum,
    dependence_candidates,
    missing_value_rules,
    order_candidates,
    sum_candidates,
    transitive_reduction,
)
from sfumato.table.engines.engine import run_aggregates
from sfumato.table.sources import Source

MOST_RULES = 30
"""Rules that a draft proposes: nobody reads more."""
MAX_VERIFIED = 200
"""Candidates that are asked of all rows."""


def propose_rules(opened: Source, columns: Sequence[Column]) -> tuple[Rule, ...]:
    """Return the rules that the rows keep and that are worth a question, marked as drafted."""
    released = [column for column in columns if column.role != "identifier"]
    if len(released) < 2:
        return ()
    sample = row_sample(opened, released)
    if sample.rows < FEWEST_ROWS:
        return ()
    added, ordered, absent = sum_candidates(sample), order_candidates(sample), missing_value_rules(sample)
    missing_checks = [check for absence in absent for check in (absence.check, absence.converse)]
    kept = _kept(opened, released, [*missing_checks, *map(_sum, added), *map(_order, ordered)])
    added = [one for one in added if _sum(one) in kept]
    ordered = transitive_reduction(
        [pair for pair in ordered if _order(pair) in kept and not _follows(pair, added, sample)]
    )
    checks = [_dependence(pair) for pair in _verified(opened, released, dependence_candidates(sample))]
    checks += [*map(_sum, added), *(check for absence in absent for check in absence.rules(kept))]
    checks += map(_order, ordered)
    return tuple(Rule(check, drafted=rule_fingerprint(check)) for check in checks[:MOST_RULES])


def _order(pair: Pair) -> str:
    return f"{quote_column(pair[0])} <= {quote_column(pair[1])}"


def _sum(one: Sum) -> str:
    return f"{' + '.join(map(quote_column, one[0]))} == {quote_column(one[1])}"


def _dependence(pair: Pair) -> str:
    return f"{quote_column(pair[0])} determines {quote_column(pair[1])}"


def _follows(pair: Pair, added: Sequence[Sum], sample: RowSample) -> bool:
    """Whether an order follows from a sum of columns that are never negative."""
    return any(pair[0] in parts and pair[1] == total and _not_negative(parts, sample) for parts, total in added)


def _not_negative(names: Sequence[str], sample: RowSample) -> bool:
    return all((sample.columns[name].bounds or (-1,))[0] >= 0 for name in names)


def _kept(opened: Source, columns: Sequence[Column], checks: Sequence[str]) -> set[str]:
    """Return the rules that no row breaks."""
    table, by_name = opened.engine.table, {column.name: column for column in columns}
    rules = {
        check: rule for check in checks[:MAX_VERIFIED] if (rule := Rule(check)) and set(rule.columns) <= set(by_name)
    }
    names = dict.fromkeys(name for rule in rules.values() for name in rule.columns)
    values = table.select(**{name: cast_to_kind(table[name], by_name[name]) for name in names}) if names else table
    broken = run_aggregates(
        opened.engine,
        values,
        [(("rules", check), rule.breaks(values, by_name).sum()) for check, rule in rules.items()],
    )
    return {check for check, rows in broken.get("rules", {}).items() if not rows}


def _verified(opened: Source, columns: Sequence[Column], pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield the dependences that all rows keep: one query each, for as many as a draft proposes."""
    rules = {pair: Rule(_dependence(pair)) for pair in pairs}
    by_name = {column.name: column for column in columns}
    holding = (
        pair
        for pair, rule in rules.items()
        if rule.dependence == pair
        and not find_broken_dependences(
            opened.engine, Schema("draft", tuple(by_name[name] for name in pair), rules=(rule,))
        )
    )
    yield from islice(holding, MOST_RULES)
