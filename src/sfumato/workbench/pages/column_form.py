"""The form for one column: kind, bounds or levels, role and source."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from sfumato.schema.column import KINDS, OUTSIDE, ROLES
from sfumato.workbench.pages.components import PageContext, helped_input, helped_select
from sfumato.workbench.texts import words
from sfumato.workbench.views import table

LEVELS, ENDS = ("category", "ordinal"), ("integer", "number", "date")


def open_column_dialog(desk: PageContext, name: str, changed: Callable[[], None]) -> None:
    """Open the form of a column; every change is kept at once."""
    with ui.dialog().props("aria-modal=true") as dialog, ui.card().classes("form"):
        TextElement(tag="h2", text=name)
        _Form(desk, name, changed).fields()
        with ui.row().classes("wrap"):
            ui.button(words("table.done"), on_click=dialog.close).props("no-caps")
    dialog.on("hide", dialog.delete)
    dialog.open()


class _Form:
    def __init__(self, desk: PageContext, name: str, changed: Callable[[], None]) -> None:
        self.project, self.name, self.changed = desk.project, name, changed

    @ui.refreshable_method
    def fields(self) -> None:
        """Draw the fields that the kind of the column has."""
        said = table.fields_of(self.project, self.name)
        self._choice("kind", {kind: kind for kind in KINDS}, said, "table.kind_help", redraw=True)
        if said["kind"] in ENDS:
            self._text("low", said)
            self._text("high", said)
            self._rounder()
        if said["kind"] in LEVELS:
            self._text("values", said, "table.values_help", long=True)
        self._choice("role", {"": words("table.role_none"), **{role: role for role in ROLES}}, said, "table.role_help")
        self._choice("outside", {each: each for each in OUTSIDE}, said, "table.outside_help")
        yes = {True: "yes", False: ""}
        missing = said["missing"] == "yes"
        ui.checkbox(words("table.missing"), value=missing, on_change=lambda e: self.keep(missing=yes[bool(e.value)]))
        self._source(said)
        self.problem()
        ui.button(words("table.back"), icon="undo", on_click=self.back).props("flat no-caps")

    @ui.refreshable_method
    def problem(self) -> None:
        """Say in its place what makes no sense."""
        found = table.table_view(self.project)
        told = "" if found is None else found.problems.get(self.name, "")
        if told:
            ui.label(told).props('role="alert"').classes("trouble")

    def keep(self, **fields: str) -> None:
        """Keep what was typed."""
        self.project.edit(self.name, **fields)
        self.problem.refresh()
        self.changed()

    def back(self) -> None:
        """Forget what was typed about the column."""
        edits = {name: said for name, said in self.project.state.edits.items() if name != self.name}
        self.project.change(edits=edits)
        self.project.unconfirm()
        self.fields.refresh()
        self.changed()

    def _text(self, field: str, said: dict[str, str], told: str = "", long: bool = False) -> None:
        helped_input(f"table.{field}", said[field], lambda text: self.keep(**{field: text}), told, long)

    def _choice(self, field: str, names: dict[str, str], said: dict[str, str], told: str, redraw: bool = False) -> None:
        def choose(name: str) -> None:
            self.keep(**{field: name})
            if redraw:
                self.fields.refresh()

        helped_select(f"table.{field}", names, said[field], told, choose)

    def _rounder(self) -> None:
        found = table.table_view(self.project)
        better = (
            None if found is None or self.name not in found.schema else table.column_remedy(found.schema[self.name])
        )
        if better is not None:
            low, high = (str(end) for end in better)
            label = words("table.rounder_one", low=low, high=high)
            ui.button(label, icon="build", on_click=lambda: self._round(low, high)).props("outline no-caps dense")

    def _round(self, low: str, high: str) -> None:
        self.keep(low=low, high=high)
        self.fields.refresh()

    def _source(self, said: dict[str, str]) -> None:
        def keep(text: str) -> None:
            self.project.change(sources={**self.project.state.sources, self.name: text})
            self.project.unconfirm()
            self.changed()

        helped_input("table.source", said["source"], keep, "table.source_help")
