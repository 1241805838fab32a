"""Terminal output: tables and progress for people, JSON for machines, errors on stderr.

It listens to :mod:`sfumato.progress`. Shares and times are shown, never numbers of private rows.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
import time
import unicodedata
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from sfumato.errors import SfumatoError
from sfumato.progress import RemainingTime, format_duration, progress_listener

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["RemainingTime", "format_duration", "progress_bar"]

EXIT_ERROR = 2

LABEL = 11

"""Columns of a label before what it labels."""

UNSAFE = re.compile(r"[^\n -~]")

"""Everything but plain ASCII is looked at; most of it is fine."""

JOINERS = "\u200c\u200d"

"""Invisible, but part of how many languages and emoji are written."""


def printable(text: str) -> str:
    r"""Return text in which nothing moves the cursor or turns the reading direction: names and values are not ours.

    >>> printable("m\x1b[2J"), printable("Zürich, 東京")
    ('m\\x1b[2J', 'Zürich, 東京')
    """
    return UNSAFE.sub(lambda found: _shown(found[0]), text)


def _shown(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"):
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def table_cell(value: object) -> str:
    """Return a value for one cell or title: a line break could pass for another row."""
    return printable(str(value)).replace("\n", "\\n")


def _as_it_is(text: str, style: str = "") -> Text:
    """Return a text in which rich looks for no markup and no short codes of emoji."""
    from rich.text import Text

    return Text(text, style)


def write_text(text: str) -> None:
    """Write a text to standard output in UTF-8: into a file or a pipe byte for byte, on a terminal without escapes."""
    out = sys.stdout
    shown = printable(text) if out.isatty() else text
    if not hasattr(out, "buffer"):
        out.write(shown)
        return
    out.flush()
    out.buffer.write(shown.encode("utf-8", errors="backslashreplace"))
    out.buffer.flush()


def machine_readable(body: Any) -> str:
    """Return JSON that is as safe on a terminal as it is plain for machines."""
    text = json.dumps(body, indent=2, default=str, ensure_ascii=False)
    return UNSAFE.sub(lambda found: found[0] if _shown(found[0]) == found[0] else json.dumps(found[0])[1:-1], text)


@dataclass
class Voice:
    """Where output goes. With JSON, standard output holds one JSON document and nothing else."""

    json: bool = False

    @cached_property
    def out(self) -> Console:
        """Standard output, for people."""
        from rich.console import Console

        return Console(highlight=False, soft_wrap=True, emoji=False)

    @cached_property
    def err(self) -> Console:
        """Standard error: progress, warnings and errors."""
        from rich.console import Console

        return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line for people; silent with JSON."""
        if not self.json:
            self.out.print(_as_it_is(printable(text)), style=style)

    def text(self, text: str) -> None:
        """Print a file that was not asked for by ``--out``, as it would stand there; silent with JSON."""
        if not self.json:
            write_text(text)

    def say_of(self, label: str, text: str, style: str | None = None) -> None:
        """Print a line behind a label; on a terminal what does not fit goes on below the text, not below the label."""
        line = f"{label:<{LABEL}}{text}"
        if self.out.is_terminal:
            line = textwrap.fill(line, max(self.out.width, 2 * LABEL), subsequent_indent=" " * LABEL)
        self.say(line, style)

    def table(self, title: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print a table for people; silent with JSON."""
        if self.json:
            return
        from rich.table import Table

        table = Table(title=_as_it_is(table_cell(title), "bold"), title_justify="left", header_style="bold")
        for header in headers:
            table.add_column(_as_it_is(table_cell(header)), overflow="fold")
        for row in rows:
            table.add_row(*(_as_it_is(table_cell(cell)) for cell in row))
        self.out.print(table, soft_wrap=False)

    def panel(self, title: str, text: str, style: str = "green") -> None:
        """Print a framed text for people; silent with JSON."""
        if self.json:
            return
        from rich.panel import Panel

        heading = _as_it_is(table_cell(title))
        framed = Panel(_as_it_is(printable(text)), title=heading, title_align="left", border_style=style)
        self.out.print(framed, soft_wrap=False)

    def document(self, body: Mapping[str, Any] | Sequence[Any]) -> None:
        """Print the JSON document when JSON was asked for."""
        if self.json:
            write_text(machine_readable(body) + "\n")

    def complain(self, text: str) -> None:
        """Print a text on standard error."""
        self.err.print(_as_it_is(printable(text)))

    def fail(self, error: SfumatoError) -> int:
        """Report a named error, and what it says was spent all the same; return the exit code."""
        spent = [str(note) for note in getattr(error, "__notes__", ())]
        if self.json:
            write_text(machine_readable({**error.to_dict(), **({"spent": spent} if spent else {})}) + "\n")
        text = "\n".join([printable(str(error)), *(printable(note) for note in spent)])
        self.err.print(_as_it_is(type(error).__name__, "bold red"), _as_it_is(text), sep=": ")
        return EXIT_ERROR

    def stop(self, text: str, code: int) -> int:
        """Say what an interruption left behind and return the exit code."""
        if self.json:
            body = {"error": "Interrupted", "message": text, "problems": [], "next_step": ""}
            write_text(machine_readable(body) + "\n")
        self.complain(text)
        return code

    def counting(self, what: str, seconds: float | None = None) -> AbstractContextManager[None]:
        """Show on standard error how far the work is and about how much time is left; only on a terminal.

        ``seconds`` is what a plan allows for it. The library tells its stages itself (:mod:`sfumato.progress`).
        """

        return progress_bar(self.err, what, seconds, table_cell)


@contextmanager
def print_warnings(voice: Voice) -> Generator[None]:
    """Print warnings as sentences for people, not as lines of source code."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        voice.complain(f"{category.__name__}: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


BETWEEN = 0.1

"""Seconds between two changes of the bar within a stage: work that tells often is not slowed by being listened to."""

UNFINISHED = 0.999

"""The end of a stage is not the end of the work: a full bar would stop its clock."""


@contextmanager
def progress_bar(
    console: Console, what: str, expected: float | None, clean: Callable[[object], str]
) -> Generator[None]:
    """Show a bar on a terminal while the work inside goes on; elsewhere nobody listens."""
    if not console.is_terminal:
        yield
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    left = RemainingTime(expected)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20, pulse_style="cyan"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(clean(what), total=None, left=left)
        task, shown = progress.tasks[0], [0.0]

        def heard(stage: str, done: float | None) -> None:
            fresh, now = stage != left.stage, time.monotonic()
            left.tell(stage, done)
            if fresh or now - shown[0] >= BETWEEN:
                shown[0] = now
                task.total = None if done is None else 1.0
                progress.update(task.id, description=clean(f"{what}: {stage}"), completed=min(done or 0, UNFINISHED))

        with progress_listener(heard):
            yield
