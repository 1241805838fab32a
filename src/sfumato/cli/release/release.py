"""The verbs sfumato plan and sfumato release."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import EXIT_ERROR, Voice
from sfumato.cli.interrupt import interrupt_note
from sfumato.cli.key_verbs import PublicKeyFile, Sign, signing_key
from sfumato.cli.options import (
    DEFAULT_DIALECT,
    AboutRows,
    AllowWeak,
    Also,
    Anyway,
    AsJson,
    AsPublished,
    Custodian,
    Data,
    Delta,
    Dialect,
    Epsilon,
    LedgerUrl,
    NoLedger,
    OptionalMethod,
    Region,
    Reruns,
    Rows,
    SchemaPath,
    Seed,
    Settings,
    Use,
    Verbose,
    checked_reruns,
    method_from_settings,
    planned_reruns,
    wanted_ledger,
    with_options,
)
from sfumato.cli.release.screen import (
    asked_rows,
    plan_document,
    release_document,
    show_plan,
    show_release,
    show_verdict,
)
from sfumato.core.build_method import release_with_reason, with_reason
from sfumato.core.forecast_checks import refuse_if_noise_dominates
from sfumato.core.method import MethodInfo, method_class, published_methods
from sfumato.core.method import methods as all_methods
from sfumato.core.outcome import spend_summary
from sfumato.core.registry import AS_PUBLISHED
from sfumato.core.release import plan as plan_release
from sfumato.core.release import release as run_release
from sfumato.schema import Schema
from sfumato.table import read

if TYPE_CHECKING:
    from sfumato.bundle.verify import BundleCheck

METHOD_HEADERS = ("method", "what it releases", "guarantee", "parameters")
EXIT_NOT_FOR_RELEASE, EXIT_IN_PART = 3, 4
Out = Annotated[str, typer.Option("--out", "-o", help="Folder for the bundle; it must not exist or be empty.")]
PrivateReport = Annotated[
    str | None,
    typer.Option(
        "--private-report", help="Also write the custodian's copy, with true values, to this file. Never publish it."
    ),
]


def plan(
    schema: SchemaPath,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Not read: a plan needs the schema only.")
    ] = None,
    method: OptionalMethod = None,
    as_published: AsPublished = False,
    settings: Settings = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rows: Rows = None,
    about_rows: AboutRows = None,
    ledger: LedgerUrl = None,
    allow_weak: AllowWeak = False,
    json: AsJson = False,
) -> None:
    """Show what a release would be good for, cost and need, without touching the data or spending anything."""
    voice = Voice(json)
    facts = Schema.load(schema)
    wanted, reason = method_from_settings(method, facts, settings or [], epsilon, delta, as_published)
    planned = plan_release(facts, wanted, rows, ledger, allow_weak=allow_weak, about_rows=about_rows)
    made = with_reason(planned, reason)
    show_plan(voice, made)
    voice.document(plan_document(made))


@with_options
def release(
    data: Data,
    schema: SchemaPath,
    out: Out,
    method: OptionalMethod = None,
    as_published: AsPublished = False,
    settings: Settings = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    ledger: LedgerUrl = None,
    no_ledger: NoLedger = False,
    rows: Rows = None,
    about_rows: AboutRows = None,
    anyway: Anyway = False,
    seed: Seed = None,
    dialect: Dialect = DEFAULT_DIALECT,
    private_report: PrivateReport = None,
    allow_weak: AllowWeak = False,
    verbose: Verbose = False,
    reruns: Reruns = None,
    also: Also = None,
    sign: Sign = None,
    custodian: Custodian = None,
    use: Use = None,
    region: Region = None,
    json: AsJson = False,
) -> None:
    """Release a table and write the bundle: data, schema, release.json, report.html and the script that repeats it.

    The budget is checked and recorded before any noise is drawn. When anything is wrong, nothing is written and nothing
    is spent; so it is where the noise would drown about as many rows as are public or guessed (--about-rows), unless
    --anyway says otherwise. A ledger is needed, or --no-ledger.
    """
    from sfumato.bundle.target_folder import prepare_output
    from sfumato.bundle.write import check_copy_formats, kept_on_failure
    from sfumato.table.writing.formats import dry_run_copies

    voice, book, key = Voice(json), wanted_ledger(ledger, no_ledger), signing_key(sign)
    facts = Schema.load(schema).with_words({"custodian": custodian, "use": use, "region": region})
    wanted, reason = method_from_settings(method, facts, settings or [], epsilon, delta, as_published)
    prepare_output(out, private_report)
    check_copy_formats(wanted.makes, also or ())
    dry_run_copies(facts, also or ())
    wish = checked_reruns(reruns)
    with interrupt_note() as stand:
        table = read(data, facts, **dialect.stated())
        planned = plan_release(table, wanted, rows, book, seed, allow_weak, about_rows)
        if not anyway:
            if (guess := asked_rows(voice, planned)) is not None:
                about_rows = guess
                planned = plan_release(table, wanted, rows, book, seed, allow_weak, about_rows)
            refuse_if_noise_dominates(planned)
        prepare_output(out, private_report, planned, book, also or ())
        again = planned_reruns(wanted, planned, wish)
        show_verdict(voice, planned)
        with voice.counting(f"releasing {wanted.name}", planned.seconds):
            made = release_with_reason(run_release(table, wanted, rows, book, seed, allow_weak, about_rows), reason)
            stand.words = f"{spend_summary(made.entries)}; nothing was written" if made.entries else stand.words
            with kept_on_failure(made, Path(out).absolute(), key):  # this process ends, and the release with it
                bundle = made.save(out, private_report, table if private_report else None, again, also or (), key)
        stand.words = f"the bundle is complete: {bundle}"
        show_release(voice, made, bundle, data, verbose=verbose, again=again)
        if private_report and Path(private_report).exists():
            voice.say(f"custodian's copy (confidential): {private_report}", style="yellow")
        voice.document(release_document(made, bundle))


def verify(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="Folder of a release bundle.")],
    ledger: LedgerUrl = None,
    key: PublicKeyFile = None,
    json: AsJson = False,
) -> None:
    """Check a bundle: hashes, schema, events, guarantee, script, pages; its record in a ledger; who signed it.

    Ends with 0 where everything holds, with 2 where something does not, with 3 where everything holds but the run was
    seeded and is NOT FOR RELEASE, and with 4 where an earlier version made it and it could not be checked in full.
    """
    from sfumato.bundle.verify import verify_bundle

    voice = Voice(json)
    with voice.counting("verifying"):
        result = verify_bundle(bundle, ledger, key)
    code = verify_exit_code(result)
    voice.document({**result.model_dump(mode="json"), "verdict": result.verdict, "exit_code": code})
    if result.fingerprint:
        voice.say(f"fingerprint {result.fingerprint}")
    for problem in result.problems:
        voice.say(f"  - {problem}", style="red")
    for word in (*result.unchecked, *result.notes):
        voice.say(f"  note: {word}", style="yellow")
    if result.signed_by:
        voice.say(f"signed by {result.signed_by}")
    voice.say(f"{bundle}: {result.verdict}", style="bold")
    if code:
        raise typer.Exit(code)


def verify_exit_code(result: BundleCheck) -> int:
    """Return the exit code of a verification."""
    if not result.ok:
        return EXIT_ERROR
    if result.stamp is not None:
        return EXIT_NOT_FOR_RELEASE
    return EXIT_IN_PART if result.unchecked else 0


def methods_verb(
    name: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="Explain one method in full.")] = None,
    json: AsJson = False,
) -> None:
    """List the methods, or explain one: what it releases, what it promises, its parameters."""
    voice, printed = Voice(json), published_methods()
    if name is not None:
        method_class(name)  # refuses what is no method
    known = all_methods() if name not in printed else printed
    chosen = {key: info for key, info in known.items() if name in (None, key)}
    voice.table("Methods", METHOD_HEADERS, [_method_cells(info, printed) for info in chosen.values()])
    for info in chosen.values():
        if name is not None:
            _explain(voice, info, printed.get(info.name + AS_PUBLISHED))
    siblings = {key: _facts(printed[key + AS_PUBLISHED]) for key in chosen if key + AS_PUBLISHED in printed}
    voice.document([{**_facts(info), "as_published": siblings.get(key)} for key, info in chosen.items()])


def _method_cells(info: MethodInfo, printed: Mapping[str, MethodInfo]) -> list[str]:
    also = "; --as-published: exposure" if info.name + AS_PUBLISHED in printed else ""
    return [info.name, info.summary, _standing(info.formal) + also, _parameters(info.parameters)]


def _explain(voice: Voice, info: MethodInfo, printed: MethodInfo | None) -> None:
    """Print what a method says of itself, and what its paper printed beside it."""
    voice.say(_plain_docstring(info.cls))
    if printed is not None:
        voice.say("")
        rows = [[f"{info.name} --as-published", *_method_cells(printed, {})[1:]]]
        voice.table("As published", METHOD_HEADERS, rows)
        voice.say(_plain_docstring(printed.cls))


def _facts(info: MethodInfo) -> dict[str, Any]:
    return {key: getattr(info, key) for key in ("name", "summary", "formal", "makes", "parameters")}


def _plain_docstring(cls: type) -> str:
    """Return a docstring for the terminal: without its examples and without markup."""
    text = inspect.cleandoc(cls.__doc__ or "").split(">>>")[0].rstrip()
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")


def _parameters(parameters: Any) -> str:
    return ", ".join(key if default == "required" else f"{key}={default}" for key, default in parameters.items())


def _standing(formal: bool | None) -> str:
    return {True: "formal", False: "exposure", None: "formal or exposure"}[formal]
