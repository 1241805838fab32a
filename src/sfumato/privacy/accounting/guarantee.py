"""The guarantee of a release: kind, parameters, adjacency, and its statement in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sfumato.errors import AccountingError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.strength import (
    MOST_DELTA,
    MOST_EPSILON,
    Band,
    is_almost_certain,
    most_certainty_text,
    most_common_delta,
    odds_factor_text,
    strength_band,
    warnings,
)
from sfumato.privacy.exact import at_most, format_fraction, percent_at_most, round_up, to_fraction
from sfumato.reprs import ReprMixin

if TYPE_CHECKING:
    from sfumato.privacy.accounting.privacy_curve import PrivacyCurve

GuaranteeKind = Literal["pure", "approximate", "zero-concentrated", "probabilistic", "asymptotic", "heuristic"]
EXPOSURES = {
    "asymptotic": "asymptotic, local, draw-based; not differential privacy",
    "heuristic": "heuristic: no differential privacy",
}
"""What every release without a formal guarantee is labelled with."""
FORMAL_KINDS = ("pure", "approximate", "zero-concentrated", "probabilistic")
PROTECTION: dict[Band, str] = {
    "strong": "This is a strong promise: {subject} stays hidden within these odds.",
    "moderate": "This is a moderate promise: {subject} is protected within these odds, and no further.",
    "weak": "This is a weak promise: {subject} is hardly protected.",
    "none in effect": "In effect this promises nothing: {subject} is not protected.",
}
"""What each band says about that which one neighbouring change touches."""
ONE_VALUE = "the value of "
"""How the unit begins where only one value of a row is protected, and the rest of the row is released as it is."""
UNCOVERED = "the guarantee does not cover what they give away"
UNCOVERED_CHOICES = "the guarantee does not cover what these choices give away"
"""How an assumption ends that names facts of the schema which were taken from the private rows."""
DETAILS = re.compile(r" \([^()]*\)(?= in one row$)")
"""What stands in brackets at the end of such a unit, such as the edges of public brackets."""


def one_unit(unit: str) -> str:
    """Return one unit in words.

    >>> one_unit("row"), one_unit("the value of y in one row")
    ('one row', 'the value of y in one row')
    """
    return unit if unit.startswith(ONE_VALUE) else f"one {unit}"


SHOWN_BESIDE = {"buy": "facts of the schema that were bought", "quality": "earlier quality statements"}
THE_RELEASE = "the release that this is about"
"""What events that were charged apart paid for, by their method."""


def _pair(epsilon: Fraction, delta: Fraction) -> str:
    return f"epsilon {format_fraction(epsilon)}" + (f" and delta {float(delta):.3g}" if delta else "")


def for_one_unit(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return events for the narrowest unit among them: changing one value replaces the row, whose cost covers it."""
    values = {event.unit for event in events if event.unit.startswith(ONE_VALUE)}
    if len(values) != 1 or any(event.adjacency != "replace" for event in events):
        return tuple(events)
    narrow = {"unit": values.pop()}
    return tuple(event.model_copy(update=narrow) if event.unit == "row" else event for event in events)


class LadderSelection(BaseModel):
    """A ladder of candidate releases, fixed before the first, that stopped at a noisy success.

    The whole ladder is what a plain guarantee must count: that it stopped here, and not elsewhere, is seen. The part
    that was climbed bounds the outcome that happened (:mod:`sfumato.evaluate.calibrate.private_selection`, Theorem 1).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    parameter: str
    values: tuple[float, ...]
    """All candidates, from the first rung up."""
    climbed: int
    """How many of them were released and scored; the last of these is the one that is kept."""
    target: str
    score_epsilon: str
    beta: float
    spent_epsilon: str
    spent_delta: str
    """What the climbed candidates and their scores cost together."""
    unclimbed: tuple[Event, ...]
    """Events of the rungs above: never run, but part of what could have been seen."""


class Guarantee(ReprMixin, BaseModel):
    """Kind, parameters and adjacency of a promise; ``statement()`` says it in plain words.

    >>> g = Guarantee(kind="pure", epsilon="1", adjacency="add-remove", table="people")
    >>> print(g.headline())
    Guarantee: differential privacy with epsilon = 1, for adding or removing one row of table 'people'.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: GuaranteeKind
    epsilon: str | None = None
    delta: str = "0"
    adjacency: Literal["add-remove", "replace"] = "add-remove"
    unit: str = "row"
    rows: int | None = None
    table: str = ""
    randomness: Literal["secure", "seeded"] = "secure"
    recorded: bool = False
    assumptions: tuple[str, ...] = ()
    allowed_weak: bool = False
    """The custodian allowed by name a promise beyond the limits of :mod:`sfumato.privacy.accounting.strength`."""
    uncharged: str = ""
    """A parameter that was chosen by looking at the private table, uncharged: the promise does not cover that."""
    selection: LadderSelection | None = None
    """The charged selection that kept this release; epsilon and delta are those of the whole of it."""
    beside: tuple[Event, ...] = Field(default=(), exclude_if=lambda events: not events)
    """Events that were charged apart and whose output is shown as well: purchases of facts, a release and its quality
    statements. Epsilon and delta count them; what is charged now does not."""
    _events: ClassVar[tuple[Event, ...]] = ()
    """What was run, from which the curve is computed; no file holds it here, since events stand beside the promise."""

    @model_validator(mode="after")
    def _sound_parameters(self) -> Self:
        if self.formal and self.epsilon is None:
            raise AccountingError(
                f"a guarantee of the {self.kind} kind needs an epsilon",
                next_step="give epsilon, or state an exposure: kind 'heuristic' or 'asymptotic'",
            )
        if not self.formal and (
            self.epsilon is not None or to_fraction(self.delta, "delta") or self.selection is not None
        ):
            raise AccountingError(
                f"a release of the {self.kind} kind is an exposure: it has no epsilon and no delta",
                next_step="leave them out; its parameters bound nothing",
            )
        if self.exact_epsilon < 0 or not 0 <= self.exact_delta <= 1:
            raise AccountingError(
                f"no guarantee has epsilon {self.epsilon} and delta {self.delta}",
                next_step="give an epsilon of at least 0 and a delta between 0 and 1",
            )
        return self

    def resting_on(self, events: Sequence[Event]) -> Self:
        """Return the guarantee with the events that it was computed from; two guarantees are equal without them."""
        copy = self.model_copy()
        object.__setattr__(copy, "_events", tuple(events))
        return copy

    @property
    def curve(self) -> PrivacyCurve:
        """The whole trade-off between an attacker's hits and false alarms, for a formal promise.

        It is computed from the events where they are known and add up to what is stated at least; otherwise it is the
        worst that the stated epsilon and delta allow. An exposure has none: AccountingError.
        """
        from sfumato.privacy.accounting.privacy_curve import PrivacyCurve, privacy_curve

        if not self.formal:
            raise AccountingError(
                f"a release of the {self.kind} kind has no privacy curve: nothing bounds what an attacker learns",
                next_step="measure its risks by attacks, or use a method with a formal guarantee",
            )
        pair = round_up(self.exact_epsilon), min(1.0, round_up(self.exact_delta))
        events = self._covering_events()
        return privacy_curve(events).holding(*pair) if events else PrivacyCurve.of_pair(*pair)

    def _covering_events(self) -> tuple[Event, ...]:
        """Return all events that the promise covers, or none where they state less than it does."""
        events = self.counted(self._events) if self._events else ()
        if not all(event.is_formal for event in events):
            return ()
        epsilon = sum((event.cost[0] for event in events), Fraction(0))
        delta = sum((event.cost[1] for event in events), Fraction(0))
        return events if epsilon >= self.exact_epsilon and delta >= self.exact_delta else ()

    def counted(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """Return all events that epsilon and delta count: these, rungs not climbed, and what was charged apart."""
        unclimbed = () if self.selection is None else self.selection.unclimbed
        return for_one_unit((*events, *unclimbed, *self.beside))

    @property
    def formal(self) -> bool:
        """Whether the promise is a theorem that composes; otherwise the release is an exposure."""
        return self.kind in FORMAL_KINDS

    @property
    def exact_epsilon(self) -> Fraction:
        """Epsilon as an exact fraction."""
        return to_fraction(self.epsilon or "0")

    @property
    def exact_delta(self) -> Fraction:
        """Delta as an exact fraction."""
        return to_fraction(self.delta, "delta")

    @property
    def band(self) -> Band:
        """How strong a formal promise is, in a word."""
        return strength_band(self.exact_epsilon, self.exact_delta, self._public_rows)

    @property
    def is_weak(self) -> bool:
        """Whether a formal promise is weak or none in effect."""
        return self.formal and self.band in ("weak", "none in effect")

    @property
    def takes_facts_from_rows(self) -> bool:
        """Whether facts of the schema were taken from the private rows, which a formal promise does not cover."""
        return any(assumption.endswith(UNCOVERED) for assumption in self.assumptions)

    @property
    def rests_on_looks(self) -> bool:
        """Whether something was decided by looking at the private rows, which a formal promise does not cover."""
        return any(assumption.endswith(UNCOVERED_CHOICES) for assumption in self.assumptions)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about epsilon and delta; empty where none is due."""
        return warnings(self.exact_epsilon, self.exact_delta, self._public_rows) if self.formal else ()

    @property
    def in_total(self) -> tuple[str, ...]:
        """The sentence on totals where a part was charged separately: this charge, and what stands beside it."""
        if not self.beside:
            return ()
        apart: dict[str, tuple[Fraction, Fraction]] = {}
        for each in self.beside:
            name = SHOWN_BESIDE.get(each.method, THE_RELEASE)
            before = apart.get(name, (Fraction(0), Fraction(0)))
            apart[name] = before[0] + each.cost[0], before[1] + each.cost[1]
        own = (
            self.exact_epsilon - sum(e for e, _ in apart.values()),
            self.exact_delta - sum(d for _, d in apart.values()),
        )
        parts = [f"{_pair(*cost)} for {name}" for name, cost in apart.items()]
        total = _pair(self.exact_epsilon, self.exact_delta)
        return (
            f"in total {total} for everything that is shown: {_pair(*own)} for this step, and, charged separately, "
            f"{', '.join(parts)}",
        )

    @property
    def _public_rows(self) -> int | None:
        return self.rows if self.adjacency == "replace" else None

    def _line(self) -> str:
        return self.headline().removeprefix("Guarantee: ").removesuffix(".")

    def _lines(self) -> list[tuple[str, str]]:
        strength = [("strength", self.band), ("in words", self.protection())] if self.formal else []
        recorded = "yes" if self.recorded else "no: no cap protects the table"
        rests = [("rests on", words) for words in self.assumptions]
        return [("kind", self.kind), *strength, *rests, ("recorded in a ledger", recorded)]

    def statement(self) -> str:
        """Return the promise in plain words."""
        lines = [self.headline(), *(self._formal_lines() if self.formal else self._exposure_lines())]
        lines += [f"It rests on this: {assumption}." for assumption in self.assumptions]
        if self.randomness == "seeded":
            lines.append("NOT FOR RELEASE: the noise came from a fixed seed; whoever knows the seed can remove it.")
        if not self.recorded:
            lines.append(
                "The cost of this release was not recorded: no ledger was given, so no cap protects the table."
            )
        return "\n".join(lines)

    def headline(self) -> str:
        """Return the guarantee in one sentence, for files that travel alone."""
        if not self.formal:
            label = EXPOSURES.get(self.kind, self.kind)
            return f"No formal guarantee ({label}). It counts as an exposure and is never added to a privacy total."
        delta = f" and delta = {at_most(self.exact_delta, 3)}" if self.exact_delta else ""
        name = {"zero-concentrated": "zero-concentrated ", "probabilistic": "probabilistic "}.get(self.kind, "")
        return (
            f"Guarantee{self._gap()}: {name}differential privacy with epsilon = "
            f"{format_fraction(self.exact_epsilon)}{delta}, for {self.change()} of table {self.table!r}."
        )

    def _gap(self) -> str:
        """Return what the promise leaves out: nobody should read its first sentence alone and not know."""
        chosen = f"how {self.uncharged} was chosen (by looking at the private table, uncharged)"
        taken = "the facts of its schema that were taken from the private rows"
        looks = "what was decided by looking at the rows"
        gaps = [chosen] * bool(self.uncharged) + [taken] * self.takes_facts_from_rows + [looks] * self.rests_on_looks
        return f" that does not cover {', nor '.join(gaps)}" if gaps else ""

    def change(self) -> str:
        """Return the difference of two neighbouring tables: "adding or removing one row"."""
        verb = "adding or removing" if self.adjacency == "add-remove" else "replacing"
        return f"{'changing' if self.unit.startswith(ONE_VALUE) else verb} {one_unit(self.unit)}"

    def _in_brief(self) -> str:
        """Return the same without the details that stand in brackets: the headline has told them."""
        return DETAILS.sub("", self.change()) if self.unit.startswith(ONE_VALUE) else self.change()

    def protection(self) -> str:
        """Return in one sentence how well that is protected which one neighbouring change touches."""
        if self.uncharged:
            return f"Nothing bounds what the choice of {self.uncharged} itself shows about {self._subject()}."
        return PROTECTION[self.band].format(subject=self._subject())

    def odds(self) -> str:
        """Return the most that even odds can become, delta included."""
        epsilon, delta = self.exact_epsilon, self.exact_delta
        certainty = most_certainty_text(epsilon, delta)
        if is_almost_certain(epsilon, delta):
            return f"almost certain afterwards ({certainty})"
        return (
            f"right afterwards with a probability of at most {certainty}"
            if delta
            else f"at most {certainty} sure afterwards"
        )

    def frequencies(self) -> str:
        """Return how often attacks can succeed, and beside it what only epsilon bounds: always both."""
        from sfumato.privacy.accounting.strength import advantage_text, attack_frequency_text

        curve, other = self.curve, "with another in its place" if self._is_swap() else "without it"
        chance = f", up to a probability of {at_most(self.exact_delta, 3)}" if self.exact_delta else ""
        return (
            f"{attack_frequency_text(curve)}, where a guess singles out, links, infers or reconstructs something of "
            f"{one_unit(self._noun())}, and without means from a release made {other}; {advantage_text(curve)}. "
            f"These are averages over guesses: what one unlucky outcome shows is bounded by epsilon alone, by a factor "
            f"of at most {odds_factor_text(self.exact_epsilon)}{chance}."
        )

    def _is_swap(self) -> bool:
        return self.adjacency == "replace" or self.unit.startswith(ONE_VALUE)

    def _noun(self) -> str:
        """Return the unit without what stands in brackets behind it."""
        return self.unit.partition(" (")[0]

    def _subject(self) -> str:
        if self.unit.startswith(ONE_VALUE):
            return DETAILS.sub("", self.unit)
        if self.adjacency == "replace":
            return f"what a {self._noun()} holds"
        return f"whether a {self._noun()} is in the table at all"

    def even_odds_subject(self) -> str:
        """Return the statement on which an attacker gives even odds."""
        if self.unit.startswith(ONE_VALUE):
            return f"two values of {DETAILS.sub('', self.unit).removeprefix(ONE_VALUE)}"
        return f"one {self._noun()}"

    def _formal_lines(self) -> list[str]:
        bound = f"a factor of at most {odds_factor_text(self.exact_epsilon)}"
        verb = "moves" if self.unit.startswith(ONE_VALUE) else "changes"
        lines = [
            f"In plain words{self._scope()}: {self._in_brief()} {verb} the probability of anything that this release "
            f"can show by {bound}{self._slack()}. Someone who gave even odds on {self.even_odds_subject()} before "
            f"seeing it can be {self.odds()}, whatever else they know and however they compute."
        ]
        lines += [f"In frequencies{self._scope()}: {self.frequencies()}"]
        lines += [self.protection(), *self._adjacency_lines(), *self._composition_lines()]
        lines += self._selection_lines()
        lines += [f"Warning: {warning}." for warning in self.warnings]
        if self.allowed_weak:
            lines.append(
                f"The custodian allowed this weak guarantee by name (allow_weak): without that, epsilon above "
                f"{format_fraction(MOST_EPSILON)} or delta above {format_fraction(MOST_DELTA)} is refused."
            )
        return lines

    def _scope(self) -> str:
        return f", as if {self.uncharged} had been fixed beforehand" if self.uncharged else ""

    def _slack(self) -> str:
        delta = self.exact_delta
        if not delta:
            return ""
        if delta > most_common_delta(self._public_rows):
            return f", apart from a probability of {percent_at_most(delta)} with which anything about it may be shown"
        return f", up to an additional probability of at most {at_most(delta, 3)} (one in {math.floor(1 / delta):,})"

    def _adjacency_lines(self) -> list[str]:
        if self.unit.startswith(ONE_VALUE):
            return [
                "Only that value is covered. Whatever else of the row is released is released as it is, and the number "
                "of rows is public."
            ]
        if self.adjacency == "replace":
            return [
                f"The number of rows ({self.rows}) is public. Where counts are released, replacing a row takes it out "
                "of one cell and puts it into another, so the same Laplace noise costs twice what it costs under "
                "add-remove: the noise here allows for that."
            ]
        return ["The same holds for the number of rows."]

    def _composition_lines(self) -> list[str]:
        return [f"{line[0].upper()}{line[1:]}." for line in self.in_total]

    def _selection_lines(self) -> list[str]:
        chosen = self.selection
        if chosen is None:
            return []
        where = f"{chosen.climbed} of {len(chosen.values)}"
        lines = [
            f"That is the cost of the whole ladder: {chosen.parameter} was chosen on the private table by a charged "
            f"selection ({chosen.target}) that might have gone up to {chosen.parameter} = {chosen.values[-1]:g}, and "
            f"where it stopped is seen. It stopped at candidate {where}, {chosen.parameter} = "
            f"{chosen.values[chosen.climbed - 1]:g}; candidates and scores up to there cost epsilon "
            f"{format_fraction(to_fraction(chosen.spent_epsilon))} together."
        ]
        if not self.exact_delta and chosen.unclimbed:
            spent = to_fraction(chosen.spent_epsilon) + sum(each.cost[0] for each in self.beside)
            lines.append(
                f"For what came out the bound is tighter (ex post: it was not known beforehand): {self.change()} "
                f"changes the probability of this very outcome by a factor of at most {odds_factor_text(spent)}."
            )
        return lines

    def _exposure_lines(self) -> list[str]:
        return ["Its parameters are not a bound on what can be learned. Read the measured risks before publishing."]


class WithGuaranteeAndEvents(BaseModel):
    """A document that holds a guarantee and the events that it rests on: read back, the guarantee knows them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="after")
    def _rests_on_events(self) -> Self:
        fields = vars(self)
        fields["guarantee"] = fields["guarantee"].resting_on(fields["events"])
        return self
