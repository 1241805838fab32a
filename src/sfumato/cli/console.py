"""How the command line speaks: tables for people on standard output, JSON for machines, errors on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from sfumato.errors import SfumatoError

EXIT_ERROR = 2


@dataclass(frozen=True)
class Ticker:
    """Progress of one piece of work: called with the rows counted so far, and told in words what else is done."""

    progress: Progress
    task: TaskID

    def __call__(self, rows: int) -> None:
        """Show how many rows were counted."""
        self.say(f"{rows:,} rows")

    def say(self, text: str) -> None:
        """Show what is being done."""
        self.progress.update(self.task, done=escape(text))


@dataclass
class Voice:
    """Where output goes. With JSON, standard output holds one JSON document and nothing else."""

    json: bool = False
    out: Console = field(default_factory=lambda: Console(highlight=False, soft_wrap=True))
    err: Console = field(default_factory=lambda: Console(stderr=True, highlight=False, soft_wrap=True))

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line for people; silent with JSON."""
        if not self.json:
            self.out.print(escape(text), style=style)

    def table(self, title: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print a table for people; silent with JSON."""
        if self.json:
            return
        table = Table(title=title, title_justify="left", header_style="bold", title_style="bold")
        for header in headers:
            table.add_column(header, overflow="fold")
        for row in rows:
            table.add_row(*(escape(str(cell)) for cell in row))
        self.out.print(table, soft_wrap=False)

    def panel(self, title: str, text: str, style: str = "green") -> None:
        """Print a framed text for people; silent with JSON."""
        if not self.json:
            self.out.print(Panel(escape(text), title=title, title_align="left", border_style=style), soft_wrap=False)

    def document(self, body: Mapping[str, Any] | Sequence[Any]) -> None:
        """Print the JSON document when JSON was asked for."""
        if self.json:
            sys.stdout.write(json.dumps(body, indent=2, default=str, ensure_ascii=False) + "\n")

    def fail(self, error: SfumatoError) -> int:
        """Report a named error and return the exit code."""
        if self.json:
            sys.stdout.write(json.dumps(error.to_dict(), indent=2, ensure_ascii=False) + "\n")
        self.err.print(f"[bold red]{type(error).__name__}[/]: {escape(str(error))}")
        return EXIT_ERROR

    @contextmanager
    def counting(self, what: str) -> Generator[Ticker]:
        """Show progress on standard error while rows are counted and models fitted; only on a terminal."""
        bar, done = BarColumn(bar_width=20, pulse_style="cyan"), TextColumn("{task.fields[done]}")
        columns = (SpinnerColumn(), TextColumn(what), bar, TimeElapsedColumn(), done)
        with Progress(*columns, console=self.err, transient=True, disable=not self.err.is_terminal) as progress:
            yield Ticker(progress, progress.add_task(what, total=None, done=""))
