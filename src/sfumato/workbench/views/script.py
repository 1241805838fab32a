"""View of the script page: Python and shell commands that repeat the session."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from sfumato.bundle.reproduction_script import SECURE, Repeated, constructor_call, in_docstring
from sfumato.core.method import Method, parameters_of
from sfumato.core.registry import public_name
from sfumato.errors import SfumatoError
from sfumato.evaluate.uncertainty.main_numbers import checked_reruns, planned_reruns
from sfumato.privacy.canonical_json import to_jsonable
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger.address import shown_address
from sfumato.schema.dialect import Dialect
from sfumato.workbench.project import Project
from sfumato.workbench.texts import words
from sfumato.workbench.views.plan import compute_plan, required_schema, row_numbers, settings_of


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
    _, method = compute_plan(project)
    python = (
        f"plan = sfumato.plan(schema, {_method_text(method)}{_row_options(project)}, ledger={_ledger_lines(project)!r})"
    )
    return python, f"sfumato plan --schema schema.toml {_options(project)}"


def release_lines(project: Project) -> tuple[str, str]:
    """Return the Python and the command line of the release page."""
    made, method = compute_plan(project)
    out, data, reruns = str(project.out.absolute()), _data(project), planned_reruns(method, made, checked_reruns(None))
    book, numbers = _ledger_lines(project), _row_options(project)
    python = (
        f"sfumato.bundle.prepare_output({out!r}, plan=plan, ledger={book!r})\n"
        f"table = sfumato.read({data!r}, schema)\n"
        f"made = sfumato.release(table, {_method_text(method)}{numbers}, ledger={book!r})\n"
        f"made.save({out!r}{f', reruns={reruns}' if reruns else ''})"
    )
    anyway = " --anyway" if project.state.anyway else ""
    shell = (
        f"sfumato release {shlex.quote(data)} --schema schema.toml {_options(project)} "
        f"--out {shlex.quote(out)} --reruns {reruns}{anyway}\n"
        f"sfumato verify {shlex.quote(out)} --ledger {shlex.quote(book)}"
    )
    return python, shell


def ledger_lines(project: Project) -> tuple[str, str]:
    """Return the Python and the command line of the ledger page."""
    name = project.schema.name if project.schema else words("script.your_table")
    book, terms = _ledger_lines(project), _terms(project)
    stated = "".join(f", {key}={value!r}" for key, value in terms.items())
    python = f"sfumato.Ledger({book!r}).open_table({name!r}{stated})"
    options = " ".join(f"--{key} {shlex.quote(value)}" for key, value in terms.items())
    return python, f"sfumato ledger init {shlex.quote(book)} --table {shlex.quote(name)} {options}"


def _terms(project: Project) -> dict[str, str]:
    """Return the terms of the table's account, from the ledger; those that were typed where it is not open yet."""
    state, schema = project.state, project.schema
    try:
        account = Ledger(project.ledger).account(required_schema(project).name)
    except SfumatoError:
        hidden = schema.adjacency if schema else "add-remove"
        return {"epsilon": state.cap_epsilon, "delta": state.cap_delta, "adjacency": hidden, "composition": "basic"}
    caps = {"epsilon": account.cap_epsilon, "delta": account.cap_delta}
    return {**caps, "adjacency": account.adjacency, "composition": account.composition}


def python_script(project: Project) -> str:
    """Return a script that stands alone: the schema is in it, and no private value."""
    made, method = compute_plan(project)
    schema = required_schema(project)
    rows, about = row_numbers(project.state)
    repeated = Repeated(
        file="release.py",
        title=f"Release table {in_docstring(schema.name)}: what was clicked in the workbench, as a script.",
        about=SECURE,
        cost="its privacy budget" if made.epsilon is not None else "an exposure",
        schema=f"sfumato.Schema.parse({_literal(schema.to_toml())})",
        rows=rows,
        about_rows=about,
        reruns=planned_reruns(method, made, checked_reruns(None)),
        anyway=project.state.anyway,
        data=_data(project),
        ledger=_ledger_lines(project),
        account=_terms(project),
        out=str(project.out.absolute()),
    )
    parameters = to_jsonable(parameters_of(method))  # pyright: ignore[reportArgumentType]
    return repeated.script(str(public_name(method.name)), parameters)


def shell_script(project: Project) -> str:
    """Return the same as command lines; the schema is written first."""
    schema = required_schema(project)
    mark = "END_OF_SCHEMA"
    return (
        f"#!/bin/sh\nset -eu\ncat > schema.toml <<'{mark}'\n{schema.to_toml()}{mark}\n"
        f"{ledger_lines(project)[1]}\n{plan_lines(project)[1]}\n{release_lines(project)[1]}\n"
    )


def _literal(text: str) -> str:
    """Return a text as lines of a Python literal: no value of the schema can end it."""
    return "\n" + "".join(f"        {line!r}\n" for line in text.splitlines(keepends=True)) + "    "


def _method_text(method: Method) -> str:
    return constructor_call(str(public_name(method.name)), to_jsonable(parameters_of(method)))


def _ledger_lines(project: Project) -> str:
    """Return where the ledger lies, from whatever folder a script is run, without a password."""
    return _from_anywhere(shown_address(project.ledger))


def _data(project: Project) -> str:
    return _from_anywhere(project.state.source)


def _from_anywhere(place: str) -> str:
    """Return a path as it is known from every folder; an address stays as it is."""
    return place if "://" in place else str(Path(place).expanduser().absolute())


def _row_options(project: Project) -> str:
    rows, about = row_numbers(project.state)
    return f"{'' if rows is None else f', rows={rows}'}{'' if about is None else f', about_rows={about}'}"


def _options(project: Project) -> str:
    state, schema = project.state, required_schema(project)
    settings = settings_of(state, schema, state.method or None)
    parts = [f"--method {state.method}"] if state.method else []
    parts += [f"--epsilon {shlex.quote(state.epsilon)}"] if state.epsilon.strip() else []
    parts += [f"--delta {shlex.quote(state.delta)}"] if state.delta.strip() else []
    parts += [f"--set {shlex.quote(each)}" for each in settings]
    rows, about = row_numbers(project.state)
    parts += [] if rows is None else [f"--rows {rows}"]
    parts += [] if about is None else [f"--about-rows {about}"]
    return " ".join([*parts, f"--ledger {shlex.quote(_ledger_lines(project))}"])
