"""The verbs sfumato risk membership, linkage and inference: attacks on simulated releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import (
    DEFAULT_DIALECT,
    AsJson,
    AsPublished,
    Data,
    Delta,
    Dialect,
    Epsilon,
    OptionalMethod,
    Rows,
    SchemaPath,
    Settings,
    method_from_settings,
    split_names,
    with_options,
)
from sfumato.cli.released import open_evaluation_input
from sfumato.cli.risk.homogeneity import DRAFT, homogeneity, plan_from_public_facts, uniqueness
from sfumato.cli.risk.location import location
from sfumato.cli.risk.sweep import sweep
from sfumato.errors import RiskError
from sfumato.lazy import load_object
from sfumato.progress import steps
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.metrics.rows_view import Observes
    from sfumato.risk.attacks.attack import AttackResult
    from sfumato.risk.simulated import Game
    from sfumato.table import Table

risk_app = typer.Typer(no_args_is_help=True, help="Measure what a release would give away, before it is made.")
risk_app.command()(homogeneity)
risk_app.command()(location)
risk_app.command()(load_object("sfumato.papers.two_stage.blend_verb:blend"))
risk_app.command("homogeneity-plan")(plan_from_public_facts)
risk_app.command()(uniqueness)
risk_app.command()(sweep)
Trials = Annotated[
    int | None,
    typer.Option(help="Test releases. 1000 for counts and 200 for rows unless said; fewer where each fits a model."),
]
SeenAs = Annotated[
    str, typer.Option("--sees", help="What the attacker sees of released rows: values, or bins (their public bins).")
]
GameSeed = Annotated[int | None, typer.Option(help="Repeat the same games.")]
Target = Annotated[int | None, typer.Option(help="Row number of the target, from 1; the most exposed unless said.")]
CONFIDENTIAL = "These numbers are about the private rows: for the custodian's eyes. Nothing was released or spent."
HEADERS = ("attack", "right", "interval", "guessing", "control", "best", "ceiling")


@risk_app.command()
@with_options
def membership(
    data: Data,
    schema: SchemaPath,
    method: OptionalMethod = None,
    as_published: AsPublished = False,
    settings: Settings = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rows: Rows = None,
    target: Target = None,
    sees: SeenAs = "values",
    trials: Trials = None,
    seed: GameSeed = None,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Measure how well attackers can tell whether one person is in the table, from what a method would release.

    The method is run many times on the table with and without the target. None of these releases is published.
    """
    from sfumato.risk.attacks.registry import simulated_attacks
    from sfumato.risk.simulated import membership_game

    voice, facts = Voice(json), Schema.load(schema)
    made, reason = method_from_settings(method, facts, settings or [], epsilon, delta, as_published)
    table = _table(voice, data, facts, dialect)
    played = membership_game(table, made, row_index(target), rows=rows, sees=attacker_view(sees))
    _report(voice, table, _run_games(voice, played, simulated_attacks(played, "membership"), trials, seed), reason)


@risk_app.command()
@with_options
def linkage(
    data: Data,
    schema: SchemaPath,
    method: OptionalMethod = None,
    as_published: AsPublished = False,
    settings: Settings = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rows: Rows = None,
    target: Target = None,
    references: Annotated[int, typer.Option(help="Fresh releases of each table to compare with.")] = 1,
    sees: SeenAs = "values",
    trials: Trials = None,
    seed: GameSeed = None,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Measure how well an attacker can tell which of two tables was released, by fresh releases of both."""
    from sfumato.risk.attacks.linkage import FreshReferenceLinkage
    from sfumato.risk.simulated import membership_game

    voice, facts, attack = Voice(json), Schema.load(schema), FreshReferenceLinkage(references)
    made, reason = method_from_settings(method, facts, settings or [], epsilon, delta, as_published)
    table = _table(voice, data, facts, dialect)
    played = membership_game(table, made, row_index(target), rows=rows, sees=attacker_view(sees))
    _report(voice, table, _run_games(voice, played, [attack], trials, seed), reason)


@risk_app.command()
@with_options
def inference(
    data: Data,
    schema: SchemaPath,
    known: Annotated[list[str] | None, typer.Option(help="A column the attacker knows; repeat it for several.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Column to be guessed; the sensitive one unless said.")] = None,
    method: OptionalMethod = None,
    as_published: AsPublished = False,
    settings: Settings = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rows: Rows = None,
    release: Annotated[
        str | None, typer.Option(help="Attack this instead: a bundle, or a file of synthetic rows.")
    ] = None,
    control: Annotated[str | None, typer.Option(help="With --release: people who were not in the table.")] = None,
    learner: Annotated[str, typer.Option(help="How to guess from rows: nearest or forest.")] = "nearest",
    sees: SeenAs = "values",
    trials: Annotated[int, typer.Option(help="People to attack, at most.")] = 5000,
    seed: GameSeed = None,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Measure how often an attacker guesses a sensitive value, for people in the table and for others.

    Half of the table is released by the method and the other half is the control. With --release, DATA holds the people
    who are in that release.
    """
    from sfumato.risk.attacks.attribute_inference import AttributeInference, known_and_sensitive

    voice, facts = Voice(json), Schema.load(schema)
    named = {"--method": method, "--as-published": as_published or None, "--set": settings}
    of_method = {**named, "--epsilon": epsilon, "--delta": delta, "--rows": rows}
    _refuse_both(of_method, release, control)
    attack, reason = (
        AttributeInference(*known_and_sensitive(facts, split_names(known), sensitive), learner, attacker_view(sees)),
        None,
    )
    if release is None:
        made, reason = method_from_settings(method, facts, settings or [], epsilon, delta, as_published)
        table = _table(voice, data, facts, dialect)
        with voice.counting(f"attacking {made.name}"):
            result = attack.against(table, made, rows=rows, trials=trials, seed=seed)
    else:
        table = _table(voice, data, facts, dialect)
        with voice.counting("attacking the release"):
            result = attack.run(open_evaluation_input(release), table, control, schema=facts, trials=trials, seed=seed)
    _report(voice, table, [result], reason)


def _refuse_both(of_method: Mapping[str, Any], release: str | None, control: str | None) -> None:
    given = [name for name, value in of_method.items() if value is not None]
    if release is not None and given:
        raise RiskError(
            "--release names what was released already, so that there is no method to describe",
            [f"found {name}" for name in given],
            next_step="leave out --release, or everything about a method",
        )
    if control is not None and release is None:
        raise RiskError("--control goes with --release", next_step="leave it out: a method holds half of DATA back")


def _table(voice: Voice, data: str, facts: Schema, dialect: Dialect) -> Table:
    from sfumato.table import read

    if not facts.is_confirmed:
        voice.say(f"warning: {DRAFT}", style="yellow")
    return read(data, facts, **dialect.stated())


def attacker_view(sees: str) -> Observes:
    """Return what the attacker sees, or refuse a word that names nothing."""
    from sfumato.metrics.rows_view import check_observes

    check_observes(sees)
    return cast("Observes", sees)


def row_index(target: int | None) -> int | None:
    """Return a row counted from 1 as it is counted from 0."""
    if target is not None and target < 1:
        raise RiskError(f"--target {target} is not a row number", next_step="rows are counted from 1")
    return None if target is None else target - 1


def _run_games(voice: Voice, played: Game, attacks: Sequence[Any], trials: int | None, seed: int | None) -> list[Any]:
    """Play the game with each attack; say before how long that may take, and show how far it is."""
    from sfumato.risk.simulated import MethodWorlds
    from sfumato.risk.simulated.membership_game import default_trials

    count = default_trials(played, attacks) if trials is None else trials
    if not isinstance(played, MethodWorlds):
        return [attack.run(played, trials=count, seed=seed) for attack in attacks]
    runs = sum(attack.releases(count) for attack in attacks)
    if played.plan.seconds is not None:
        voice.say(_expected_seconds(played.title, runs, played.plan.seconds))
    with voice.counting(f"attacking {played.title}"), steps(f"about {runs:,} runs", runs) as done:
        watched = replace(played, told=done)
        return [attack.run(watched, trials=count, seed=seed) for attack in attacks]


def _expected_seconds(method: str, runs: int, seconds: float) -> str:
    minutes = max(round(runs * seconds / 60), 1)
    return (
        f"{method} is run about {runs:,} times, and nothing of it is published. The plan allows "
        f"{max(seconds, 1):.0f} s a run: up to {minutes} minute{'s' if minutes > 1 else ''}. Fewer --trials are "
        "quicker and rougher."
    )


def _report(voice: Voice, table: Table, results: Sequence[AttackResult], reason: str | None = None) -> None:
    voice.table(f"Attacks on table {table.schema.name!r}, in per cent", HEADERS, [_line(result) for result in results])
    for result in results:
        voice.say(result.attack, style="bold")
        for sentence in (
            result.verdict(),
            *result.control_lines(),
            result.ceiling_line(),
            f"The attacker {result.threat}.",
        ):
            voice.say(f"  {sentence}", style="red" if sentence.startswith("REFUTED") else None)
    notes = [*dict.fromkeys(note for result in results for note in result.notes), *([reason] if reason else [])]
    for note in notes:
        voice.say(note)
    voice.say(CONFIDENTIAL, style="yellow")
    facts = [
        {
            **r.model_dump(mode="json"),
            "advantage": r.advantage,
            "succeeds": r.succeeds,
            "refutes_claim": r.refutes_claim,
            "statement": r.statement(),
        }
        for r in results
    ]
    voice.document({"notice": CONFIDENTIAL, "table": table.schema.name, "method_chosen": reason, "attacks": facts})


def _line(result: AttackResult) -> list[str]:
    interval = f"{100 * result.interval.low:.1f} to {100 * result.interval.high:.1f}"
    numbers = (result.baseline, result.control, result.optimal, result.ceiling)
    shown = ["" if number is None else f"{100 * number:.1f}" for number in numbers]
    return [result.attack, f"{100 * result.rate:.1f}", interval, *shown]
