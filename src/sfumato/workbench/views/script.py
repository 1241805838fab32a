"""The script page: the Python and the command lines that do again what was clicked."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import SfumatoError
from sfumato.privacy.ledger.address import shown_address
from sfumato.privacy.sealed import plain
from sfumato.release.method import parameters_of
from sfumato.report.script import call_text
from sfumato.schema import Schema
from sfumato.schema.dialect import Dialect
from sfumato.workbench.project import Project
from sfumato.workbench.texts import words
from sfumato.workbench.views.plan import made_plan, settings_of, whole

PYTHON = '''\
"""Release table {table}: what was clicked in the workbench, as a script.

    python release.py --plan      # what it would cost: nothing is read, nothing is spent
    python release.py             # releases, and records the cost in the ledger
"""

import argparse

import sfumato

DATA = {data}
LEDGER = {ledger}
OUT = {out}
ROWS, ABOUT_ROWS = {rows}, {about}
SCHEMA = sfumato.Schema.parse({schema})
METHOD = {method}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan", action="store_true", help="say what it would cost, and stop")
    parser.add_argument("--data", default=DATA)
    parser.add_argument("--ledger", default=LEDGER)
    parser.add_argument("--out", default=OUT)
    options = parser.parse_args()
    plan = sfumato.plan(SCHEMA, METHOD, rows=ROWS, about_rows=ABOUT_ROWS)
    if options.plan:
        print(plan.model_dump_json(indent=1))
        return
    sfumato.Ledger(options.ledger).open_table({name}, epsilon={cap}, delta={cap_delta}, adjacency={adjacency})
    table = sfumato.read(options.data, SCHEMA)
    made = sfumato.release(table, METHOD, rows=ROWS, ledger=options.ledger, about_rows=ABOUT_ROWS)
    print(made.save(options.out))
    print(made.guarantee.statement())


if __name__ == "__main__":
    main()
'''


@dataclass(frozen=True)
class Scripts:
    """Both scripts, and the lines of each step; where a step cannot be done yet, why."""

    python: str = ""
    shell: str = ""
    why_not: str = ""


def scripts(project: Project) -> Scripts:
    """Return both scripts, or what is missing for them."""
    try:
        return Scripts(python_script(project), shell_script(project))
    except SfumatoError as error:
        return Scripts(why_not=f"{error.headline}. {error.next_step}")


def table_lines(project: Project) -> tuple[str, str]:
    """Return the Python and the command line of the table page."""
    state, source = project.state, project.state.source or words("script.your_file")
    options = Dialect.of(state.dialect).as_options()
    stated = "".join(f", {key}={value!r}" for key, value in Dialect.of(state.dialect).stated().items())
    sources = {
        **{k: v for k, v in state.sources.items() if v},
        **({"*": state.rest_source} if state.rest_source else {}),
    }
    person = {"": "", "rows": ", person=False", "people": f", person={state.person!r}"}[state.whose]
    counted = f", rows_per_person={state.rows_per_person or 1}" if state.whose == "people" else ""
    accept = ", accept_unchanged=True" if state.accept else ""
    python = (
        f"draft = sfumato.Schema.draft({source!r}{stated})\n"
        f"schema = draft.confirm({sources!r}{accept}{person}{counted})\n"
        'schema.save("schema.toml")'
    )
    said = [f"--source {shlex.quote(f'{key}={value}')}" for key, value in sources.items()]
    said += ["--accept-unchanged"] * state.accept + ["--no-person"] * (state.whose == "rows")
    if state.whose == "people":
        said.append(f"--person {shlex.quote(state.person)} --rows-per-person {state.rows_per_person or 1}")
    shell = (
        f"sfumato schema draft {shlex.quote(source)}{' ' + options if options else ''} --out schema.toml\n"
        f"sfumato schema confirm schema.toml {' '.join(said)}"
    )
    return python, shell.rstrip()


def plan_lines(project: Project) -> tuple[str, str]:
    """Return the Python and the command line of the plan page."""
    _, method = made_plan(project)
    python = f"plan = sfumato.plan(schema, {_method_text(method)}{_numbers_text(project)}, ledger={_book(project)!r})"
    return python, f"sfumato plan --schema schema.toml {_options(project)}"


def release_lines(project: Project) -> tuple[str, str]:
    """Return the Python and the command line of the release page."""
    _, method = made_plan(project)
    out = str(project.out)
    python = (
        f"table = sfumato.read({project.state.source!r}, schema)\n"
        f"made = sfumato.release(table, {_method_text(method)}{_numbers_text(project)}, ledger={_book(project)!r})\n"
        f"made.save({out!r})"
    )
    shell = (
        f"sfumato release {shlex.quote(project.state.source)} --schema schema.toml {_options(project)} "
        f"--out {shlex.quote(out)}\nsfumato verify {shlex.quote(out)} --ledger {shlex.quote(_book(project))}"
    )
    return python, shell


def ledger_lines(project: Project) -> tuple[str, str]:
    """Return the Python and the command line of the ledger page."""
    state, name = project.state, project.schema.name if project.schema else words("script.your_table")
    book = _book(project)
    python = f"sfumato.Ledger({book!r}).open_table({name!r}, epsilon={state.cap_epsilon!r}, delta={state.cap_delta!r})"
    caps = f"--epsilon {shlex.quote(state.cap_epsilon)} --delta {shlex.quote(state.cap_delta)}"
    adjacency = f" --adjacency {project.schema.adjacency}" if project.schema else ""
    return python, f"sfumato ledger init {shlex.quote(book)} --table {shlex.quote(name)} {caps}{adjacency}"


def python_script(project: Project) -> str:
    """Return a script that stands alone: the schema is in it, and no private value."""
    _, method = made_plan(project)
    state, schema = project.state, _schema(project)
    return PYTHON.format(
        table=ascii(schema.name).replace("\\", "\\\\").replace('"""', "'''"),
        data=repr(str(Path(state.source).expanduser())),
        ledger=repr(_book(project)),
        out=repr(str(project.out)),
        rows=whole(state.rows, words("plan.rows")),
        about=whole(state.about_rows, words("plan.about_rows")),
        schema=_literal(schema.to_toml()),
        method=_method_text(method),
        name=repr(schema.name),
        cap=repr(state.cap_epsilon),
        cap_delta=repr(state.cap_delta),
        adjacency=repr(schema.adjacency),
    )


def shell_script(project: Project) -> str:
    """Return the same as command lines; the schema is written first."""
    schema = _schema(project)
    mark = "END_OF_SCHEMA"
    return (
        f"#!/bin/sh\nset -eu\ncat > schema.toml <<'{mark}'\n{schema.to_toml()}{mark}\n"
        f"{ledger_lines(project)[1]}\n{plan_lines(project)[1]}\n{release_lines(project)[1]}\n"
    )


def _schema(project: Project) -> Schema:
    from sfumato.workbench.views.plan import required_schema

    return required_schema(project)


def _literal(text: str) -> str:
    """Return a text as lines of a Python literal: no value of the schema can end it."""
    return "(\n" + "".join(f"    {line!r}\n" for line in text.splitlines(keepends=True)) + ")"


def _method_text(method: object) -> str:
    cls = type(method)
    call = call_text(cls.__name__, plain(parameters_of(method)))  # pyright: ignore[reportArgumentType]
    return f"sfumato.{call}"


def _book(project: Project) -> str:
    return shown_address(project.ledger)


def _numbers_text(project: Project) -> str:
    state = project.state
    rows, about = whole(state.rows, words("plan.rows")), whole(state.about_rows, words("plan.about_rows"))
    return f"{'' if rows is None else f', rows={rows}'}{'' if about is None else f', about_rows={about}'}"


def _options(project: Project) -> str:
    state, schema = project.state, _schema(project)
    settings = settings_of(state, schema, state.method or None)
    parts = [f"--method {state.method}"] if state.method else []
    parts += [f"--epsilon {shlex.quote(state.epsilon)}"] if state.epsilon.strip() else []
    parts += [f"--delta {shlex.quote(state.delta)}"] if state.delta.strip() else []
    parts += [f"--set {shlex.quote(each)}" for each in settings]
    rows, about = whole(state.rows, words("plan.rows")), whole(state.about_rows, words("plan.about_rows"))
    parts += [] if rows is None else [f"--rows {rows}"]
    parts += [] if about is None else [f"--about-rows {about}"]
    return " ".join([*parts, f"--ledger {shlex.quote(_book(project))}"])
