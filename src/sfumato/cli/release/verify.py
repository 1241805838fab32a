"""The verb sfumato verify: check a bundle, its ledger record and its signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import EXIT_ERROR, Console
from sfumato.cli.options import Bundle, LedgerPath

if TYPE_CHECKING:
    from sfumato.bundle.verify import BundleCheck

EXIT_NOT_FOR_RELEASE, EXIT_IN_PART = 3, 4


def verify(
    console: Console,
    bundle: Bundle,
    ledger: LedgerPath = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="PUBLIC", help="The custodian's public key, which must have signed the bundle."),
    ] = None,
) -> None:
    """Check a bundle, its ledger record and its signature.

    Checks hashes, schema, events, guarantee, script and pages. Exit codes: 0 if everything holds, 2 if something does
    not, 3 if everything holds but the run was seeded (NOT FOR RELEASE), 4 if another version made the bundle and it
    could not be checked in full.
    """
    from sfumato.bundle.verify import verify_bundle

    with console.progress("verifying"):
        result = verify_bundle(bundle, ledger, key)
    code = verify_exit_code(result)
    console.print_json({**result.model_dump(mode="json"), "verdict": result.verdict, "exit_code": code})
    if result.fingerprint:
        console.say(f"fingerprint {result.fingerprint}")
    for problem in result.problems:
        console.say(f"  - {problem}", style="red")
    for note in (*result.unchecked, *result.notes):
        console.say(f"  note: {note}", style="yellow")
    if result.signed_by:
        console.say(f"signed by {result.signed_by}")
    console.say(f"{bundle}: {result.verdict}", style="bold")
    if code:
        raise typer.Exit(code)


def verify_exit_code(result: BundleCheck) -> int:
    """Return the exit code of a verification."""
    if not result.ok:
        return EXIT_ERROR
    if result.stamp is not None:
        return EXIT_NOT_FOR_RELEASE
    return EXIT_IN_PART if result.unchecked else 0
