"""reproduce.py: the script that makes a release again from the private table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.release.own import own_names
from sfumato.report.document import MethodRecord, ReleaseDocument

WIDTH = 88
SECURE = (
    "The noise comes from the operating system, so every run differs: that is what protects the table. Compare\n"
    "distributions and guarantees, not single counts."
)
SEEDED = (
    "The noise comes from a fixed seed, so every run is the same and nothing of it is for release: whoever knows\n"
    "the seed can take the noise away."
)
SCRIPT = '''\
"""Make the release of table {table} again: same schema, same method, same parameters.

    python reproduce.py DATA [--ledger LEDGER] [--out DIR] [--delimiter ";"]

{noise}
Every run touches the private table and costs {cost} again; give the ledger so that it is recorded.
"""

import argparse
from pathlib import Path

import sfumato
from {module} import {class_name}
from sfumato.report.bundle import prepare_output

METHOD = {method}
ROWS = {rows}
SEED = {seed}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make this release again from the private table.")
    parser.add_argument("data", help="the private table: CSV, Parquet, or a glob")
    parser.add_argument("--ledger", help="path or URL of the ledger that records the cost")
    parser.add_argument("--out", default="reproduced", help="folder for the new bundle")
    parser.add_argument("--delimiter", help="delimiter of a CSV file, if it is not a comma")
    options = parser.parse_args()
    schema = Path(__file__).with_name("schema.toml")
    try:
        prepare_output(options.out)  # refuse a bad folder before anything is spent
        table = sfumato.read(options.data, schema, delimiter=options.delimiter)
        release = sfumato.release(table, METHOD, rows=ROWS, ledger=options.ledger, seed=SEED{allowance})
        folder = release.save(options.out)
    except sfumato.errors.SfumatoError as error:
        parser.exit(2, f"{{error}}\\n")
    print(release.guarantee.statement())
    print(f"The bundle is in {{folder}}")


if __name__ == "__main__":
    main()
'''


def reproduction_script(document: ReleaseDocument) -> str:
    """Return the text of reproduce.py; it needs schema.toml beside it and the path of the private table."""
    method = document.method
    return SCRIPT.format(
        table=_in_docstring(document.table),
        noise=(SECURE if document.randomness.seed is None else SEEDED) + _choice(document.guarantee) + _own(method),
        cost="its privacy budget" if document.guarantee.formal else "an exposure",
        module=method.module,
        class_name=method.class_name,
        method=call_text(method.class_name, method.parameters),
        rows=method.rows if method.makes == "rows" else None,
        seed=document.randomness.seed,
        allowance=", allow_weak=True" if document.guarantee.allowed_weak else "",
    )


def _choice(guarantee: Guarantee) -> str:
    """Say what this script leaves out where the parameter was chosen on the private table."""
    if guarantee.selection is not None:
        return "\nIt repeats the kept candidate alone: the charged selection that chose it is not run again."
    if guarantee.uncharged:
        return f"\nWhat it states does not cover how {guarantee.uncharged} was chosen: by looking at the private table."
    return ""


def _own(method: MethodRecord) -> str:
    """Say what no script can hold: objects that the custodian gave in Python."""
    names = own_names(method.parameters)
    if not names:
        return ""
    listed = ", ".join(_in_docstring(name) for name in names)
    return (
        f"\nOf the custodian's own Python objects ({listed}) it holds the names alone. As it stands it stops and"
        "\nspends nothing: put each object in the place of its name in METHOD below."
    )


def _in_docstring(name: str) -> str:
    """Return a name that can neither end the docstring nor escape from it."""
    return ascii(name).replace("\\", "\\\\").replace('"""', "'''")


def call_text(class_name: str, parameters: dict[str, Any]) -> str:
    """Return the call that makes a method, as a script writes it."""
    # sorted, as release.json holds them: the script can be written anew from the document and compared
    arguments = [f"{name}={_sorted(value)!r}" for name, value in sorted(parameters.items())]
    one_line = f"{class_name}({', '.join(arguments)})"
    if len(one_line) <= WIDTH:
        return one_line
    return f"{class_name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"


def _sorted(value: Any) -> Any:
    """Return a value whose mappings have their keys in the order of release.json."""
    if isinstance(value, Mapping):
        return {name: _sorted(item) for name, item in sorted(cast("Mapping[str, Any]", value).items())}
    return [_sorted(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value
