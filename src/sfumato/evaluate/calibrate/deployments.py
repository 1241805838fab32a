"""Epsilons of published deployments (OpenDP Deployments Registry), for orientation.

The facts (name, curator, year, protected unit, epsilon, delta, rho) are those of the OpenDP Deployments Registry, as it
stated them; nothing was added. They prove nothing about another release: the units differ, and so do the products.
"""

from __future__ import annotations

from collections.abc import Sequence
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
DEPLOYMENTS = (
    Deployment("Iconic scenes and photo sections for iOS apps", "Apple", 2023, "", 1.0, 1.5e-07, None),
    Deployment("Popular Emojis", "Apple", 2017, "Event-level", 4.0, None, None),
    Deployment("Assistive AI", "Microsoft", 2020, "User-level", 4.0, 1e-07, None),
    Deployment("Audience Engagement API", "LinkedIn", 2020, "User-month-level", 34.9, 7e-09, None),
    Deployment("AutoPlay Intent", "Apple", 2017, "User-level", 8.0, None, None),
    Deployment(
        "Israel's National Registry of Live Births of 2014",
        "Israeli Ministry of Health",
        2024,
        "Birth-level",
        9.98,
        None,
        None,
    ),
    Deployment("Broadband Coverage", "Microsoft", 2021, "User-level", 0.2, None, None),
    Deployment(
        "Disclosure Avoidance System for Demographic and Housing Data",
        "U.S. Census Bureau",
        2023,
        "Person-level; housing-unit-level",
        None,
        None,
        15.29,
    ),
    Deployment(
        "Disclosure Avoidance System for Detailed Demographic and Housing Characteristics File A",
        "U.S. Census Bureau",
        2023,
        "Person-level",
        None,
        None,
        19.776,
    ),
    Deployment(
        "Disclosure Avoidance System for Detailed Demographic and Housing Characteristics File B",
        "U.S. Census Bureau",
        2024,
        "Person-level",
        None,
        None,
        17.79,
    ),
    Deployment(
        "Disclosure Avoidance System for Redistricting Data",
        "U.S. Census Bureau",
        2021,
        "Person-level; housing-unit-level",
        None,
        None,
        2.63,
    ),
    Deployment(
        "Disclosure Avoidance System for Supplemental Demographic and Housing Characteristics File",
        "U.S. Census Bureau",
        2024,
        "Person-level",
        None,
        None,
        2.515,
    ),
    Deployment(
        "Census County Business Patterns", "U.S. Census Bureau", 2023, "Business establishment", None, None, 12.058
    ),
    Deployment("COVID-19 Exposure Notification Framework", "Google; Apple", 2021, "User-day-level", 8.0, 1e-06, None),
    Deployment("COVID-19 Search Trends Symptoms", "Google", 2020, "User-day-level", 1.68, None, None),
    Deployment("Community Mobility Place Visits", "Google", 2020, "User-day-level", 2.64, None, None),
    Deployment("HealthKit Usage Statistics", "Apple", 2017, "Event-level", 2.0, None, None),
    Deployment("LinkedIn Hiring Reports", "LinkedIn", 2020, "Event-Month-level", 4.8, 4e-10, None),
    Deployment("Lookup Hints", "Apple", 2016, "User-level", 8.0, None, None),
    Deployment(
        "CTDC Global Victim-Perpetrator Synthetic Dataset",
        "Microsoft; International Organization for Migration",
        2023,
        "User-level",
        12.0,
        5.8e-06,
        None,
    ),
    Deployment("Mobility Trends During Hurricane", "Spectus", 2022, "User-level", 10.0, None, None),
    Deployment("Movement Ranges Map", "Meta", 2020, "User-day-level", 2.0, None, None),
    Deployment(
        "Energy Differential Privacy for OhmConnect Virtual Power Plant Measurement",
        "Recurve",
        2020,
        "User-level",
        4.72,
        5.06e-09,
        None,
    ),
    Deployment("Safari Energy Draining and Crashing Domains", "Apple", 2017, "Event-level", 4.0, None, None),
    Deployment(
        "Synthetic data to test third-party solutions in financial services",
        "Nationwide Building Society; Hazy (now SAS Data Maker)",
        2020,
        "User-account-level",
        5.0,
        None,
        None,
    ),
    Deployment("Shared Mobility Dataset", "Google", 2022, "User-trip-level", 0.66, 2.1e-29, None),
    Deployment("Spanish Next Word Prediction", "Google", 2022, "User-device-level", None, None, 0.81),
    Deployment("Telemetry Collection in Windows", "Microsoft", 2017, "User-quarter-day-level", 1.672, None, None),
    Deployment("FLEX", "Uber", 2018, "Tuple-level", 0.01, None, None),
    Deployment("User-URL Privacy Dataset", "Meta", 2020, "User-level", 1.453, 1e-05, 0.0728),
    Deployment("Vaccine Search Insights", "Google", 2021, "User-level", 2.19, 1e-05, None),
    Deployment("Current Pageviews", "Wikimedia Foundation", 2023, "Device-day-level", None, None, 0.015),
    Deployment(
        "Wikipedia Geoeditors Activity Statistics",
        "Wikimedia Foundation",
        2023,
        "User-month-country-level",
        2.0,
        None,
        None,
    ),
    Deployment("Historical Pageviews", "Wikimedia Foundation", 2023, "Bounded contribution-day", 1.0, None, None),
    Deployment(
        "Wikipedia Russian Editor Activity Statistics",
        "Wikimedia Foundation",
        2023,
        "User account-month-level",
        0.1,
        None,
        None,
    ),
)
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
    return f"{below} state a smaller epsilon than {epsilon:g}, {len(known) - below} as much or a larger one"


def nearest_deployments(epsilon: float, delta: float, each_side: int = 3) -> tuple[tuple[float, Deployment], ...]:
    """Return the products whose epsilons are nearest to one, on both sides."""
    known = by_epsilon(delta)
    place = sum(each < epsilon for each, _ in known)
    return known[max(place - each_side, 0) : place + each_side]
