"""The table of verbs by group, and a command group that imports a verb when it runs or explains itself."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from sfumato.lazy import load_object

EVALUATE, RESEARCH, MAINTAIN = "Evaluate", "Research", "Maintain"


class Verb(NamedTuple):
    """A verb or a group of verbs: its line of help, its function (none for a group), and its panel of the help."""

    line: str
    home: str = ""
    panel: str = "Commands"


VERBS: dict[str, Verb] = {
    "synthesize": Verb(
        "Release an undescribed file in one command.",
        "sfumato.cli.release.synthesize:synthesize",
    ),
    "plan": Verb("Predict a release's accuracy, cost and needs without the data.", "sfumato.cli.release.release:plan"),
    "release": Verb("Release a table under its schema and write a bundle.", "sfumato.cli.release.release:release"),
    "sample": Verb("Draw more rows from a fitted model at no cost.", "sfumato.cli.release.sample:sample"),
    "verify": Verb("Check a bundle, its ledger record and its signature.", "sfumato.cli.release.verify:verify"),
    "compare": Verb("Compare a release with the confidential table.", "sfumato.cli.evaluate.compare:compare"),
    "schema": Verb("Describe a table: draft, import, buy, check, confirm, show."),
    "schema draft": Verb("Propose a schema from a file, marked as a draft.", "sfumato.cli.schema.draft:draft"),
    "schema import": Verb(
        "Propose a schema from metadata, without reading a row.", "sfumato.cli.schema.draft:import_schema"
    ),
    "schema buy": Verb("Learn a schema under differential privacy (spends budget).", "sfumato.cli.schema.buy:buy"),
    "schema check": Verb("Check a table against its schema.", "sfumato.cli.schema.draft:check"),
    "schema confirm": Verb("Confirm a draft by naming the sources of its facts.", "sfumato.cli.schema.confirm:confirm"),
    "schema show": Verb("Show columns, rules and the source of each fact.", "sfumato.cli.schema.confirm:show"),
    "ledger": Verb("Manage the privacy budget: accounts, caps and recorded events."),
    "ledger init": Verb("Open an account for a table, with a cap on its budget.", "sfumato.cli.ledger:init"),
    "ledger show": Verb("Show caps, spent and remaining budget, and every event.", "sfumato.cli.ledger:show"),
    "ledger verify": Verb("Check the hash chain and the totals of a ledger.", "sfumato.cli.ledger:verify"),
    "ledger upgrade": Verb("Check a ledger of an older format and upgrade it.", "sfumato.cli.ledger:upgrade"),
    "ledger export": Verb("Export the whole ledger as JSON for auditors.", "sfumato.cli.ledger:export"),
    "risk": Verb("Measure disclosure risk: attacks, audits and exact curves."),
    "risk attack": Verb(
        "Attack a release: membership, singling out, linkage, inference.", "sfumato.cli.risk.attack:attack"
    ),
    "risk audit": Verb("Test a method's claimed epsilon by attacks.", "sfumato.cli.risk.audit:audit"),
    "risk membership": Verb(
        "Attack simulated releases: is one person in the table?", "sfumato.cli.risk.games:membership"
    ),
    "risk linkage": Verb("Attack simulated releases: which of two tables was it?", "sfumato.cli.risk.games:linkage"),
    "risk inference": Verb("Attack releases: guess a sensitive value.", "sfumato.cli.risk.games:inference"),
    "risk sweep": Verb("Run every attack on a method at several epsilons.", "sfumato.cli.risk.sweep:sweep"),
    "risk homogeneity": Verb(
        "Disclosure by a published marginal against epsilon.", "sfumato.cli.risk.homogeneity:homogeneity"
    ),
    "risk location": Verb(
        "Measure how near released rows are to people's values.", "sfumato.cli.risk.location:location"
    ),
    "risk blend": Verb(
        "Measure risk and utility of blended rows (two-stage).", "sfumato.papers.two_stage.blend_verb:blend"
    ),
    "methods": Verb("List the methods, or explain one.", "sfumato.cli.release.methods:methods"),
    "workbench": Verb(
        "Work in a browser: from a file to a verified bundle.", "sfumato.cli.release.workbench:workbench"
    ),
    "demo": Verb("Release invented households in three ways.", "sfumato.cli.release.demo:demo"),
    "quality": Verb(
        "Publish quality metrics computed under DP (spends budget).", "sfumato.cli.evaluate.quality:quality", EVALUATE
    ),
    "uncertainty": Verb(
        "Estimate the error of a statistic of a release.", "sfumato.cli.evaluate.uncertainty:uncertainty", EVALUATE
    ),
    "calibrate": Verb(
        "Find the epsilon that meets a utility or risk target.", "sfumato.cli.evaluate.calibrate:calibrate", EVALUATE
    ),
    "utility": Verb("Measure what a release keeps for prediction and clustering.", panel=EVALUATE),
    "utility prediction": Verb(
        "Train models on a release; test them on real rows.",
        "sfumato.papers.two_stage.prediction_verb:prediction",
    ),
    "utility clusters": Verb(
        "Measure which clusters of a table a release keeps.", "sfumato.papers.kmeans_geometry.clusters_verb:clusters"
    ),
    "reproduce": Verb(
        "Recompute a paper's figures and tables on its public data.",
        "sfumato.papers.reproduce_verb:reproduce",
        RESEARCH,
    ),
    "advise": Verb("Choose parameters of a method from public facts.", panel=RESEARCH),
    "advise entropy": Verb("Choose between two ways to release an entropy.", "sfumato.cli.research.advise:entropy"),
    "advise curve": Verb("Find the best smoothing rho of a mean curve.", "sfumato.cli.research.advise:curve"),
    "advise deniability": Verb(
        "Estimate the pass rate of the plausible-deniability test.", "sfumato.cli.research.advise:deniability"
    ),
    "doctor": Verb("Check the noise sampler and the installation.", "sfumato.cli.maintain.doctor:doctor", MAINTAIN),
    "dpia": Verb("Fill in an impact assessment (DPIA) from a release.", "sfumato.cli.maintain.dpia:dpia", MAINTAIN),
    "export": Verb("Write a bundle's rows in another file format.", "sfumato.cli.maintain.export:export", MAINTAIN),
    "key": Verb("Create keys and sign bundles.", panel=MAINTAIN),
    "key new": Verb("Create a pair of signing keys (Ed25519).", "sfumato.cli.maintain.key:new"),
    "key sign": Verb("Sign a bundle that verifies.", "sfumato.cli.maintain.key:sign"),
}
"""Every verb in the order of the help, with the words that call it."""
OPTIONS_OF_VERBS = {"uniqueness": "risk homogeneity --uniqueness", "reidentification": "risk homogeneity --uniqueness"}
"""What is asked for as a verb and is an option."""


COMPLETION = {
    "install_completion": "Install completion for this shell.",
    "show_completion": "Print the completion script of this shell.",
}
"""Short help of the options that Typer adds."""


def inner_verbs(path: str) -> Iterator[tuple[str, str]]:
    """Yield the verbs of a group (of the root for an empty path): the last word, and all words."""
    for words in VERBS:
        group, _, name = words.rpartition(" ")
        if group == path:
            yield name, words


@cache
def load_command(path: str) -> Any:
    """Return a verb as the command that runs, or a group of them."""
    verb, name = VERBS[path], path.split()[-1]
    if not verb.home:
        return LazyGroup(name=name, path=path, help=verb.line, no_args_is_help=True, rich_markup_mode="markdown")
    from sfumato.cli.options import expand_options

    home = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False, add_completion=False)
    home.callback()(_no_options)
    home.command(name)(expand_options(load_object(verb.home)))
    group: Any = typer.main.get_command(home)
    return group.commands[name]


def _no_options() -> None:
    """Make the one command of an application a command of a group."""


class LazyGroup(TyperGroup):
    """A group of commands: placeholders with a line of help each, until one of them is used."""

    def __init__(self, path: str = "", **attributes: Any) -> None:
        super().__init__(**attributes)
        self.path = path
        for name, words in inner_verbs(path):
            verb = VERBS[words]
            placeholder = TyperCommand(
                name, help=verb.line, rich_markup_mode=self.rich_markup_mode, rich_help_panel=verb.panel
            )
            self.add_command(placeholder)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with short help for those that Typer adds."""
        params: list[Any] = super().get_params(ctx)
        for param in params:
            param.help = COMPLETION.get(param.name or "", param.help)
        return params

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, with its module imported."""
        path = f"{self.path} {args[0]}".strip()
        if path not in VERBS:
            ctx.fail(unknown_verb(path))
        return args[0], load_command(path), args[1:]


def unknown_verb(path: str) -> str:
    """Return what to answer to words that are not a verb: the nearest ones.

    >>> print(unknown_verb("audit"))
    No such command 'audit'. Did you mean 'sfumato risk audit'?
    >>> print(unknown_verb("utility compare"))
    No such command 'utility compare'. Did you mean 'sfumato compare'?
    """
    nearest = _nearest(path)
    question = f" Did you mean {' or '.join(repr(f'sfumato {words}') for words in nearest)}?" if nearest else ""
    return f"No such command {path!r}.{question}"


def _nearest(path: str) -> list[str]:
    group, _, name = path.rpartition(" ")
    if name in OPTIONS_OF_VERBS:
        return [OPTIONS_OF_VERBS[name]]
    by_name: dict[str, list[str]] = {}
    for words in VERBS:
        by_name.setdefault(words.split()[-1], []).append(words)
    siblings = dict(inner_verbs(group))
    near = [siblings[match] for match in get_close_matches(name, siblings)]
    elsewhere = [words for match in get_close_matches(name, by_name, 1) for words in by_name[match]]
    return by_name.get(name) or near or elsewhere
