"""The interface of a method, its output and its fitted model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from sfumato.core.plan import Plan
from sfumato.core.registry import PUBLISHED_FORMS, REGISTRY
from sfumato.errors import PlanError
from sfumato.lazy import load_object
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table

ColumnSet = tuple[str, ...]
Makes = Literal["counts", "rows", "values"]
"""What a method releases: noisy counts of whole domains, synthetic rows, or noisy numbers such as a curve."""
WRONG_SETTINGS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""What a method raises on parameters of a shape that its own checks did not foresee."""


class FittedModelProtocol(Protocol):
    """What a method fitted to noisy answers: rows can be drawn from it again for nothing, since it was paid for.

    Parameters of what writes rows are those of :class:`~sfumato.FittedModel`.
    """

    def promised(self, guarantee: Guarantee, events: Sequence[Event], stamp: str | None) -> Self:
        """Return the model with the guarantee, the events and the stamp of the release that it came from."""
        ...

    def sample(self, rows: int | None = None, seed: int | None = None, rounding: bool = True) -> pa.Table:
        """Return rows drawn from the model."""
        ...

    @property
    def stream(self) -> Callable[..., Iterator[pa.Table]]:
        """Yields such rows batch by batch."""
        ...

    @property
    def write_parquet(self) -> Callable[..., Path]:
        """Writes such rows to one Parquet file that carries the guarantee."""
        ...

    @property
    def write_parts(self) -> Callable[..., Path]:
        """Writes such rows to a folder of Parquet files, drawn here, by processes or by a cluster."""
        ...

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the model to one file."""
        ...


@dataclass(frozen=True)
class Output:
    """What a method hands back: Arrow tables, and statistics that are free post-processing of them."""

    tables: Mapping[ColumnSet, pa.Table]
    single: bool
    statistics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notes: tuple[str, ...] = ()
    model: FittedModelProtocol | None = None
    """The fitted model, where the method has one that can be sampled again; the release attaches its guarantee."""
    confidential: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Numbers computed from private rows without noise, as exposures have them: for the custodian's copy alone."""


@runtime_checkable
class Method(Protocol):
    """A frozen description of how to release. ``plan`` sees the schema only; ``run`` sees the table."""

    name: ClassVar[str]
    summary: ClassVar[str]
    about: ClassVar[str]
    """What a reader of page one must know about the released things, in a sentence or two; may be empty."""
    formal: ClassVar[bool | None]
    """Whether the events of every plan are formal; None where a parameter decides."""
    makes: ClassVar[Makes]

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        ...

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Touch the data. Called only after the plan's events are recorded."""
        ...

    @classmethod
    def example(cls, schema: Schema) -> Method:
        """Return a small instance that fits a schema: the conformance suite and the help text run it."""
        ...


@runtime_checkable
class ChecksTableBeforeSpend(Protocol):
    """A method with needs of its own that only the table can answer; asked before anything is spent."""

    def require_table(self, table: Table, plan: Plan) -> None:
        """Refuse a table on which the method would be of no use."""
        ...


@runtime_checkable
class HasTrueValues(Method, Protocol):
    """A method that releases numbers, and can show the custodian the true ones in tables of the same shape."""

    def true_values(self, table: Table) -> Mapping[ColumnSet, pa.Table]:
        """Return what would be released without noise: confidential."""
        ...


@dataclass(frozen=True)
class MethodInfo:
    """One entry of the registry, as ``sfumato methods`` shows it."""

    name: str
    summary: str
    formal: bool | None
    makes: Makes
    parameters: Mapping[str, str]
    cls: type[Method]


def registered_home(name: str) -> str | None:
    """Return where a method lives, as ``module:class``; None for a name that is not registered."""
    return REGISTRY.get(name, PUBLISHED_FORMS.get(name))


def method_class(name: str) -> type[Method]:
    """Return a method's class by its registered name; what a paper printed is ``NAME-as-published``."""
    home = registered_home(name)
    if home is None:
        raise PlanError(f"there is no method {name!r}", next_step=f"use one of: {', '.join(REGISTRY)}")
    return load_object(home)


def methods() -> dict[str, MethodInfo]:
    """Return every registered method with its parameters."""
    return {name: _info(method_class(name)) for name in REGISTRY}


def published_methods() -> dict[str, MethodInfo]:
    """Return what papers printed: exposures, each beside a formal method (``NAME-as-published``)."""
    return {name: _info(method_class(name)) for name in PUBLISHED_FORMS}


def _info(cls: type[Method]) -> MethodInfo:
    parameters = {f.name: _default(f) for f in dataclasses.fields(cls)}  # pyright: ignore[reportArgumentType]
    return MethodInfo(cls.name, cls.summary, cls.formal, cls.makes, parameters, cls)


def _default(parameter: Any) -> str:
    return "required" if parameter.default is dataclasses.MISSING else repr(parameter.default)


def parameters_of(method: Method) -> dict[str, Any]:
    """Return a method's parameters as plain values, in the order of its fields."""
    return {f.name: getattr(method, f.name) for f in dataclasses.fields(method)}  # pyright: ignore[reportArgumentType]


def with_parameter(method: Method, parameter: str, value: float) -> Method:
    """Return the method with another value of a numeric parameter."""
    known = parameters_of(method)
    if parameter not in known:
        raise PlanError(f"{method.name} has no parameter {parameter!r}", next_step=f"use one of: {', '.join(known)}")
    kinds = {f.name: str(f.type) for f in dataclasses.fields(method)}  # pyright: ignore[reportArgumentType]
    whole = kinds[parameter].startswith("int") and not isinstance(known[parameter], bool)
    changed: Any = round(value) if whole else value
    return dataclasses.replace(method, **{parameter: changed})  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
