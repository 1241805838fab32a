"""Background jobs: one at a time, with stage, remaining time and a stop button.

Work is stopped where it next says what it is doing, and once: what is saved on the way out is not stopped again. If
something was spent by then, the release itself adds to the exception what it cost and marks the ledger; if nothing was,
nothing is said to be spent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.errors import ResourceError, SfumatoError, WorkbenchError
from sfumato.progress import RemainingTime, Stopped, deliver, progress_listener
from sfumato.workbench.texts import words

Standing = Literal["waiting", "running", "done", "failed", "stopped"]


@dataclass(frozen=True)
class ErrorText:
    """What went wrong, for a page: found, problems, next step, and what was spent."""

    headline: str
    problems: tuple[str, ...] = ()
    next_step: str = ""
    notes: tuple[str, ...] = ()
    name: str = ""

    @classmethod
    def of(cls, error: BaseException) -> ErrorText:
        """Return an error in words. Of an error that nobody foresaw only the kind is told: its text may be private."""
        notes = tuple(getattr(error, "__notes__", ()))
        if isinstance(error, SfumatoError):
            return cls(error.headline, error.problems, error.next_step, notes, type(error).__name__)
        if isinstance(error, MemoryError):
            return cls.of(ResourceError(words("job.memory"), next_step=words("job.less")))
        return cls(words("job.bug", kind=type(error).__name__), (), words("job.report"), notes, type(error).__name__)


@dataclass
class Job:
    """One piece of work."""

    title: str
    work: Callable[[], Any] = field(repr=False)
    expected: float | None = None
    standing: Standing = "waiting"
    result: Any = field(default=None, repr=False)
    trouble: ErrorText | None = None
    spent: str = ""
    """After a stop: what was spent, in words."""
    _left: RemainingTime = field(init=False, repr=False)
    _wanted: bool = True
    _delivered: bool = False
    _thread: threading.Thread | None = field(default=None, repr=False)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._left, self.standing = RemainingTime(self.expected), "running"
        self._thread = threading.Thread(target=self._run, name=f"workbench: {self.title}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask the work to stop where it next says what it is doing."""
        self._wanted = False

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return self.standing == "running"

    @property
    def is_stopping(self) -> bool:
        """Whether it was asked to stop and has not yet."""
        return self.is_running and not self._wanted

    @property
    def stage(self) -> str:
        """What is being done now."""
        return self._left.stage or words("job.begins")

    @property
    def share(self) -> float | None:
        """How much of the stage is done."""
        return self._left.done

    @property
    def left(self) -> str:
        """About how long it will go on, where anybody can know."""
        return str(self._left)

    def _run(self) -> None:
        try:
            with progress_listener(self._heard):
                self.result = self.work()
            self.standing = "done"
        except Stopped as stop:
            told = tuple(getattr(stop, "__notes__", ()))
            self.spent = "; ".join(told) or words("job.nothing_spent")
            self.standing = "stopped"
        except BaseException as error:  # noqa: BLE001  the thread ends here, and the page must say why
            self.trouble = ErrorText.of(error)
            self.standing = "failed"

    def _heard(self, stage: str, done: float | None) -> None:
        self._left.tell(stage, done)
        if not self._wanted and not self._delivered:
            self._delivered = True
            deliver(Stopped())


class Jobs:
    """The work of one project: one piece at a time, so that no two releases race."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self.by_kind: dict[str, Job] = {}

    @property
    def running(self) -> Job | None:
        """The piece of work that goes on now."""
        return next((job for job in self.by_kind.values() if job.is_running), None)

    def begin(self, kind: str, title: str, work: Callable[[], Any], expected: float | None = None) -> Job:
        """Start a piece of work; refuse where another goes on."""
        with self._starting:
            if self.running is not None:
                headline = words("job.busy", title=self.running.title)
                raise WorkbenchError(headline, next_step=words("job.busy_step"))
            job = self.by_kind[kind] = Job(title, work, expected)
            job.start()
        return job

    def __getitem__(self, kind: str) -> Job | None:
        return self.by_kind.get(kind)
