"""PseudoPosteriorAsPublished: risk-weighted posterior draws, recorded as an exposure.

The standards "unweighted", "weighted", "averaged", "truncated" and "capped" are exposures: asymptotic, local,
draw-based; not differential privacy (:mod:`sfumato.papers.range_restriction.published.run`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.constraints.draw_rows import shuffled_copies, unchanged_columns_note
from sfumato.core.custom_objects import (
    CustomObject,
    custom_object_names,
    is_custom_object,
    refuse_missing_objects,
)
from sfumato.core.method import Makes, Output, parameters_of
from sfumato.core.parameters import (
    check_parameters,
    epsilon_problems,
    name_problems,
    number_problems,
    share_problems,
)
from sfumato.core.plan import Plan, PlanFacts, Stage, check_row_count, event_facts, refuse_memory
from sfumato.errors import PlanError
from sfumato.mechanisms.pseudo_posterior.column_models import (
    naming_problems,
    predictors_of,
    refuse_columns,
)
from sfumato.papers.range_restriction.published.column_models import (
    Families,
    PublishedColumnModel,
    column_models,
    family_choice_problems,
)
from sfumato.papers.range_restriction.published.ranges import (
    Gammas,
    Ranges,
    gamma_column,
    gamma_column_problems,
    gamma_problems,
    range_columns,
    range_problems,
    read_gammas,
    read_ranges,
    refuse_ranges,
)
from sfumato.papers.range_restriction.published.run import refuse_draws, run_published, try_fit
from sfumato.papers.range_restriction.published.weights import WITH_RANGES, Weighting, standard_problems
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.canonical_json import to_jsonable
from sfumato.privacy.exact import Number, shorten_for_message, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.schema.column_selection import complete_numbers, names_of
from sfumato.table.rows import column_arrays
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table

WHOLE = ("chains", "warmup", "draws")
"""What chains are given in whole numbers; ``accept`` is a share."""
ALL_ROWS = "rows is ignored: columns that are released as they are decide how many there are"
MOST_COPIES = 1000
MOST_DRAWS = 1_000_000
BYTES_PER_VALUE = 64


@checked_parameters
@dataclass(frozen=True)
class PseudoPosteriorAsPublished:
    """Synthetic values of one column, or of several in order, given predictors: as printed, without a guarantee.

    ``standard`` is "unweighted", "weighted", "averaged", "truncated" or "capped". Predictors are released as they are;
    ``predictors`` may be "none". ``family`` is a name, "auto", a ``Model`` of one's own, or a mapping by column.
    ``ranges`` is "brackets" (the schema's public bins of the target), a pair (a, b), or a mapping:
    {"radius": [a, b], "tail": [a, b], "share": q}, {"brackets": edges} or {"columns": [low, high]} for factors by
    record; in Python also a function from the values to the two ends. ``gamma``, in place of ranges, is the share of
    each record that is taken to be known (equations 20 and 21): a column, or in Python a function of the values.
    ``target_claim`` scales the weights until what the paper calls epsilon meets it: a claim, which guarantees nothing.
    ``unit`` names the unit of the target or is a number to divide by: the claim depends on it. ``sampling`` says how
    chains are run where a family needs them, such as {"warmup": 2000, "draws": 2000, "accept": 0.95}.
    """

    target: str | Sequence[str]
    predictors: Sequence[str]
    family: Families
    standard: str
    ranges: Any = None
    scale: Number | None = None
    shift: Number = 0.0
    target_claim: Number | None = None
    draws: int = 1000
    copies: int = 1
    unit: Number | str | None = None
    gamma: Any = None
    sampling: Mapping[str, Number] | None = None

    name: ClassVar[str] = "pseudo-posterior-as-published"
    summary: ClassVar[str] = "synthetic columns drawn from a posterior weighted by risk, as the paper printed it"
    about: ClassVar[str] = "Target columns are drawn from a model. Predictors are released as they are."
    formal: ClassVar[bool | None] = False
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        for own in ("ranges", "gamma"):
            object.__setattr__(self, own, CustomObject.of(getattr(self, own)))
        check_parameters(self, self._problems())
        object.__setattr__(self, "target", names_of(self.target))
        object.__setattr__(self, "predictors", predictors_of(self.predictors))
        for whole in ("draws", "copies"):
            object.__setattr__(self, whole, int(to_fraction(getattr(self, whole), whole)))
        self._weighting(None, None)

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns to synthesise, in order."""
        return tuple(self.target)

    def _problems(self) -> list[str]:
        unnamed = name_problems(self.target, "target") + name_problems(self.predictors or (), "predictors")
        named = [] if unnamed else self._column_problems()
        parts = range_problems(self.ranges) + gamma_problems(self.gamma)
        standard = standard_problems(self.standard, self.ranges, self.gamma, self.target_claim)
        return [*named, *self._number_problems(), *standard, *parts]

    def _column_problems(self) -> list[str]:
        targets, predictors = names_of(self.target), predictors_of(self.predictors)
        problems = naming_problems(targets, predictors)
        if (self.ranges is not None or self.gamma is not None) and len(targets) > 1:
            problems.append("ranges and gamma need a single target")
        return problems + family_choice_problems(self.family, targets)

    def _number_problems(self) -> list[str]:
        problems = number_problems(self.draws, "draws", "1", str(MOST_DRAWS), whole=True)
        problems += number_problems(self.copies, "copies", "1", str(MOST_COPIES), whole=True)
        if not problems and to_fraction(self.copies) > to_fraction(self.draws):
            problems.append(f"copies must be at most draws ({self.draws}), found {self.copies}")
        if self.scale is not None:
            problems += number_problems(self.scale, "scale", "1e-9", "1e9")
        problems += number_problems(self.shift, "shift", "-1e9", "1e9")
        if self.target_claim is not None:
            problems += epsilon_problems(self.target_claim, "target_claim")
        return problems + _unit_problems(self.unit) + _sampling_problems(self.sampling)

    def _weighting(self, ranges: Ranges | None, gammas: Gammas | None) -> Weighting:
        target = None if self.target_claim is None else float(to_fraction(self.target_claim, "target_claim"))
        known = ranges is not None or gammas is not None
        standard = self.standard if known or self.standard not in WITH_RANGES else "weighted"
        return Weighting(
            standard,
            1.0 if self.scale is None else float(to_fraction(self.scale, "scale")),
            float(to_fraction(self.shift, "shift")),
            ranges,
            self.draws,
            target,
            gammas=gammas,
        )

    def _weighting_of(self, schema: Schema, values: Mapping[str, NDArray[Any]]) -> Weighting:
        """Return the weighting with what its ranges or its gamma read of the rows."""
        ranges = read_ranges(self.ranges, schema[self.targets[0]], values, self._factor())
        return self._weighting(ranges, read_gammas(self.gamma, values))

    def models(self, schema: Schema) -> tuple[PublishedColumnModel, ...]:
        """Return the models of the targets, or refuse with every problem."""
        refuse_columns(self.name, schema, self._read_columns())
        return column_models(schema, self.targets, self.predictors, self.family, sampling=self._sampling)

    @property
    def _sampling(self) -> dict[str, Any] | None:
        """How chains are run, as numbers; None where nothing is said."""
        if self.sampling is None:
            return None
        read = {name: to_fraction(value, name) for name, value in self.sampling.items()}
        return {name: int(value) if name in WHOLE else float(value) for name, value in read.items()}

    def require_table(self, table: Table, plan: Plan) -> None:
        """Refuse rows that cannot be fitted, by fitting them."""
        refuse_missing_objects(parameters_of(self))
        values = column_arrays(table, self._read_columns())
        weighting, trial = self._weighting_of(table.schema, values), np.random.default_rng(0)
        try_fit(self.models(table.schema), values, weighting, self._factor(), trial)

    def _read_columns(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys((*self.targets, *self.predictors, *range_columns(self.ranges), *gamma_column(self.gamma)))
        )

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release: what is not named is left out."""
        return schema.in_order((*self.targets, *self.predictors))

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        check_row_count(rows)
        models = self.models(schema)
        refuse_ranges(self.ranges, schema, self.targets[0])
        if problems := gamma_column_problems(self.gamma, schema):
            raise PlanError(f"gamma does not fit table {schema.name!r}", problems, "name a column of shares")
        refuse_draws(models, self.draws)
        memory = (schema.rows or 0) * BYTES_PER_VALUE * (len(models) + len(self.predictors)) * (1 + self.copies)
        refuse_memory(memory, "the rows and their copies", "ask for fewer copies")
        stages = tuple(
            Stage(
                name=f"{model.column.name} by {model.words}",
                cells=self.copies,
                noise=self._standard,
                scale=float(self.draws),
                epsilon="none",
                share=str(1 / len(models)),
            )
            for model in models
        )
        words = f"{self._standard}; families {', '.join(m.words for m in models)}; {self.draws} draws"
        words = "; ".join((words, *unchanged_columns_note(self.predictors)))
        event = Event(kind="asymptotic", note=words, **event_facts(self.name, schema, randomness))
        facts: PlanFacts = {"cells": self.copies * len(models), "notes": self._notes(schema, rows)}
        return Plan.for_(self.name, schema, stages, (event,) * self.copies, memory or BYTES_PER_VALUE, **facts)

    @property
    def _standard(self) -> str:
        """The standard in words: own gammas and own ranges belong to it."""
        if self.gamma is not None:
            return "averaged, with the custodian's own gamma"
        own = isinstance(self.ranges, CustomObject) or is_custom_object(self.ranges)
        return f"{self.standard}, with the custodian's own ranges" if own else self.standard

    def _notes(self, schema: Schema, rows: int | None) -> tuple[str, ...]:
        left = [name for name in schema.releasable if name not in (*self.targets, *self.predictors)]
        notes = [*unchanged_columns_note(self.predictors), *(() if rows is None else (ALL_ROWS,))]
        notes += [f"left out of the release: {', '.join(left)}"] if left else []
        if names := custom_object_names(to_jsonable(parameters_of(self))):
            notes.append(
                f"{', '.join(names)}: the custodian's own, written in Python; no file of this release holds it, and "
                "nothing here has checked that it is right"
            )
        if (
            self.ranges is not None
            and self.ranges != "brackets"
            and not (isinstance(self.ranges, Mapping) and "brackets" in self.ranges)
        ):
            notes.append("a range around each value gives the value away: never publish it; public brackets are sound")
        return tuple(notes)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        return (DataRequest("all rows, which are held in memory", "rows", times=2),)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Read the rows, fit, and synthesise."""
        schema, models = table.schema, self.models(table.schema)
        refuse_missing_objects(parameters_of(self))
        values, factor = column_arrays(table, self._read_columns()), self._factor()
        known = {name: column for name, column in values.items() if name in (*self.targets, *self.predictors)}
        made = run_published(
            models, known, self._weighting_of(schema, values), self.copies, factor, randomness.generator
        )
        released = shuffled_copies(schema, [known | copy for copy in made.copies], randomness.generator)
        tables = {
            (f"synthetic-{i}",) if self.copies > 1 else ("synthetic",): table
            for i, (table, _) in enumerate(released, 1)
        }
        facts = {
            "unit": self._unit(schema),
            "family": ", ".join(m.words for m in models),
            "standard": self._standard,
            "copies": self.copies,
            "draws": self.draws,
            "not_synthesised": list(self.predictors),
        }
        broken = {"rows_left_out_for_rules": sum(count for _, count in released)}
        return Output(tables, single=self.copies == 1, statistics=facts, confidential=made.confidential | broken)

    def _factor(self) -> float:
        """Return the number that the target is divided by, 1 where the unit is a word."""
        return 1.0 if self.unit is None or _is_word(self.unit) else float(to_fraction(self.unit, "unit"))

    def _unit(self, schema: Schema) -> str:
        stated = schema[self.targets[0]].unit or "as stored"
        return stated if self.unit is None else str(self.unit)

    @classmethod
    def example(cls, schema: Schema) -> PseudoPosteriorAsPublished:
        """Return a small instance that fits a schema."""
        first, second = complete_numbers(schema)[:2]
        return cls(first, [second], "normal", "weighted", draws=100)


def _is_word(unit: Any) -> bool:
    try:
        to_fraction(unit, "unit")
    except PlanError:
        return isinstance(unit, str)
    return False


def _unit_problems(unit: Any) -> list[str]:
    return [] if unit is None or _is_word(unit) else number_problems(unit, "unit", "1e-12", "1e12")


def _sampling_problems(sampling: Any) -> list[str]:
    """Return what is wrong with the settings of chains."""
    if not isinstance(sampling, Mapping):
        return []  # said with the types of all parameters
    stated, known = cast("Mapping[str, Any]", sampling), (*WHOLE, "accept")
    problems = [
        f"sampling has no {shorten_for_message(name)}; it has {', '.join(known)}"
        for name in stated
        if name not in known
    ]
    for name, least in (("chains", "2"), ("warmup", "1"), ("draws", "4")):
        if name in stated:
            problems += number_problems(stated[name], f"sampling {name}", least, str(MOST_DRAWS), whole=True)
    return problems + (share_problems(stated["accept"], "sampling accept") if "accept" in stated else [])
