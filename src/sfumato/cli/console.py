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
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from sfumato.errors import SfumatoError
from sfumato.progress import RemainingTime, progress_listener

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.text import Text

EXIT_ERROR = 2

LABEL = 11
"""Columns of a label before what it labels."""
UNSAFE = re.compile(r"[^\n -~]")
"""Everything but plain ASCII is looked at; most of it is fine."""
JOINERS = "\u200c\u200d"

"""Invisible, but part of how many languages and emoji are written."""


def printable(text: str) -> str:
    r"""Escape whatever moves the cursor or changes the reading direction: names and values are not trusted.

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
    """Return a value for one cell or title; a line break is escaped, as it could pass for another row."""
    return printable(str(value)).replace("\n", "\\n")


def _plain_text(text: str, style: str = "") -> Text:
    """Return a text in which rich interprets neither markup nor emoji codes."""
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
class Console:
    """Where output goes, and the option of every verb that decides it.

    With JSON, standard output holds one JSON document and nothing else.
    """

    json: Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")] = False

    @cached_property
    def out(self) -> RichConsole:
        """Standard output, for people."""
        from rich.console import Console as RichConsole

        return RichConsole(highlight=False, soft_wrap=True, emoji=False)

    @cached_property
    def err(self) -> RichConsole:
        """Standard error: progress, warnings and errors."""
        from rich.console import Console as RichConsole

        return RichConsole(stderr=True, highlight=False, soft_wrap=True, emoji=False)

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line for people; silent with JSON."""
        if not self.json:
            self.out.print(_plain_text(printable(text)), style=style)

    def text(self, text: str) -> None:
        """Print what ``--out`` would write, byte for byte; silent with JSON."""
        if not self.json:
            write_text(text)

    def say_labelled(self, label: str, text: str, style: str | None = None) -> None:
        """Print a line after a label; on a terminal, further lines are indented by the width of the label."""
        line = f"{label:<{LABEL}}{text}"
        if self.out.is_terminal:
            line = textwrap.fill(line, max(self.out.width, 2 * LABEL), subsequent_indent=" " * LABEL)
        self.say(line, style)

    def table(self, title: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print a table for people; silent with JSON."""
        if self.json:
            return
        from rich.table import Table

        table = Table(title=_plain_text(table_cell(title), "bold"), title_justify="left", header_style="bold")
        for header in headers:
            table.add_column(_plain_text(table_cell(header)), overflow="fold")
        for row in rows:
            table.add_row(*(_plain_text(table_cell(cell)) for cell in row))
        self.out.print(table, soft_wrap=False)

    def panel(self, title: str, text: str, style: str = "green") -> None:
        """Print a framed text for people; silent with JSON."""
        if self.json:
            return
        from rich.panel import Panel

        heading = _plain_text(table_cell(title))
        framed = Panel(_plain_text(printable(text)), title=heading, title_align="left", border_style=style)
        self.out.print(framed, soft_wrap=False)

    def print_json(self, body: Mapping[str, Any] | Sequence[Any]) -> None:
        """Print the JSON document, where JSON was asked for."""
        if self.json:
            write_text(machine_readable(body) + "\n")

    def complain(self, text: str) -> None:
        """Print a text on standard error."""
        self.err.print(_plain_text(printable(text)))

    def fail(self, error: SfumatoError) -> int:
        """Report a named error, with what it says was spent; return the exit code."""
        spent = [str(note) for note in getattr(error, "__notes__", ())]
        if self.json:
            write_text(machine_readable({**error.to_dict(), **({"spent": spent} if spent else {})}) + "\n")
        text = "\n".join([printable(str(error)), *(printable(note) for note in spent)])
        self.err.print(_plain_text(type(error).__name__, "bold red"), _plain_text(text), sep=": ")
        return EXIT_ERROR

    def stop(self, text: str, code: int) -> int:
        """Report what an interruption left behind; return the exit code."""
        if self.json:
            body = {"error": "Interrupted", "message": text, "problems": [], "next_step": ""}
            write_text(machine_readable(body) + "\n")
        self.complain(text)
        return code

    def progress(self, what: str, seconds: float | None = None) -> AbstractContextManager[None]:
        """Show progress and the remaining time on standard error, on a terminal only.

        ``seconds`` is the time that a plan allows. The library reports its stages itself (:mod:`sfumato.progress`).
        """
        return progress_bar(self.err, what, seconds, table_cell)


@contextmanager
def print_warnings(console: Console) -> Generator[None]:
    """Print warnings as sentences, without lines of source code."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        console.complain(f"{category.__name__}: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


BETWEEN = 0.1
"""Seconds between two updates of the bar within a stage, so that frequent reports cost no time."""
UNFINISHED = 0.999

"""The end of a stage is not the end of the work: a full bar would stop its clock."""


@contextmanager
def progress_bar(
    console: RichConsole, what: str, expected: float | None, clean: Callable[[object], str]
) -> Generator[None]:
    """Show a progress bar while the work inside goes on, on a terminal only."""
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

        def update(stage: str, done: float | None) -> None:
            fresh, now = stage != left.stage, time.monotonic()
            left.tell(stage, done)
            if fresh or now - shown[0] >= BETWEEN:
                shown[0] = now
                task.total = None if done is None else 1.0
                progress.update(task.id, description=clean(f"{what}: {stage}"), completed=min(done or 0, UNFINISHED))

        with progress_listener(update):
            yield
