"""How often a release runs its method again for its report: settled before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.release.method import Method
    from sfumato.release.plan import Plan


def sound_wish(reruns: int | None) -> int | None:
    """Return the number of reruns that was asked for, here or in the environment; refuse it before the spend."""
    from sfumato.uncertainty.main_numbers import reruns_said
    from sfumato.uncertainty.uncertainty import sound_reruns

    wish = reruns_said() if reruns is None else reruns
    return sound_reruns(wish) if wish else wish


def reruns_for(method: Method, planned: Plan, wish: int | None) -> int:
    """Return how often the method will be run on the released rows for the report: settled before anything is spent."""
    from sfumato.uncertainty.main_numbers import reruns_that_fit

    if method.makes != "rows" or not all(event.is_formal for event in planned.events):
        return 0
    return reruns_that_fit(planned) if wish is None else wish
