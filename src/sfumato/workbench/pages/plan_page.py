"""The plan page: epsilon, cost and forecast, columns, intended use, method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import run, ui

from sfumato.workbench.jobs import ErrorText
from sfumato.workbench.pages.components import (
    TYPING,
    Page,
    PageContext,
    card,
    error_box,
    frame,
    heading,
    saved_input,
    step_lines,
)
from sfumato.workbench.texts import words
from sfumato.workbench.views import ledger, plan, script

NO_ACCOUNT = "LedgerError"


class PlanPage(Page):
    """One visit of the page."""

    def __init__(self, desk: PageContext) -> None:
        super().__init__(desk)
        self.found = plan.PlanView()
        self._asked = 0

    def draw(self) -> None:
        """Draw the page."""
        with frame(self.desk, "plan"):
            heading(words("plan.heading"))
            if self.project.schema is None:
                error_box(ErrorText(words("plan.no_schema"), (), words("plan.no_schema_step")))
                ui.button(words("plan.to_table"), on_click=lambda: ui.navigate.to("/")).props("no-caps")
                return
            self.uses()
            self._epsilon()
            self.found = plan.plan_view(self.project)
            self.numbers()
            self._columns()
            self._method()

    def _epsilon(self) -> None:
        with card("plan.epsilon", "plan.epsilon_help"):
            with ui.row().classes("field"):
                slider = ui.slider(min=0, max=len(plan.STEPS) - 1, step=1, value=self._step()).classes("grow")
                slider.props(f'snap markers aria-label="{words("plan.epsilon_slider")}"')
                typed = ui.input(
                    words("plan.epsilon"), value=self.project.state.epsilon, on_change=self._keeping("epsilon")
                )
                typed.props(TYPING).style("width: 7rem").props["data-field"] = "epsilon"
            slider.on_value_change(lambda e: typed.set_value(plan.STEPS[int(e.value or 0)]))
            saved_input(self.desk, "about_rows", "plan.about_rows", "plan.about_rows_help", self.again)
            ui.label(words("plan.untouched")).classes("quiet")

    def _step(self) -> int:
        """Return the step of the slider that is nearest to what was typed."""
        try:
            value = float(self.project.state.epsilon)
        except ValueError:
            return plan.STEPS.index("1")
        return min(range(len(plan.STEPS)), key=lambda i: abs(float(plan.STEPS[i]) - value))

    def _keeping(self, field: str) -> Callable[[Any], None]:
        """Return what keeps a text that was typed or chosen, and plans again."""

        def keep(event: Any) -> None:
            self.project.change(**{field: event.value or ""})
            self.again()

        return keep

    def again(self) -> None:
        """Plan again, beside the page; only the last of several wishes is drawn."""
        self._asked += 1
        mine = self._asked

        async def work() -> None:
            found = await run.io_bound(plan.plan_view, self.project)
            if mine == self._asked and found is not None:
                self.found = found
                self.numbers.refresh()

        ui.timer(0, work, once=True)

    @ui.refreshable_method
    def numbers(self) -> None:
        """Draw cost, forecast, risk and what others took."""
        found = self.found
        error_box(found.trouble)
        if found.trouble is None:
            with ui.element("div").classes("four"):
                self._cost(found)
                with card("plan.forecast", "plan.forecast_help") as tall:
                    tall.classes("tall")
                    ui.label(found.verdict).classes("big")
                    for sentence in found.expected:
                        ui.label(sentence)
                with card("plan.risk", "plan.risk_help"):
                    for place, sentence in enumerate(found.risk):
                        ui.label(sentence).classes("" if place else "big")
                with card("plan.others", "plan.others_help") as wide:
                    wide.classes("wide")
                    for sentence in found.others:
                        ui.label(sentence)
            for note in found.notes:
                ui.label(note).classes("quiet")
            if found.budget_trouble is None:
                label = words("page.next", page=words("page.release"))
                ui.button(label, icon="arrow_forward", on_click=lambda: ui.navigate.to("/release")).props("no-caps")
            step_lines(script.plan_lines(self.project))

    def _cost(self, found: plan.PlanView) -> None:
        with card("plan.cost", "plan.cost_help"):
            ui.label(found.cost).classes("big")
            if found.share is not None:
                bar = ui.linear_progress(value=min(found.share, 1), show_value=False).props("rounded size=10px")
                bar.props["aria-label"] = found.budget
                ui.label(found.budget)
            ui.label(words("plan.needs", what=found.needs)).classes("quiet")
            if found.budget_trouble is not None:
                error_box(found.budget_trouble)
                if found.budget_trouble.name == NO_ACCOUNT:
                    self._account()

    def _account(self) -> None:
        with ui.row().classes("wrap"):
            saved_input(self.desk, "cap_epsilon", "plan.cap_epsilon", "plan.account_help")
            saved_input(self.desk, "cap_delta", "plan.cap_delta", "plan.delta_help")
            ui.button(words("plan.open_account"), icon="account_balance", on_click=self._open).props("no-caps")
        error_box(self.refused)

    def _open(self) -> None:
        schema = plan.required_schema(self.project)
        self.attempt(lambda: ledger.open_account(self.project, schema.name, schema.adjacency))
        self.again()

    @ui.refreshable_method
    def uses(self) -> None:
        """Draw the uses, and which of them was chosen."""
        with card("plan.use", "plan.use_help"):
            with ui.element("div").classes("uses").props('role="group"'):
                for name in plan.PRESETS:
                    chosen = name == self.project.state.preset
                    button = ui.button(on_click=partial(self._use, name)).props("outline no-caps")
                    button.props(f"aria-pressed={'true' if chosen else 'false'}{' unelevated' if chosen else ''}")
                    if chosen:
                        button.props(remove="outline")
                    with button:
                        ui.label(words(f"plan.{name}")).classes("strong")
                        ui.html(f"<small>{words(f'plan.{name}_help')}</small>", sanitize=False)
            schema = plan.required_schema(self.project)
            if self.project.state.preset == "prediction" and not plan.target_of(self.project.state, schema):
                ui.label(words("plan.no_target")).classes("trouble")

    def _use(self, name: str) -> None:
        plan.choose_preset(self.project, name)
        self.uses.refresh()
        self.method_fields.refresh()
        self.again()

    def _columns(self) -> None:
        schema, state = plan.required_schema(self.project), self.project.state
        names = list(schema.releasable)
        with card("plan.columns", "plan.columns_help"):
            chosen = names if state.columns is None else [name for name in state.columns if name in names]
            made = ui.select(names, multiple=True, value=chosen, label=words("plan.columns"), on_change=self._chose)
            made.props("outlined dense use-chips use-input input-debounce=0").classes("grow")
            ui.button(words("plan.all_columns"), on_click=lambda: made.set_value(names)).props("flat no-caps")

    def _chose(self, event: Any) -> None:
        schema = plan.required_schema(self.project)
        names = [name for name in schema.releasable if name in (event.value or ())]
        self.project.change(columns=None if len(names) == len(schema.releasable) else tuple(names))
        self.again()

    def _method(self) -> None:
        with card("plan.method", "plan.method_help"):
            self.method_fields()
            saved_input(self.desk, "delta", "plan.delta", "plan.delta_help", self.again)
            saved_input(self.desk, "rows", "plan.rows", "plan.rows_help", self.again)

    @ui.refreshable_method
    def method_fields(self) -> None:
        """Draw the method and its settings, which a use changes."""
        state = self.project.state
        choices = plan.method_choices()
        value = state.method if state.method in choices else ""
        method = ui.select(choices, label=words("plan.method"), value=value, on_change=self._keeping("method"))
        method.props("outlined dense").classes("grow")
        saved_input(self.desk, "settings", "plan.settings", "plan.settings_help", self.again, long=True).props(
            "autogrow"
        )
