"""Epsilons of published deployments (OpenDP Deployments Registry), for orientation.

The facts (name, curator, year, protected unit, epsilon, delta, rho) are those of the OpenDP Deployments Registry, as it
stated them; nothing was added. They prove nothing about another release: the units differ, and so do the products.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from sfumato.privacy.accounting.gaussian_calibration import concentrated_epsilon

SOURCE = "OpenDP Deployments Registry"
CAUTION = (
    "This is for orientation. The protected units differ: an epsilon for one event or one day of a user is spent again "
    "with the next event or day, one for a person or user covers all that the product holds of them. What others took "
    "proves nothing about your table, and no number here was checked by us."
)
USUAL_DELTA = 1e-9
"""At which rho is converted where there is no delta to convert at."""


class Deployment(NamedTuple):
    """One product as the registry states it; a number that it does not state is None, a unit is empty."""

    name: str
    curator: str
    year: int
    unit: str
    epsilon: float | None
    delta: float | None
    rho: float | None

    def epsilon_at(self, delta: float) -> float | None:
        """Return the stated epsilon, or where only rho is stated what it converts to at a delta.

        >>> Deployment("a", "b", 2023, "Person-level", None, None, 2.63).epsilon_at(1e-10)
        17.4
        """
        if self.epsilon is not None or self.rho is None or not delta:
            return self.epsilon
        return float(f"{concentrated_epsilon(self.rho, delta):.3g}")

    @property
    def covers_a_person(self) -> bool:
        """Whether the stated unit is a person or a user, not an event, a day or a device of one."""
        return any(part.strip().lower() in WHOLE for part in self.unit.split(";"))


WHOLE = ("user-level", "person-level")


def _read() -> tuple[Deployment, ...]:
    text = (files("sfumato.evaluate.calibrate") / "deployments.toml").read_text(encoding="utf-8")
    facts = tomllib.loads(text)["deployment"]
    return tuple(Deployment(*(each.get(name) for name in Deployment._fields)) for each in facts)


DEPLOYMENTS = _read()
"""In the order of the registry."""


def by_epsilon(delta: float) -> tuple[tuple[float, Deployment], ...]:
    """Return every product with its epsilon, the smallest first; rho is converted at a delta."""
    known = [(each.epsilon_at(delta or USUAL_DELTA), each) for each in DEPLOYMENTS]
    return tuple(sorted(((epsilon, each) for epsilon, each in known if epsilon is not None), key=lambda pair: pair[0]))


def orientation_text(epsilon: float, delta: float) -> tuple[str, ...]:
    """Say where an epsilon stands among what others took, and that this proves nothing.

    >>> print(orientation_text(2.9, 1e-9)[0])
    Of 35 products in the OpenDP Deployments Registry, 15 state a smaller epsilon than 2.9, 20 as much or a larger one.
    """
    whole = [pair for pair in by_epsilon(delta) if pair[1].covers_a_person]
    converted = sum(each.epsilon is None for each in DEPLOYMENTS)
    return (
        f"Of {len(DEPLOYMENTS)} products in the {SOURCE}, {_sides(by_epsilon(delta), epsilon)}.",
        f"Of the {len(whole)} that protect a person or a user as a whole, {_sides(whole, epsilon)}.",
        f"{converted} state rho instead, which was converted at delta {delta or USUAL_DELTA:.3g}.",
        CAUTION,
    )


def _sides(known: Sequence[tuple[float, Deployment]], epsilon: float) -> str:
    below = sum(each < epsilon for each, _ in known)
    state = "states" if below == 1 else "state"
    return f"{below} {state} a smaller epsilon than {epsilon:g}, {len(known) - below} as much or a larger one"


def nearest_deployments(epsilon: float, delta: float, each_side: int = 3) -> tuple[tuple[float, Deployment], ...]:
    """Return the products whose epsilons are nearest to one, on both sides."""
    known = by_epsilon(delta)
    place = sum(each < epsilon for each, _ in known)
    return known[max(place - each_side, 0) : place + each_side]
