"""A run on one table, forced on a neighbour: the same noisy answers, the same other chance, the same clock.

Differential privacy is about noise and choices. If these are all that a bundle learns from the rows, then a neighbour
that is given the same noisy answers makes the same bundle, to the last byte. :func:`recorded` runs an action and keeps
its answers; :func:`forced` runs it again with these answers and adds up the privacy loss of the run, exactly.
:func:`differences` tells apart what the two wrote.

Three steps draw in secret what no tape holds, since the number of their answers or their law is itself private. They
are sealed: what came out on the first table is handed out on the second (:data:`SEALED`). Their theorems have tests of
their own; here everything around them is compared.
"""

from __future__ import annotations

import datetime
import difflib
import hashlib
import importlib
import os
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato
from sfumato.arrays import as_counts
from sfumato.privacy.accounting.composition import gaussian_mu_of_parts, selections_rho, split_selections
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.noise.noise_recorder import recording
from sfumato.privacy.randomness import Randomness

SOURCE = Path(sfumato.__file__).parent
NOON = datetime.datetime(2026, 11, 18, 12, tzinfo=datetime.UTC)
ROOM = 1e-9
"""Relative room for sums of floats."""
FINGERPRINT = re.compile("[0-9a-f]{12}")
"""What differs wherever anything else does."""
PURE = ("discrete-laplace", "laplace")
SEALED = {
    "sfumato.mechanisms.plausible_deniability.method:attempt_rows": "seeds, candidates and their tests",
    "sfumato.mechanisms.pseudo_posterior.grid_sampler:GridDistribution.draw": "a draw from the clipped posterior",
    "sfumato.dp_schema.run:NoisyCounter.texts": "texts above a threshold",
}
"""Where a step stands whose answers are not on the tape, and what it draws."""


class Departed(BaseException):
    """The neighbour asked for something else than the first table: that it did so is seen, whoever catches errors."""


@dataclass(frozen=True)
class Noised:
    """One table that got noise."""

    law: str
    scale: Fraction
    true: NDArray[np.int64]
    answer: NDArray[np.int64]

    def __str__(self) -> str:
        return f"{self.law} noise of scale {float(self.scale):g} on a table of shape {self.true.shape}"


@dataclass(frozen=True)
class Chosen:
    """One choice by exponential weights."""

    deficits: NDArray[np.float64]
    place: int

    def __str__(self) -> str:
        return f"a choice among {len(self.deficits)}"


@dataclass(frozen=True)
class Sealed:
    """One step that is handed out whole."""

    what: str
    answer: Any

    def __str__(self) -> str:
        return self.what


Step = Noised | Chosen | Sealed


@dataclass
class Loss:
    """The privacy loss of a run in the currencies of its events."""

    pure: float = 0.0
    """Laplace noise: the L1 distance over the scale."""
    squares: float = 0.0
    """Gaussian noise: the squared distance over the variance."""
    rho: float = 0.0
    """Choices: an eighth of the squared range of the differences of the log-weights."""

    @classmethod
    def charged(cls, events: Iterable[Event]) -> Loss:
        """Return what events allow."""
        allowed = cls()
        for event in events:
            if event.kind in PURE:
                allowed.pure += sum(part.sensitivity / part.scale for part in event.parts)
            elif "gaussian" in event.kind and event.parts:
                noisy, chosen = split_selections(event.parts)
                allowed.squares += gaussian_mu_of_parts(noisy) ** 2
                allowed.rho += selections_rho(chosen)
        return allowed

    @property
    def total(self) -> float:
        """Whatever it is made of: above 0 where anything was asked that tells the tables apart."""
        return self.pure + self.squares + self.rho

    def above(self, allowed: Loss) -> list[str]:
        """Return in words what costs more than was charged."""
        return [
            f"{name}: the run cost {spent:.6g}, its events charge {most:.6g}"
            for name, spent, most in (
                ("Laplace noise, L1 over scale", self.pure, allowed.pure),
                ("Gaussian noise, squares over variance", self.squares, allowed.squares),
                ("choices, rho", self.rho, allowed.rho),
            )
            if spent > most * (1 + ROOM)
        ]


@dataclass
class Recorder:
    """Draws noise and choices from a stream of their own, and keeps them."""

    steps: list[Step] = field(default_factory=list[Step])
    secret: Randomness = field(default_factory=lambda: Randomness.of(20261118))
    inside: bool = False
    """Within a sealed step, whose draws are not kept."""

    def noise(self, counts: Any, scale: Fraction, law: str, draw: Callable[[Randomness], Any]) -> Any:
        answer = draw(self.secret)
        if not self.inside:
            self.steps.append(Noised(law, scale, as_counts(counts).copy(), answer.copy()))
        return answer

    def choice(self, deficits: Any, rate: Fraction, choose: Callable[[Any], int]) -> int:
        place = choose(self.secret.generator)
        if not self.inside:
            self.steps.append(Chosen(np.array(deficits, float) * float(rate), place))
        return place

    def sealed(self, what: str, run: Callable[[], Any]) -> Any:
        self.inside = True
        try:
            answer = run()
        finally:
            self.inside = False
        self.steps.append(Sealed(what, answer))
        return answer


@dataclass
class Player:
    """Hands out the kept answers in their order, and adds up the loss."""

    steps: Sequence[Step]
    loss: Loss = field(default_factory=Loss)
    at: int = 0
    inside: bool = False
    secret: Randomness = field(default_factory=lambda: Randomness.of(7))

    def _next(self, asked: str) -> Step:
        if self.at == len(self.steps):
            raise Departed(f"step {self.at + 1}: the neighbour asks for {asked}, the first table asked for no more")
        self.at += 1
        return self.steps[self.at - 1]

    def _departed(self, step: Step, asked: str) -> Departed:
        return Departed(f"step {self.at}: the first table asked for {step}, the neighbour asks for {asked}")

    def noise(self, counts: Any, scale: Fraction, law: str, draw: Callable[[Randomness], Any]) -> Any:
        if self.inside:
            return draw(self.secret)
        here = Noised(law, scale, as_counts(counts), np.zeros(0, np.int64))
        step = self._next(str(here))
        if not isinstance(step, Noised) or str(step) != str(here) or step.scale != scale:
            raise self._departed(step, str(here))
        apart = np.abs(here.true - step.true).astype(float)
        if law == "laplace":
            self.loss.pure += float(apart.sum()) / float(scale)
        else:
            self.loss.squares += float((apart**2).sum()) / float(scale) ** 2
        return step.answer.copy()

    def choice(self, deficits: Any, rate: Fraction, choose: Callable[[Any], int]) -> int:
        if self.inside:
            return choose(self.secret.generator)
        here = Chosen(np.array(deficits, float) * float(rate), 0)
        step = self._next(str(here))
        if not isinstance(step, Chosen) or str(step) != str(here):
            raise self._departed(step, str(here))
        apart = here.deficits - step.deficits
        self.loss.rho += float(apart.max() - apart.min()) ** 2 / 8
        return step.place

    def sealed(self, what: str, run: Callable[[], Any]) -> Any:
        """Run the step as well, for whatever else it does, and hand out the kept answer."""
        step = self._next(what)
        if not isinstance(step, Sealed) or step.what != what:
            raise self._departed(step, what)
        self.inside = True
        try:
            run()
        finally:
            self.inside = False
        return step.answer


@dataclass(frozen=True)
class Run:
    """What an action came to: its result or the error that it ended with, and the warnings on the way."""

    result: Any
    error: Exception | None
    warned: tuple[str, ...]
    steps: tuple[Step, ...]
    loss: Loss

    @property
    def ending(self) -> str:
        """How it ended, in a line."""
        return "a result" if self.error is None else f"{type(self.error).__name__}: {self.error}"

    def outcome(self) -> Any:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.result


def recorded(action: Callable[[], Any]) -> Run:
    """Run an action and keep all noisy answers and choices."""
    tape = Recorder()
    result, error, warned = _run(action, tape)
    return Run(result, error, warned, tuple(tape.steps), Loss())


def forced(action: Callable[[], Any], first: Run) -> Run:
    """Run an action with the answers that another run was given; Departed where it asks for others."""
    tape = Player(first.steps)
    result, error, warned = _run(action, tape)
    if error is None and tape.at < len(tape.steps):
        rest = tape.steps[tape.at]
        raise Departed(f"step {tape.at + 1}: the first table asked for {rest}, the neighbour asked for no more")
    return Run(result, error, warned, first.steps, tape.loss)


def _run(action: Callable[[], Any], tape: Recorder | Player) -> tuple[Any, Exception | None, tuple[str, ...]]:
    with warnings.catch_warnings(record=True) as caught, pinned(tape), _seals(tape), recording(tape):
        warnings.simplefilter("always")
        try:
            result, error = action(), None
        except Departed:
            raise
        except Exception as stop:  # noqa: BLE001  whatever it is, the neighbour must end so as well
            result, error = None, stop
    ours = (each for each in caught if each.category.__module__.startswith("sfumato"))
    return result, error, tuple(f"{each.category.__name__}: {each.message}" for each in ours)


@contextmanager
def _seals(tape: Recorder | Player) -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for home, what in SEALED.items():
            module, _, path = home.partition(":")
            place: Any = importlib.import_module(module)
            *owners, name = path.split(".")
            for owner in owners:
                place = getattr(place, owner)
            patch.setattr(place, name, _through(tape, what, getattr(place, name)))
        yield


def _through(tape: Recorder | Player, what: str, step: Callable[..., Any]) -> Callable[..., Any]:
    def sealed(*arguments: Any, **named: Any) -> Any:
        return tape.sealed(what, lambda: step(*arguments, **named))

    return sealed


@contextmanager
def pinned(tape: Recorder | Player) -> Generator[None]:
    """Stop the clock, and let the operating system hand out the same bytes to everybody who asks in the same order.

    Whoever asks has a stream of their own, so that the name of a temporary table or a module that is imported for the
    first time moves no other draw; so has a sealed step. A run stays "secure" and unstamped: what is compared is what a
    custodian would publish.
    """
    asked: Counter[str] = Counter()

    def urandom(size: int) -> bytes:
        who = f"{_asking(sys._getframe(1))}{' in secret' * tape.inside}"
        asked[who] += 1
        return hashlib.shake_256(f"{who} {asked[who]}".encode()).digest(size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", urandom)
        patch.setattr(random, "_urandom", urandom)  # behind secrets, and so behind NumPy's fresh generators
        for name in _clocks():
            module = importlib.import_module(name)
            for attribute, stands, stopped in (
                ("dt", datetime, _STOPPED),
                ("datetime", datetime.datetime, _Stopped),
            ):
                if vars(module).get(attribute) is stands:
                    patch.setattr(module, attribute, stopped)
        yield


def _asking(frame: FrameType | None) -> str:
    """Return the module that asks, and for whom in this package; whatever is imported asks for itself."""
    asks = frame.f_globals["__name__"] if frame else ""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == "importlib._bootstrap":
            return name
        if name.startswith("sfumato."):
            return f"{asks} for {name}:{frame.f_code.co_name}"
        frame = frame.f_back
    return asks


class _IsDatetime(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, datetime.datetime)


class _Stopped(datetime.datetime, metaclass=_IsDatetime):
    @classmethod
    def now(cls, tz: Any = None) -> datetime.datetime:
        return NOON if tz is None else NOON.astimezone(tz)


_STOPPED = SimpleNamespace(**{**vars(datetime), "datetime": _Stopped})


@cache
def _clocks() -> tuple[str, ...]:
    """Return the modules that look at the clock, but for those of pages that are no part of a bundle."""
    told = (path for path in SOURCE.rglob("*.py") if "datetime.now(" in path.read_text(encoding="utf-8"))
    places = (path.relative_to(SOURCE.parent).with_suffix("") for path in told)
    return tuple(".".join(place.parts) for place in places if place.parts[1] not in ("workbench", "papers"))


Shown = tuple[dict[str, bytes], Iterable[Event]]
"""All that is seen of a run, by name, and the events that were charged for it."""


def apart(action: Callable[[bool], Shown], moved: bool = True, refused: bool = False) -> list[str]:
    """Run an action on a table and, by the same answers, on its neighbour; return all that tells the two apart.

    ``action`` is told whether it is the neighbour's turn. An error on one side alone is such a difference, and so is a
    loss beyond what was charged. Where nothing was tried, that is told as well: errors on both sides, unless they may
    be ``refused``, and a neighbour whose counts are those of the table, unless they need not have ``moved``.
    """
    one = recorded(lambda: action(False))
    try:
        two = forced(lambda: action(True), one)
    except Departed as departure:
        return [str(departure)]
    if one.error is not None or two.error is not None:
        alike = refused and type(one.error) is type(two.error)
        return [] if alike else [f"{one.ending}; on the neighbour {two.ending}"]
    sealed = any(isinstance(step, Sealed) for step in one.steps)
    idle = [] if sealed or not moved or two.loss.total > 0 else ["the neighbour moved no count on the tape"]
    files = [{**run.result[0], "(warnings)": "\n".join(run.warned).encode()} for run in (one, two)]
    return differences(*files) + two.loss.above(Loss.charged(one.result[1])) + idle


def texts(**said: str) -> dict[str, bytes]:
    """Return what is said elsewhere than in files as if it stood in files."""
    return {f"({name})": text.encode() for name, text in said.items()}


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder by its relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def differences(one: dict[str, bytes], two: dict[str, bytes]) -> list[str]:
    """Return what tells two sets of files apart: each file with its first difference."""
    alone = [f"{name}: on the {side} table alone" for name, side in _alone(one, two)]
    return alone + [
        f"{name}: {_first_difference(one[name], two[name])}"
        for name in sorted(one.keys() & two.keys())
        if one[name] != two[name]
    ]


def _alone(one: dict[str, bytes], two: dict[str, bytes]) -> list[tuple[str, str]]:
    return [(name, "first") for name in sorted(one.keys() - two.keys())] + [
        (name, "second") for name in sorted(two.keys() - one.keys())
    ]


def _first_difference(one: bytes, two: bytes) -> str:
    try:
        lines = one.decode().splitlines(), two.decode().splitlines()
    except UnicodeDecodeError:
        short = min(len(one), len(two))
        place = next((i for i in range(short) if one[i] != two[i]), short)
        return f"byte {place:,} of {len(one):,} and {len(two):,}"
    changed = [line for line in difflib.unified_diff(*lines, n=0, lineterm="") if line[:3] not in ("---", "+++", "@@ ")]
    causes = [line for line in changed if not FINGERPRINT.search(line)] or changed
    return "; ".join(line[:200] for line in causes[:4])
