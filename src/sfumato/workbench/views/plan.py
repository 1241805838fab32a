"""View of the plan page: cost, forecast and risk of a choice, and published deployments."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.core.build_method import method_from_settings, with_reason
from sfumato.core.forecast_checks import with_noise_note
from sfumato.core.method import Method, method_class
from sfumato.core.method import methods as all_methods
from sfumato.core.plan import Plan, cost_summary
from sfumato.core.release import balance, promised
from sfumato.core.release import plan as plan_release
from sfumato.errors import PlanError, SchemaError, SfumatoError
from sfumato.evaluate.calibrate.deployments import nearest_deployments
from sfumato.privacy.accounting.strength import advantage_text, attack_frequency_text
from sfumato.privacy.exact import at_least, to_fraction
from sfumato.privacy.ledger import Ledger
from sfumato.schema import Schema
from sfumato.workbench.jobs import ErrorText
from sfumato.workbench.project import Project, ProjectState
from sfumato.workbench.texts import words

STEPS = ("0.05", "0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "4", "5", "7", "10")
"""Where the slider of epsilon stops: any other number can be typed."""
EACH_SIDE = 2
"""Published deployments that are shown on either side of epsilon."""


PRESETS: Mapping[str, tuple[str, str]] = {
    "statistics": ("", ""),
    "teaching": ("mst", ""),
    "testing": ("marginals", "pairs=none"),
    "prediction": ("aim", ""),
}
"""The uses that the page offers, each with its method and settings; what each means stands in the texts."""


@dataclass(frozen=True)
class PlanView:
    """A plan as the page shows it; where something is wrong, what and where."""

    plan: Plan | None = None
    cost: str = ""
    share: float | None = None
    """The part of the cap that is used after this release."""
    budget: str = ""
    budget_trouble: ErrorText | None = None
    verdict: str = ""
    expected: tuple[str, ...] = ()
    risk: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    needs: str = ""
    notes: tuple[str, ...] = ()
    sentence: str = ""
    trouble: ErrorText | None = None


def required_schema(project: Project) -> Schema:
    """Return the confirmed schema, or refuse."""
    if project.schema is None:
        raise SchemaError(words("plan.no_schema"), next_step=words("plan.no_schema_step"))
    return project.schema


def settings_of(state: ProjectState, schema: Schema, method: str | None) -> list[str]:
    """Return what was typed and chosen as the settings of a method, ``name=value`` each."""
    typed = [line.strip() for line in state.settings.splitlines() if line.strip()]
    named = {line.partition("=")[0].strip() for line in typed}
    known = _parameters(method or "aim")
    chosen = [name for name in state.columns or () if name in schema.releasable]
    if state.columns is not None and not chosen:
        raise PlanError(words("plan.no_columns"), next_step=words("plan.no_columns_step"))
    if "columns" in known and "columns" not in named and len(chosen or ()) and len(chosen) < len(schema.releasable):
        typed.append(f"columns={json.dumps(chosen, ensure_ascii=False)}")
    if method and "column" in known and "column" not in named and len(chosen) == 1:
        typed.append(f"column={chosen[0]}")
    target = target_of(state, schema)
    if state.preset == "prediction" and target and "target" in known and "target" not in named:
        typed.append(f"target={target}")
    return typed


def _parameters(method: str) -> set[str]:
    return {field.name for field in dataclasses.fields(method_class(method))}  # pyright: ignore[reportArgumentType]


def target_of(state: ProjectState, schema: Schema) -> str:
    """Return the column to be predicted: the first that plays that part and is released."""
    chosen = schema.releasable if state.columns is None else state.columns
    return next((name for name in schema.targets if name in chosen), "")


def chosen_method(project: Project) -> tuple[Method, str | None]:
    """Return the method that was chosen, and why, where nobody named one."""
    state, schema = project.state, required_schema(project)
    name = state.method or None
    settings = settings_of(state, schema, name)
    return method_from_settings(name, schema, settings, state.epsilon.strip() or None, state.delta.strip() or None)


def whole(text: str, what: str) -> int | None:
    """Read a whole number that may be left out."""
    plain = text.strip().replace(",", "").replace(" ", "")
    if not plain:
        return None
    if not plain.isdigit():
        raise PlanError(words("plan.no_number", what=what, text=text), next_step=words("plan.no_number_step"))
    return int(plain)


def row_numbers(state: ProjectState) -> tuple[int | None, int | None]:
    """Return how many rows were asked for, and about how many the table has."""
    return whole(state.rows, words("plan.rows")), whole(state.about_rows, words("plan.about_rows"))


def compute_plan(project: Project) -> tuple[Plan, Method]:
    """Return the plan of what was chosen, without the ledger."""
    state, schema = project.state, required_schema(project)
    method, reason = chosen_method(project)
    rows, about = row_numbers(state)
    made = plan_release(schema, method, rows, None, about_rows=about)
    return with_noise_note(with_reason(made, reason)), method


def plan_view(project: Project) -> PlanView:
    """Return all that the page shows; nothing of it looks at the rows."""
    try:
        made, _ = compute_plan(project)
        forecast = made.forecast
        verdict, *expected = forecast.sentences() if forecast is not None else (words("plan.no_forecast"),)
        budget, share, trouble = _budget(project, made)
        return PlanView(
            plan=made,
            cost=cost_summary(made),
            share=share,
            budget=budget,
            budget_trouble=trouble,
            verdict=verdict,
            expected=tuple(expected),
            risk=_risk(made),
            others=published_deployments(made),
            needs=made.needs(),
            notes=made.notes,
            sentence=promised(required_schema(project), made, True).statement(),
        )
    except SfumatoError as error:
        return PlanView(trouble=ErrorText.of(error))


def _budget(project: Project, made: Plan) -> tuple[str, float | None, ErrorText | None]:
    """Return what the ledger says of the cost: what is left before and after, or why it refuses."""
    try:
        book = Ledger(project.ledger)
        account = book.check(made.table, made.events)
        left = balance(book, account, made.events)
        cap, after = float(to_fraction(account.cap_epsilon)), float(to_fraction(left["left_after"]))
        before, then = (at_least(left[each]) for each in ("left_before", "left_after"))
        return words("plan.left", before=before, after=then, cap=account.cap_epsilon), 1 - after / cap, None
    except SfumatoError as error:
        return "", None, ErrorText.of(error)


def _risk(made: Plan) -> tuple[str, ...]:
    if made.advantage is None:
        return (words("plan.exposure"),)
    return (f"{attack_frequency_text(made.curve).capitalize()}.", f"{advantage_text(made.curve).capitalize()}.")


def published_deployments(made: Plan) -> tuple[str, ...]:
    """Return released products whose epsilon is nearest: for orientation."""
    if made.epsilon is None:
        return ()
    own = max(float(to_fraction(made.epsilon)), 1e-6)
    return tuple(
        words("plan.other", name=d.name, curator=d.curator, year=d.year, epsilon=f"{e:g}")
        + (f" ({d.unit})" if d.unit else "")
        for e, d in nearest_deployments(own, 0.0, EACH_SIDE)
    )


def method_choices() -> dict[str, str]:
    """Return the methods by name, with what each of them releases."""
    return {"": words("plan.automatic"), **{name: f"{name}: {info.summary}" for name, info in all_methods().items()}}


def choose_preset(project: Project, name: str) -> None:
    """Take the method of a use; the other inputs stay as they are."""
    method, settings = PRESETS[name]
    project.change(preset=name, method=method, settings=settings)
