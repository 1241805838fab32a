"""Options that decide how a release runs and what its bundle holds, and the run itself: for release and synthesize."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.interrupt import InterruptNote
from sfumato.cli.options import AboutRows, Seed
from sfumato.cli.release.screen import show_verdict
from sfumato.core.outcome import spend_summary
from sfumato.evaluate.uncertainty.main_numbers import checked_reruns, planned_reruns

if TYPE_CHECKING:
    from sfumato.bundle.signature import SigningKey
    from sfumato.core.method import Makes, Method
    from sfumato.core.plan import Plan
    from sfumato.core.release import Release
    from sfumato.schema import Schema
    from sfumato.table import Table


@dataclass(frozen=True, kw_only=True)
class BundleOptions:
    """How a release runs, and what its bundle holds."""

    out: Annotated[str, typer.Option("--out", "-o", help="Folder of the bundle; it must not exist or be empty.")]
    about_rows: AboutRows = None
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Release even if the forecast says that noise will drown the data.")
    ] = False
    seed: Seed = None
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also print the statistics of the fitted model, as the report does.")
    ] = False
    reruns: Annotated[
        int | None,
        typer.Option(
            help="Reruns of the method on the released rows, for expected errors in the report: no cost, but slow. "
            "0 leaves them out; default: as many as fit into a minute, at most 8."
        ),
    ] = None
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also", help="Also write the rows as sav (SPSS), dta (Stata), xlsx, jsonl or sqlite; repeatable."
        ),
    ] = None
    sign: Annotated[
        str | None,
        typer.Option("--sign", metavar="KEY", help="Sign the bundle with this private key; see 'sfumato key new'."),
    ] = None

    @property
    def formats(self) -> list[str]:
        """The formats of the additional copies."""
        return self.also or []

    def require_formats(self, makes: Makes, schema: Schema) -> None:
        """Refuse copies that cannot be written."""
        from sfumato.bundle.write import check_copy_formats
        from sfumato.table.writing.formats import dry_run_copies

        check_copy_formats(makes, self.formats)
        dry_run_copies(schema, self.formats)


@dataclass(frozen=True)
class BundleRun:
    """One run that ends in a bundle; everything that can fail was checked before."""

    options: BundleOptions
    console: Console
    note: InterruptNote
    key: SigningKey | None
    private_report: str | None = None
    table: Table | None = None

    def release(self, method: Method, plan: Plan, run: Callable[[], Release]) -> tuple[Release, Path, int]:
        """Release and write the bundle; return both, and the number of reruns."""
        from sfumato.bundle.write import kept_on_failure

        options = self.options
        reruns = planned_reruns(method, plan, checked_reruns(options.reruns))
        show_verdict(self.console, plan)
        with self.console.progress(f"releasing {method.name}", plan.seconds):
            released = run()
            if released.entries:
                self.note.words = f"{spend_summary(released.entries)}; nothing was written"
            with kept_on_failure(released, Path(options.out).absolute(), self.key):  # the process ends after an error
                bundle = released.save(
                    options.out, self.private_report, self.table, reruns, tuple(options.formats), self.key
                )
        self.note.words = f"the bundle is complete: {bundle}"
        return released, bundle, reruns
