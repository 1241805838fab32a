"""Python objects given as parameters (models, functions), referred to by name in files.

A release is recorded with its parameters, planned again by ``verify`` and repeated by its script. An object goes by
``own:NAME`` there. Such a name can be planned, which needs public facts alone, but not run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from sfumato.errors import PlanError, SfumatoError, place_of

OWN = "own:"


@dataclass(frozen=True)
class CustomObject:
    """A function of the custodian's own, and the name by which files know it.

    >>> str(CustomObject.of(len)), CustomObject.of("len")
    ('own:len', 'len')
    """

    name: str
    function: Callable[..., Any]

    def __str__(self) -> str:
        return f"{OWN}{self.name}"

    @classmethod
    def of(cls, value: Any) -> Any:
        """Return a function with its name; anything else as it is."""
        if not callable(value) or isinstance(value, CustomObject):
            return value
        return cls(getattr(value, "__name__", type(value).__name__), value)

    def call(self, *arguments: Any) -> Any:
        """Call the function; what goes wrong in it is told as such."""
        with_own_code = f"the function {self.name!r}, which is your own, failed"
        try:
            return self.function(*arguments)
        except SfumatoError:
            raise
        except Exception as error:  # noqa: BLE001  whatever their own code raises, its message may hold a row
            raise PlanError(with_own_code, [place_of(error)], "correct it, and try it on values by itself") from None


def is_custom_object(value: Any) -> bool:
    """Return whether a value is the name of an object that a file cannot hold."""
    return isinstance(value, str) and value.startswith(OWN)


def custom_object_names(parameters: Mapping[str, Any]) -> list[str]:
    """Return the names of such objects among parameters as files hold them.

    >>> custom_object_names({"family": {"x": "own:gumbel"}, "gamma": "known", "ranges": "own:bands"})
    ['gumbel', 'bands']
    """
    names: list[str] = []
    for value in parameters.values():
        parts = cast("Mapping[str, Any]", value).values() if isinstance(value, Mapping) else (value,)
        names += [part.removeprefix(OWN) for part in parts if is_custom_object(part)]
    return names


def refuse_missing_objects(parameters: Mapping[str, Any]) -> None:
    """Refuse to run with the mere name of an object."""
    if absent := custom_object_names(parameters):
        raise PlanError(
            f"{', '.join(absent)}: a Python object of the custodian's own, which no file or command line can hold",
            next_step="in Python, give the object itself in place of its name",
        )
