"""The verb sfumato risk sweep: every attack on a method at several epsilons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import MethodSettings, OutputPageOptions, TableOptions, parse_numbers, split_names
from sfumato.cli.output_page import OutputPage, say_private_page
from sfumato.cli.risk.games import InferenceOptions, References, SimulationOptions, TargetOptions, warn_of_draft
from sfumato.errors import RiskError

if TYPE_CHECKING:
    from sfumato.risk.simulated.epsilon_sweep import Sweep

EPSILONS = "0.5,1,2,4"


def sweep(
    table: TableOptions,
    method: MethodSettings,
    attacker: InferenceOptions,
    target: TargetOptions,
    simulation: SimulationOptions,
    output: OutputPageOptions,
    console: Console,
    epsilons: Annotated[str, typer.Option(help="Values of epsilon, such as 0.1,0.5,1,2,4.")] = EPSILONS,
    references: References = 1,
) -> None:
    """Run every attack on a method at several epsilons.

    Writes one page and one JSON file. Runs membership and linkage by simulated releases, and inference if the schema or
    --known and --sensitive say what is known and wanted. Nothing is released or spent. The output is about private
    rows: for the custodian's eyes only.
    """
    from sfumato.report.risk_pages import sweep_page
    from sfumato.risk.simulated.epsilon_sweep import epsilon_sweep

    facts, values = table.facts, parse_numbers(epsilons, "--epsilons", EPSILONS)
    if not values:
        raise RiskError("--epsilons is empty", next_step=f"write --epsilons {EPSILONS}")
    chosen, reason = method.choose(facts, str(values[0]))
    places = OutputPage.at(output.out, facts.name, "-attacks.html", output.force)
    with console.progress(f"attacking {chosen.name}"):
        result = epsilon_sweep(
            table.read(),
            chosen,
            values,
            known=split_names(attacker.known),
            sensitive=attacker.sensitive,
            learner=attacker.learner,
            references=references,
            target=target.row_index,
            rows=method.rows,
            sees=simulation.view,
            trials=simulation.trials,
            seed=simulation.seed,
        )
    document = {"notice": result.notice, "method_chosen": reason, **result.model_dump(mode="json")}
    places.write(sweep_page(result, not facts.is_confirmed), document)
    warn_of_draft(console, facts)
    _show(console, result, reason)
    say_private_page(console, places)
    console.print_json({"page": str(places.page), "json": str(places.json), **document})


def _show(console: Console, sweep: Sweep, reason: str | None) -> None:
    from sfumato.report.risk_pages import sweep_grid

    grid = sweep_grid(sweep)
    console.table(f"Attacks on {sweep.method} of table {sweep.table!r}, in per cent", grid.header, grid.rows)
    for point in sweep.points:
        for result in point.results:
            if result.refutes_claim:
                console.say(f"epsilon {point.epsilon:g}: {result.ceiling_line()}", style="red")
    for line in (*sweep.left_out, *([reason] if reason else [])):
        console.say(line)
    console.say(sweep.notice, style="yellow")
