"""What the verbs about a published cross table share: its columns, its noise, and where its cells are counted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from sfumato.errors import RiskError
from sfumato.schema import Schema
from sfumato.schema.dialect import Dialect

if TYPE_CHECKING:
    from sfumato.table import Table

Identifiers = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns a neighbour knows, such as age,sex: a list, or repeated; the quasi-identifiers unless said."
    ),
]
EpsilonRange = Annotated[
    str | None,
    typer.Option(help="Epsilons of the curves, low:high; 0.01:30 unless said (0.01:0.99 by --rule classical)."),
]
MechanismName = Annotated[
    str, typer.Option(help="Noise: geometric, laplace, gaussian or discrete-gaussian; the last two need --delta.")
]
NoiseDelta = Annotated[float | None, typer.Option(help="Delta of Gaussian noise, such as 1e-6.")]
SigmaRule = Annotated[
    str | None,
    typer.Option(help="How sigma follows from epsilon and delta: analytic unless said, classical, or probabilistic."),
]
Pilot = Annotated[
    str | None,
    typer.Option(help="Public or earlier table to steer by instead: every number comes from it, DATA is not read."),
]


class Columns(NamedTuple):
    """Identifiers and sensitive columns as they were asked for; none where the roles of the schema decide."""

    identifiers: list[str] | None
    sensitive: list[str] | None

    def of(self, schema: Schema) -> set[str]:
        """Return the names that are needed."""
        known = self.identifiers or schema.with_role("quasi-identifier")
        return {*known, *(schema.with_role("sensitive") if self.sensitive is None else self.sensitive)}


def grid_of(text: str | None, rule: str | None) -> tuple[float, ...]:
    """Return the epsilons of ``low:high``, or the usual ones."""
    from sfumato.risk.homogeneity.curves import default_range, epsilon_grid

    if text is None:
        return epsilon_grid(*default_range(rule))
    low, _, high = text.partition(":")
    try:
        return epsilon_grid(float(low), float(high))
    except ValueError as error:
        raise RiskError(
            f"--epsilon-range {text!r} is not of the form low:high", next_step="write --epsilon-range 0.01:30"
        ) from error


def read_table(source: str, pilot: str | None, schema: Schema, asked: Columns, dialect: Dialect) -> Table:
    """Return the table that is counted: DATA, or the pilot, of which the columns of the cells alone are needed."""
    from sfumato.table import read

    wanted = _pilot_schema(schema, asked) if pilot else schema
    table = read(pilot or source, wanted, **dialect.stated())
    table.require_valid()
    return table


def _pilot_schema(schema: Schema, asked: Columns) -> Schema:
    """Return what a pilot must hold: the columns of the cells, and as many rows as it likes."""
    wanted = {*asked.of(schema), schema.person}
    columns = tuple(column for column in schema if column.name in wanted)
    rules = tuple(rule for rule in schema.rules if set(rule.columns) <= wanted)
    return replace(schema, columns=columns, rules=rules, adjacency="add-remove", rows=None) if columns else schema
