"""What a release promises, in a form that software can check and a lawyer can read."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sfumato.privacy.exact import exact, show

GuaranteeKind = Literal["pure", "approximate", "zero-concentrated", "probabilistic", "asymptotic", "heuristic"]
EXPOSURES = {
    "asymptotic": "asymptotic, local, draw-based; not differential privacy",
    "heuristic": "heuristic: no differential privacy",
}
"""What every release without a formal guarantee is labelled with."""
FORMAL_KINDS = ("pure", "approximate", "zero-concentrated", "probabilistic")


class Guarantee(BaseModel):
    """Kind, parameters and adjacency of a promise; ``statement()`` says it in plain words.

    >>> g = Guarantee(kind="pure", epsilon="1", adjacency="add-remove", table="people")
    >>> print(g.statement().splitlines()[0])
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

    @property
    def formal(self) -> bool:
        """Whether the promise is a theorem that composes; otherwise the release is an exposure."""
        return self.kind in FORMAL_KINDS

    @property
    def exact_epsilon(self) -> Fraction:
        """Epsilon as an exact fraction."""
        return exact(self.epsilon or "0")

    def statement(self) -> str:
        """Return the promise in plain words."""
        lines = [self._headline(), *(self._formal_lines() if self.formal else self._exposure_lines())]
        lines += [f"It rests on this: {assumption}." for assumption in self.assumptions]
        if self.randomness == "seeded":
            lines.append("NOT FOR RELEASE: the noise came from a fixed seed; whoever knows the seed can remove it.")
        if not self.recorded:
            lines.append(
                "The cost of this release was not recorded: no ledger was given, so no cap protects the table."
            )
        return "\n".join(lines)

    def _change(self) -> str:
        verb = "adding or removing" if self.adjacency == "add-remove" else "replacing"
        return f"{verb} one {self.unit}"

    def _headline(self) -> str:
        if not self.formal:
            label = EXPOSURES.get(self.kind, self.kind)
            return f"No formal guarantee ({label}). It counts as an exposure and is never added to a privacy total."
        delta = f" and delta = {float(exact(self.delta)):.3g}" if exact(self.delta) else ""
        name = {"zero-concentrated": "zero-concentrated ", "probabilistic": "probabilistic "}.get(self.kind, "")
        return (
            f"Guarantee: {name}differential privacy with epsilon = {show(self.exact_epsilon)}{delta}, "
            f"for {self._change()} of table {self.table!r}."
        )

    def _formal_lines(self) -> list[str]:
        factor = math.exp(min(float(self.exact_epsilon), 700.0))
        certainty = 100 / (1 + math.exp(-float(self.exact_epsilon)))
        lines = [
            f"In plain words: {self._change()} changes the probability of anything that this release can show "
            f"by a factor of at most {factor:.4g}. Someone who gave even odds on one {self.unit} before seeing it can "
            f"be at most {certainty:.3g} % sure afterwards, whatever else they know and however they compute."
        ]
        if exact(self.delta):
            slack = float(exact(self.delta))
            lines.append(f"Both hold up to an additional probability of at most {slack:.3g} (one in {1 / slack:,.0f}).")
        return lines + self._adjacency_lines()

    def _adjacency_lines(self) -> list[str]:
        if self.adjacency == "replace":
            return [
                f"The number of rows ({self.rows}) is public; the content of each row is what is hidden. Where counts "
                "are released, replacing a row takes it out of one cell and puts it into another, so the same Laplace "
                "noise costs twice what it costs under add-remove: the noise here allows for that."
            ]
        return [f"Whether a {self.unit} is in the table at all is hidden, and so is the number of rows."]

    def _exposure_lines(self) -> list[str]:
        return ["Its parameters are not a bound on what can be learned. Read the measured risks before publishing."]
