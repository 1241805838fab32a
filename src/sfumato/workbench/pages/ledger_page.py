"""The ledger page: accounts, caps, entries and actions."""

from __future__ import annotations

from nicegui import ui

from sfumato.privacy.ledger import Verification
from sfumato.workbench.jobs import ErrorText
from sfumato.workbench.pages.components import (
    Page,
    PageContext,
    card,
    error_box,
    frame,
    heading,
    helped_select,
    saved_input,
    step_lines,
    success_box,
)
from sfumato.workbench.pages.table_page import html_table
from sfumato.workbench.texts import words
from sfumato.workbench.views import ledger, script

COMPOSITIONS = ("basic", "tight", "filter")
ADJACENCIES = ("add-remove", "replace")


class LedgerPage(Page):
    """One visit of the page."""

    def __init__(self, desk: PageContext) -> None:
        super().__init__(desk)
        self.said = ""
        self.checked: Verification | None = None

    def draw(self) -> None:
        """Draw the page."""
        with frame(self.desk, "ledger"):
            heading(words("ledger.heading"))
            self._where()
            self.told()
            self.accounts()
            self._open()

    def _where(self) -> None:
        with card("ledger.address", "ledger.where_help"):
            with ui.row().classes("field"):
                address = ui.input(words("ledger.where"), value=self.project.state.ledger).props("outlined dense")
                address.classes("grow").props["data-field"] = "ledger"
                ui.button(words("ledger.connect"), on_click=lambda: self.choose(address.value or "")).props("no-caps")
            with ui.row().classes("wrap"):
                ui.button(words("ledger.verify"), icon="verified", on_click=self.verify).props("outline no-caps")
                ui.button(words("ledger.export"), icon="download", on_click=self.export).props("outline no-caps")
                if self.project.state.ledger:
                    forget = ui.button(words("ledger.forget"), on_click=lambda: self.choose("")).props("flat no-caps")
                    forget.tooltip(words("ledger.forget_help"))

    @ui.refreshable_method
    def told(self) -> None:
        """Draw what was answered last."""
        error_box(self.refused)
        if self.said:
            success_box(self.said)
        if self.checked is not None and self.checked.ok:
            success_box(words("ledger.sound", entries=self.checked.entries, head=self.checked.head))
        elif self.checked is not None:
            error_box(ErrorText(words("ledger.unsound"), self.checked.problems))

    def _do(self, said: str = "", checked: Verification | None = None) -> None:
        self.said, self.checked = said, checked
        self.told.refresh()
        self.accounts.refresh()

    def choose(self, address: str) -> None:
        """Use another ledger, or the project's own."""
        self.attempt(lambda: self.project.choose_ledger(address))
        self._do()

    def verify(self) -> None:
        """Check the chain."""
        self._do(checked=self.attempt(lambda: ledger.verify_ledger(self.project)))

    def export(self) -> None:
        """Hand the whole ledger to the custodian."""
        body = self.attempt(lambda: ledger.export_ledger(self.project))
        if body is not None:
            ui.download(body.encode(), "ledger.json", "application/json")
        self._do()

    @ui.refreshable_method
    def accounts(self) -> None:
        """Draw accounts and entries."""
        found = ledger.ledger_view(self.project)
        with card("ledger.accounts"):
            if found.trouble is not None or not found.accounts:
                ui.label(found.trouble.headline if found.trouble else words("ledger.none")).classes("quiet")
            for account in found.accounts:
                self._account(account)
        if found.entries:
            with card("ledger.entries"), ui.element("div").classes("scroll"):
                names = ["#", *(words(f"ledger.{each}") for each in ("recorded", "account", "method"))]
                names += [words("plan.epsilon"), "delta", words("ledger.outcome")]
                rows = [
                    [str(e.sequence), e.recorded_at, e.table, e.method, e.epsilon, e.delta, e.outcome]
                    for e in reversed(found.entries)
                ]
                html_table(names, rows)

    def _account(self, account: ledger.AccountLine) -> None:
        ui.label(account.name).classes("big")
        amounts = (("spent", account.spent), ("left", account.left), ("cap", account.cap))
        numbers = ", ".join(f"{words(f'ledger.{name}')} {amount}" for name, amount in amounts)
        bar = ui.linear_progress(value=account.share, show_value=False).props("rounded size=10px")
        bar.props["aria-label"] = numbers
        ui.label(numbers)
        counted = f"{words('ledger.events')}: {account.events}, {words('ledger.exposures')}: {account.exposures}"
        ui.label(f"{counted}; {account.words}; delta {account.delta}").classes("quiet")
        ui.html(account.curve, sanitize=False)

    def _open(self) -> None:
        schema = self.project.schema
        with card("ledger.open", "plan.account_help"):
            name = ui.input(words("ledger.table"), value=schema.name if schema else "").props("outlined dense")
            saved_input(self.desk, "cap_epsilon", "plan.cap_epsilon", "plan.account_help")
            saved_input(self.desk, "cap_delta", "plan.cap_delta", "plan.delta_help")
            how = helped_select("ledger.composition", list(COMPOSITIONS), "basic", "ledger.composition_help")
            hidden = schema.adjacency if schema else ADJACENCIES[0]
            ui.button(
                words("ledger.open"),
                icon="account_balance",
                on_click=lambda: self.open(name.value or "", hidden, str(how.value)),
            ).props("no-caps")
            step_lines(script.ledger_lines(self.project))

    def open(self, table: str, adjacency: str, composition: str) -> None:
        """Open an account."""
        opened = self.attempt(lambda: ledger.open_account(self.project, table, adjacency, composition))
        self._do("" if opened is None else words("ledger.opened", table=opened.name, cap=opened.cap_epsilon))
