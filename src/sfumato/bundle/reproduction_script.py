"""reproduce.py: the script that repeats a release from the private table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from sfumato.bundle.document import MethodRecord, ReleaseDocument
from sfumato.core.custom_objects import custom_object_names
from sfumato.core.registry import public_name
from sfumato.privacy.accounting.guarantee import Guarantee

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
"""{title}

    python {file} --plan  # what it would cost: nothing is read, nothing is spent
    python {file}{usage}

{about}
Every run touches the private table and costs {cost} again; give the ledger so that it is recorded.
"""

import argparse
from pathlib import Path

import sfumato
{imports}from sfumato.bundle import prepare_output

DATA = {data}
LEDGER = {ledger}
ACCOUNT = {account}
OUT = {out}
METHOD = {method}
ROWS, ABOUT_ROWS = {rows}, {about_rows}
SEED = {seed}
RERUNS = {reruns}


def read_schema() -> sfumato.Schema:
    return {schema}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make this release again from the private table.")
    parser.add_argument("data", nargs="?", default=DATA, help="the private table: CSV, Parquet, or a glob")
    parser.add_argument("--plan", action="store_true", help="say what it would cost, and stop")
    parser.add_argument("--ledger", default=LEDGER, help="path or URL of the ledger that records the cost")
    parser.add_argument("--out", default=OUT, help="folder for the new bundle")
    parser.add_argument("--delimiter", help="delimiter of a CSV file, if it is not that of the schema")
    options = parser.parse_args()
    try:
        schema = read_schema()
        plan = sfumato.plan(schema, METHOD, rows=ROWS, seed=SEED{allowance}, about_rows=ABOUT_ROWS)
        if options.plan:
            print(plan.model_dump_json(indent=1))
            return
        if options.data is None:
            parser.error("give the path of the private table")
        prepare_output(options.out, plan=plan, ledger=options.ledger)  # whatever can fail comes before the spend
        if ACCOUNT and options.ledger:
            sfumato.Ledger(options.ledger).open_table(schema.name, **ACCOUNT)
        table = sfumato.read(options.data, schema, delimiter=options.delimiter){overwhelmed_check}
        release = sfumato.release(
            table, METHOD, rows=ROWS, ledger=options.ledger, seed=SEED{allowance}, about_rows=ABOUT_ROWS
        )
        folder = release.save(options.out, reruns=RERUNS)
    except sfumato.errors.SfumatoError as error:
        parser.exit(2, "\\n".join([str(error), *getattr(error, "__notes__", ())]) + "\\n")
    print(release.guarantee.statement())
    print(f"The bundle is in {{folder}}")


if __name__ == "__main__":
    main()
'''
OVERWHELMED_IMPORT = "from sfumato.core.forecast_checks import refuse_if_noise_dominates\n"
OVERWHELMED_CHECK = "\n        refuse_if_noise_dominates(plan)"


@dataclass(frozen=True)
class Repeated:
    """What a script repeats of a release, beside its method."""

    file: str
    title: str
    about: str
    cost: str
    schema: str
    """The expression of the schema."""
    rows: int | None = None
    about_rows: int | None = None
    seed: int | None = None
    reruns: int = 0
    allow_weak: bool = False
    anyway: bool = True
    data: str | None = None
    ledger: str | None = None
    account: Mapping[str, str] | None = None
    """Caps and composition with which the table's account is opened where there is none."""
    out: str = "reproduced"

    def script(self, constructor: str, parameters: dict[str, Any], imports: str = "") -> str:
        """Return the text of the script: everything that can fail comes before the spend.

        ``constructor`` is how the script writes the class of the method, which ``imports`` brings in where it is none
        of sfumato's public names.
        """
        return SCRIPT.format(
            file=self.file,
            title=self.title,
            usage=' DATA [--ledger LEDGER] [--out DIR] [--delimiter ";"]' if self.data is None else "",
            about=self.about,
            cost=self.cost,
            imports=imports + ("" if self.anyway else OVERWHELMED_IMPORT),
            method=constructor_call(constructor, parameters),
            schema=self.schema,
            data=repr(self.data),
            ledger=repr(self.ledger),
            account=None if self.account is None else dict(self.account),
            out=repr(self.out),
            rows=self.rows,
            about_rows=self.about_rows,
            seed=self.seed,
            reruns=self.reruns,
            allowance=", allow_weak=True" if self.allow_weak else "",
            overwhelmed_check="" if self.anyway else OVERWHELMED_CHECK,
        )


def reproduction_script(document: ReleaseDocument) -> str:
    """Return the text of reproduce.py; it needs schema.toml beside it and the path of the private table."""
    method = document.method
    noise = SECURE if document.randomness.seed is None else SEEDED
    repeated = Repeated(
        file="reproduce.py",
        title=f"Make the release of table {in_docstring(document.table)} again: same schema, method and parameters.",
        about=noise + _choice(document.guarantee) + _imports_of_custom_objects(method),
        cost="its privacy budget" if document.guarantee.formal else "an exposure",
        schema='sfumato.Schema.load(Path(__file__).with_name("schema.toml"))',
        rows=method.rows if method.makes == "rows" else None,
        seed=document.randomness.seed,
        reruns=document.expected_errors.reruns if document.expected_errors else 0,
        allow_weak=bool(document.guarantee.allowed_weak),
    )
    if method.module is None or method.class_name is None:
        return repeated.script(str(public_name(method.name)), method.parameters)
    return repeated.script(method.class_name, method.parameters, f"from {method.module} import {method.class_name}\n")


def _choice(guarantee: Guarantee) -> str:
    """Say what this script leaves out where the parameter was chosen on the private table."""
    if guarantee.selection is not None:
        return "\nIt repeats the kept candidate alone: the charged selection that chose it is not run again."
    if guarantee.uncharged:
        return f"\nWhat it states does not cover how {guarantee.uncharged} was chosen: by looking at the private table."
    return ""


def _imports_of_custom_objects(method: MethodRecord) -> str:
    """Say what no script can hold: objects that the custodian gave in Python."""
    names = custom_object_names(method.parameters)
    if not names:
        return ""
    listed = ", ".join(in_docstring(name) for name in names)
    return (
        f"\nOf the custodian's own Python objects ({listed}) it holds the names alone. As it stands it stops and"
        "\nspends nothing: put each object in the place of its name in METHOD below."
    )


def in_docstring(name: str) -> str:
    """Return a name that can neither end the docstring nor escape from it."""
    return ascii(name).replace("\\", "\\\\").replace('"""', "'''")


def constructor_call(constructor: str, parameters: dict[str, Any]) -> str:
    """Return the call that makes a method, as a script writes it."""
    # sorted, as release.json holds them: the script can be written anew from the document and compared
    arguments = [f"{name}={_sorted(value)!r}" for name, value in sorted(parameters.items())]
    one_line = f"{constructor}({', '.join(arguments)})"
    if len(one_line) <= WIDTH:
        return one_line
    return f"{constructor}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"


def _sorted(value: Any) -> Any:
    """Return a value whose mappings have their keys in the order of release.json."""
    if isinstance(value, Mapping):
        return {name: _sorted(item) for name, item in sorted(cast("Mapping[str, Any]", value).items())}
    return [_sorted(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value
