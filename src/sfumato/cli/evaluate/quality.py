"""The verb sfumato quality: publish quality metrics computed under DP (spends budget)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Voice
from sfumato.cli.interrupt import interrupt_note
from sfumato.cli.options import (
    DEFAULT_DIALECT,
    AsJson,
    Data,
    Dialect,
    LedgerUrl,
    NoLedger,
    Seed,
    split_names,
    wanted_ledger,
    with_options,
)
from sfumato.core.outcome import mark_lost_on_failure, spend_summary
from sfumato.privacy.exact import format_fraction, to_fraction

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.evaluate.quality.result import Quality
    from sfumato.evaluate.quality.run import QualityForecast

Bundle = Annotated[str, typer.Argument(metavar="BUNDLE", help="Folder of a release of rows.")]
Target = Annotated[
    str | None,
    typer.Option(help="Column to predict; unless said, that of the schema's role, or the last column of few levels."),
]
AboutRows = Annotated[
    int | None,
    typer.Option(help="About how many rows the table has, a public guess for the plan; the released rows unless said."),
]


@with_options
def quality(
    bundle: Bundle,
    data: Data,
    epsilon: Annotated[str, typer.Option(help="What the statement may cost, such as 0.05; it adds to what is spent.")],
    ledger: LedgerUrl = None,
    no_ledger: NoLedger = False,
    target: Target = None,
    correlations: Annotated[
        list[str] | None, typer.Option(help="Also buy the correlations of these columns, with commas between them.")
    ] = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Only say what it costs and how wide the intervals will be; nothing is spent."),
    ] = False,
    about_rows: AboutRows = None,
    again: Annotated[bool, typer.Option("--again", help="Pay for another statement beside the one there is.")] = False,
    seed: Seed = None,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Measure a release against the table with noise, charged, so that its readers may be told how good it is.

    The distance of single columns (tvd_1) and of pairs (tvd_2), and how well a model that learnt from the released rows
    predicts true ones, each with an interval, are written to quality.json in the bundle; the release's own files stay
    as they are. The table is read with the bundle's schema. The cost is recorded before a row is counted.
    """
    from sfumato.evaluate.quality.run import forecast_quality, prepare_questions
    from sfumato.evaluate.quality.statement import next_statement_path

    voice = Voice(json)
    book = ledger if plan else wanted_ledger(ledger, no_ledger)
    next_statement_path(bundle, again or plan)
    with voice.counting("learning from the released rows"):
        made = prepare_questions(bundle, epsilon, target, seed, split_names(correlations) or ())
    if plan:
        _tell_plan(voice, forecast_quality(made, about_rows, book or None))
        return
    _run(voice, made, bundle, data, book, again, dialect)


def _run(voice: Voice, made: Any, bundle: str, data: str, book: Any, again: bool, dialect: Dialect) -> None:
    from sfumato.core.release import open_ledger
    from sfumato.errors import SfumatoError
    from sfumato.evaluate.quality.run import measure
    from sfumato.table import read

    with interrupt_note() as stand:
        with voice.counting("measuring"):
            table = read(data, made.subject.schema, **dialect.stated())
            found = measure(made, table, open_ledger(book))
            stand.words = f"{spend_summary(found.entries)}; nothing was written" if found.entries else stand.words
            with mark_lost_on_failure(
                found.ledger, found.entries, SfumatoError
            ):  # this process ends, and the numbers with it
                path = found.save(bundle, again)
        stand.words = f"the statement is complete: {path}"
        _print_result(voice, found, path)


def _print_result(voice: Voice, found: Quality, path: Path) -> None:
    from sfumato.bundle.layout import SIGNATURE

    headers = ("measure", "value", "95 % interval", "yardstick", "what it is")
    grid = [[*line, one.words] for line, one in zip(found._lines(), found.measures, strict=True)]  # pyright: ignore[reportPrivateUsage]
    voice.table(f"Quality of the release of table {found.table!r}", headers, grid)
    voice.say(f"predicted: {found.target or 'nothing'} ({found.why})")
    voice.panel("What is promised", found.guarantee.statement(), "yellow" if found.stamp else "green")
    if found.account is not None:
        voice.say(f"left in the ledger: epsilon {found.account.left_epsilon} of {found.account.cap_epsilon}")
    voice.say(f"statement: {path}", style="bold")
    if path.with_name(SIGNATURE).exists():
        folder = shlex.quote(str(path.parent))
        voice.say(f"the signature does not cover it: sfumato key sign {folder} --sign KEY", style="yellow")
    voice.document({**found.to_dict(), "path": str(path)})


def _tell_plan(voice: Voice, seen: QualityForecast) -> None:
    rows = [[w.name, f"{w.at:g}", f"{w.low:.3g} to {w.high:.3g}", f"± {w.half:.2g}"] for w in seen.widths]
    voice.table(f"Plan: quality at about {seen.rows:,} rows", ("measure", "if it were", "95 % interval", "width"), rows)
    voice.say(
        f"cost:      epsilon {format_fraction(to_fraction(seen.epsilon))} under {seen.adjacency}; nothing was spent"
    )
    voice.say(f"predicted: {seen.target or 'nothing'} ({seen.why})")
    if seen.left_before is not None:
        voice.say(f"budget:    {seen.left_before} left before, {seen.left_after} after")
    for note in seen.notes:
        voice.say(f"note:      {note}", style="yellow")
    voice.document(seen.to_dict())
