"""The verbs sfumato risk membership, linkage and inference: attacks on simulated releases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import MethodOptions, Repeat, TableOptions, split_names, stated_options
from sfumato.errors import RiskError

if TYPE_CHECKING:
    from sfumato.metrics.rows_view import Observes
    from sfumato.risk.attacks.attack import AttackResult
    from sfumato.risk.simulated import Game
    from sfumato.schema import Schema
    from sfumato.table import Table

CONFIDENTIAL = "These numbers are about the private rows: for the custodian's eyes. Nothing was released or spent."
DRAFT = "the schema is a draft: no guarantee is claimed here, and no release can use it before it is confirmed"
MOST_PEOPLE = 5000
"""People whom the inference attack is tried on, by default."""
HEADERS = ("attack", "right", "interval", "guessing", "control", "best", "ceiling")
References = Annotated[int, typer.Option(help="Linkage: fresh releases of each table to compare with.")]


@dataclass(frozen=True, kw_only=True)
class SimulationOptions:
    """How attacks on simulated releases are run."""

    sees: Annotated[
        str, typer.Option("--sees", help="What the attacker sees of released rows: values, or their public bins.")
    ] = "values"
    trials: Annotated[
        int | None,
        typer.Option(help="Simulated releases; default: 1000 for counts, 200 for rows, fewer for slow methods."),
    ] = None
    seed: Repeat = None

    @property
    def view(self) -> Observes:
        """What the attacker sees; refuses an unknown word."""
        from sfumato.metrics.rows_view import check_observes

        check_observes(self.sees)
        return cast("Observes", self.sees)


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """The person who is attacked."""

    target: Annotated[
        int | None, typer.Option(help="Row number of the target, from 1; default: the most exposed person.")
    ] = None

    @property
    def row_index(self) -> int | None:
        """The row number as an index."""
        if self.target is not None and self.target < 1:
            raise RiskError(f"--target {self.target} is not a row number", next_step="rows are counted from 1")
        return None if self.target is None else self.target - 1


@dataclass(frozen=True, kw_only=True)
class InferenceOptions:
    """What the attacker knows and wants to learn."""

    known: Annotated[list[str] | None, typer.Option(help="A column the attacker knows; repeatable.")] = None
    sensitive: Annotated[str | None, typer.Option(help="Column to guess; default: the one with role sensitive.")] = None
    learner: Annotated[str, typer.Option(help="How the attacker guesses from rows: nearest or forest.")] = "nearest"


def membership(
    table: TableOptions,
    method: MethodOptions,
    target: TargetOptions,
    simulation: SimulationOptions,
    console: Console,
) -> None:
    """Attack simulated releases: is one person in the table?

    The method is run many times on the table with and without the target. None of these releases is published.
    """
    from sfumato.risk.attacks.registry import simulated_attacks

    _play(console, table, method, target, simulation, lambda game: simulated_attacks(game, "membership"))


def linkage(
    table: TableOptions,
    method: MethodOptions,
    target: TargetOptions,
    simulation: SimulationOptions,
    console: Console,
    references: References = 1,
) -> None:
    """Attack simulated releases: which of two tables was it?

    The attacker compares the release with fresh releases of both tables.
    """
    from sfumato.risk.attacks.linkage import FreshReferenceLinkage

    attack = FreshReferenceLinkage(references)
    _play(console, table, method, target, simulation, lambda _: [attack])


def _play(
    console: Console,
    table: TableOptions,
    method: MethodOptions,
    target: TargetOptions,
    simulation: SimulationOptions,
    attacks: Callable[[Game], Sequence[Any]],
) -> None:
    """Play the membership game with attacks, and print their success."""
    from sfumato.risk.simulated import membership_game

    chosen, reason = method.choose(table.facts)
    opened = _read(console, table)
    game = membership_game(opened, chosen, target.row_index, rows=method.rows, sees=simulation.view)
    _report(console, opened, _run_games(console, game, attacks(game), simulation.trials, simulation.seed), reason)


def inference(
    table: TableOptions,
    attacker: InferenceOptions,
    method: MethodOptions,
    simulation: SimulationOptions,
    console: Console,
    release: Annotated[
        str | None, typer.Option(help="Attack this release instead: a bundle, or a file of synthetic rows.")
    ] = None,
    holdout: Annotated[
        str | None, typer.Option(help="With --release: real rows that are not in DATA, as control group.")
    ] = None,
) -> None:
    """Attack releases: guess a sensitive value.

    Compares people in the table with others. Half of the table is released by the method and the other half is the
    control group; with --release, DATA holds the people who are in that release.
    """
    from sfumato.metrics.evaluation_input import open_evaluation_input
    from sfumato.risk.attacks.attribute_inference import AttributeInference, known_and_sensitive

    facts, reason = table.facts, None
    _refuse_both(method, release, holdout)
    columns = known_and_sensitive(facts, split_names(attacker.known), attacker.sensitive)
    attack = AttributeInference(*columns, attacker.learner, simulation.view)
    limits: Any = {"trials": simulation.trials or MOST_PEOPLE, "seed": simulation.seed}
    if release is None:
        chosen, reason = method.choose(facts)
        opened = _read(console, table)
        with console.progress(f"attacking {chosen.name}"):
            result = attack.against(opened, chosen, rows=method.rows, **limits)
    else:
        opened = _read(console, table)
        with console.progress("attacking the release"):
            released = open_evaluation_input(release)
            tables = released.rows if released.makes == "rows" else dict(released.tables)
            result = attack.run(tables, opened, holdout, schema=facts, **limits)
    _report(console, opened, [result], reason)


def _refuse_both(method: MethodOptions, release: str | None, holdout: str | None) -> None:
    if release is not None and (described := stated_options(method)):
        raise RiskError(
            "--release names an existing release, so no method can be described",
            [f"found {option}" for option in described],
            next_step="leave out --release, or everything about a method",
        )
    if holdout is not None and release is None:
        raise RiskError("--holdout requires --release", next_step="leave it out: a method holds half of DATA back")


def warn_of_draft(console: Console, schema: Schema) -> None:
    """Warn where the schema is not confirmed: risks are computed all the same."""
    if not schema.is_confirmed:
        console.say(f"warning: {DRAFT}", style="yellow")


def _read(console: Console, table: TableOptions) -> Table:
    warn_of_draft(console, table.facts)
    return table.read()


def _run_games(console: Console, game: Game, attacks: Sequence[Any], trials: int | None, seed: int | None) -> list[Any]:
    """Play the game with each attack, after an estimate of the time."""
    from sfumato.risk.simulated import MethodWorlds
    from sfumato.risk.simulated.membership_game import default_trials, run_attacks

    count = default_trials(game, attacks) if trials is None else trials
    if isinstance(game, MethodWorlds) and game.plan.seconds is not None:
        runs = sum(attack.releases(count) for attack in attacks)
        console.say(_expected_seconds(game.title, runs, game.plan.seconds))
    with console.progress(f"attacking {game.title}"):
        return run_attacks(game, attacks, count, seed)


def _expected_seconds(method: str, runs: int, seconds: float) -> str:
    minutes = max(round(runs * seconds / 60), 1)
    return (
        f"{method} is run about {runs:,} times, and no run is published. The plan allows {max(seconds, 1):.0f} s "
        f"a run: up to {minutes} minute{'s' if minutes > 1 else ''}. Fewer --trials are faster and less precise."
    )


def _report(console: Console, table: Table, results: Sequence[AttackResult], reason: str | None = None) -> None:
    console.table(
        f"Attacks on table {table.schema.name!r}, in per cent", HEADERS, [_line(result) for result in results]
    )
    for result in results:
        console.say(result.attack, style="bold")
        for sentence in (
            result.verdict(),
            *result.control_lines(),
            result.ceiling_line(),
            f"The attacker {result.threat}.",
        ):
            console.say(f"  {sentence}", style="red" if sentence.startswith("REFUTED") else None)
    notes = [*dict.fromkeys(note for result in results for note in result.notes), *([reason] if reason else [])]
    for note in notes:
        console.say(note)
    console.say(CONFIDENTIAL, style="yellow")
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
    console.print_json({"notice": CONFIDENTIAL, "table": table.schema.name, "method_chosen": reason, "attacks": facts})


def _line(result: AttackResult) -> list[str]:
    interval = f"{100 * result.interval.low:.1f} to {100 * result.interval.high:.1f}"
    numbers = (result.baseline, result.control, result.optimal, result.ceiling)
    shown = ["" if number is None else f"{100 * number:.1f}" for number in numbers]
    return [result.attack, f"{100 * result.rate:.1f}", interval, *shown]
