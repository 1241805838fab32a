"""The table page: file, draft schema, the form of one column, person column, confirmation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from sfumato.errors import SfumatoError, WorkbenchError
from sfumato.schema import Schema
from sfumato.schema.column import KINDS, OUTSIDE, ROLES
from sfumato.workbench.jobs import Job
from sfumato.workbench.pages.components import (
    Page,
    PageContext,
    begin,
    card,
    error_box,
    frame,
    heading,
    helped_input,
    helped_select,
    progress,
    saved_input,
    step_lines,
    success_box,
)
from sfumato.workbench.texts import words
from sfumato.workbench.views import script, table

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


AT_ONCE = 25

"""Columns that are drawn at once: a page of two hundred answers as fast as one of twenty."""

DROPPED = "dropped"


class TablePage(Page):
    """One visit of the page: what was searched for belongs to it, everything else to the project."""

    def __init__(self, desk: PageContext) -> None:
        super().__init__(desk)
        self.search, self.only, self.first = "", "all", 0

    def draw(self) -> None:
        """Draw the page."""
        with frame(self.desk, "table"):
            heading(words("table.heading"))
            self._source()
            self.body()

    def _source(self) -> None:
        with card("table.file"):
            ui.label(words("table.intro")).classes("quiet")
            with ui.row().classes("field"):
                path = ui.input(words("table.path"), value=self.project.state.source).props("outlined dense")
                path.classes("grow").props["data-field"] = "source"
                path.on("keydown.enter", lambda: self.open(path.value or "", {}))
                ui.button(words("table.open"), on_click=lambda: self.open(path.value or "", {})).props("no-caps")
            drop = ui.upload(
                label=words("table.drop"), auto_upload=True, on_upload=lambda event: self.drop(event, path)
            )
            drop.props("flat bordered").classes("grow")
            self.opening()

    @ui.refreshable_method
    def opening(self) -> None:
        """Draw the reading of the file while it goes on, and what came of it."""
        progress(self.desk, "draft", self.opened)
        job = self.desk.jobs["draft"]
        if job is not None and job.standing == "failed":
            self._split_remedy(job)

    def _split_remedy(self, job: Job) -> None:
        source = str(getattr(job, "source", ""))
        delimiter = table.delimiter_remedy(source) if source else None
        if delimiter:
            label = words("table.split", delimiter=repr(delimiter))
            ui.button(label, icon="build", on_click=lambda: self.open(source, {"delimiter": delimiter})).props(
                "no-caps"
            )

    def open(self, path: str, dialect: dict[str, Any]) -> None:
        """Read a file, beside the page."""
        source = str(Path(path.strip()).expanduser()) if path.strip() else ""
        same = source == self.project.state.source and not dialect
        said = dict(self.project.state.dialect) if same else dialect

        def work() -> Schema:
            found = table.draft(source, said)
            self.project.keep_draft(found, source, said)
            return found

        begin(self.desk, "draft", "table.opening", work)
        job = self.desk.jobs["draft"]
        if job is not None:
            job.source = source  # pyright: ignore[reportAttributeAccessIssue]
        self.opening.refresh()

    def opened(self, job: Job) -> None:
        """Draw what was found."""
        self.opening.refresh()
        self.refused = None
        self.body.refresh()

    async def drop(self, event: Any, path: ui.input) -> None:
        """Keep a dropped file in the project folder, for its owner alone, and open it."""
        name = Path(event.file.name).name or "table"
        folder = self.project.folder / DROPPED
        folder.mkdir(mode=0o700, exist_ok=True)
        place = folder / name
        try:
            if place.exists():
                raise WorkbenchError(words("table.dropped"), next_step=str(place))
            place.touch(mode=0o600)
            await event.file.save(place)
            place.chmod(0o600)
        except WorkbenchError as error:
            ui.notify(f"{error.headline}: {error.next_step}", type="warning")
            return
        path.set_value(str(place))
        self.open(str(place), {})

    @ui.refreshable_method
    def body(self) -> None:
        """Draw everything that needs a draft."""
        if self.project.draft is None:
            return
        self._helps()
        self._whose(self.project.draft)
        with card("table.columns", "table.columns_help"):
            self._filters()
            self.columns()
        self._rules(self.project.draft)
        self._sample()
        self._vouch()

    def _helps(self) -> None:
        remedies, gone = table.remedies(self.project), table.left_out(table.required_draft(self.project))
        if not remedies and not gone:
            return
        with card("table.helps"):
            with ui.row().classes("wrap"):
                for remedy in remedies:
                    button = ui.button(remedy.label, icon="build", on_click=partial(self._mend, remedy))
                    button.props("outline no-caps")
            if gone:
                with ui.expansion(words("table.left_out", count=len(gone))):
                    for words_ in gone:
                        ui.label(words_).classes("quiet")

    def _mend(self, remedy: table.Remedy) -> None:
        remedy.act()
        if remedy.draws_again:
            self.open(self.project.state.source, dict(self.project.state.dialect))
        else:
            self.body.refresh()

    def _whose(self, draft: Schema) -> None:
        state = self.project.state
        with card("table.whose", "table.whose_help"):
            choices = {"rows": words("table.every_row"), "people": words("table.several")}
            ui.radio(choices, value=state.whose or None, on_change=lambda e: self._answer(whose=e.value or ""))
            self.people(draft)

    @ui.refreshable_method
    def people(self, draft: Schema) -> None:
        """Draw what only tables have in which people have several rows."""
        state = self.project.state
        if state.whose == "people":
            with ui.element("div"):
                names = list(dict.fromkeys((*draft.person_candidates, *draft.names)))
                person = state.person if state.person in names else None
                chosen = ui.select(
                    names, label=words("table.person"), value=person, on_change=lambda e: self._answer(person=e.value)
                )
                chosen.props("outlined dense use-input fill-input hide-selected input-debounce=0").classes("grow")
                saved_input(self.desk, "rows_per_person", "table.per_person", "table.choose_by_public", self._unconfirm)
                for said in table.questions(draft):
                    ui.label(words("table.private_help", said=said)).classes("quiet")

    def _answer(self, **facts: Any) -> None:
        self.project.change(**facts)
        self._unconfirm()
        if "whose" in facts:  # nothing else is drawn again: somebody may be typing there
            self.people.refresh()

    def _unconfirm(self) -> None:
        self.project.unconfirm()
        self.confirmation.refresh()

    def _filters(self) -> None:
        with ui.row().classes("field"):
            search = ui.input(words("table.search"), on_change=lambda e: self._look(search=e.value or ""))
            search.props("outlined dense debounce=200 clearable").classes("grow")
            names = {name: words(f"table.filter_{name}") for name in table.FILTERS}
            only = ui.select(
                names, label=words("table.show"), value="all", on_change=lambda e: self._look(only=e.value)
            )
            only.props("outlined dense").style("min-width: 9rem")

    def _look(self, **wanted: Any) -> None:
        self.search, self.only = wanted.get("search", self.search), wanted.get("only", self.only)
        self.first = wanted.get("first", 0)
        self.columns.refresh()

    @ui.refreshable_method
    def columns(self) -> None:
        """Draw the columns that match, some at once."""
        found = table.lines(self.project, self.search, self.only)
        total = len(table.required_draft(self.project).columns)
        ui.label(words("table.counted", shown=len(found), total=total)).classes("quiet").props('role="status"')
        shown = found[self.first : self.first + AT_ONCE]
        with ui.element("div").classes("listed"):
            for line in shown:
                self._column(line)
        if len(found) > AT_ONCE:
            with ui.row().classes("wrap"):
                last = self.first + len(shown)
                before = ui.button(words("table.before"), on_click=lambda: self._look(first=self.first - AT_ONCE))
                before.props("outline no-caps dense").set_enabled(self.first > 0)
                ui.label(words("table.page_of", first=self.first + 1, last=last))
                after = ui.button(words("table.after"), on_click=lambda: self._look(first=self.first + AT_ONCE))
                after.props("outline no-caps dense").set_enabled(last < len(found))

    def _column(self, line: table.ColumnLine) -> None:
        row = ui.element("button").classes("line").props('type="button"')
        row.props["aria-label"] = words("table.edit", name=line.name)
        row.props["data-column"] = line.name
        row.on("click", lambda: open_column_dialog(self.desk, line.name, self._edited))
        with row:
            ui.label(line.name).classes("name")
            ui.label(f"{line.kind}{', ' + line.role if line.role else ''}")
            ui.label(line.domain).classes("domain quiet")
            ui.label(line.origin).classes("origin open" if line.is_open else "origin quiet")
            if line.problem or line.note:
                ui.label(line.problem or line.note).classes("odd")

    def _edited(self) -> None:
        self.columns.refresh()
        self.confirmation.refresh()

    def _rules(self, draft: Schema) -> None:
        if not draft.rules:
            return
        with card("table.rules", "table.rules_help"):
            for rule in draft.rules:
                holds = rule.check not in self.project.state.no_rules
                ui.checkbox(
                    rule.check, value=holds, on_change=lambda e, check=rule.check: self._rule(check, bool(e.value))
                )

    def _rule(self, check: str, holds: bool) -> None:
        others = tuple(each for each in self.project.state.no_rules if each != check)
        self.project.change(no_rules=others if holds else (*others, check))
        self._unconfirm()

    def _sample(self) -> None:
        with card("table.sample", "table.sample_help"):
            place = ui.element("div").classes("scroll")
            with ui.row().classes("wrap"):
                ui.button(words("table.sample"), icon="visibility", on_click=lambda: self._show(place)).props(
                    "outline no-caps"
                )
                ui.button(words("table.sample_hide"), on_click=place.clear).props("flat no-caps")

    def _show(self, place: ui.element) -> None:
        place.clear()
        try:
            rows = table.sample(self.project)
        except SfumatoError as error:
            ui.notify(error.headline, type="warning")
            return
        with place:
            html_table(*rows)

    def _vouch(self) -> None:
        with card("table.vouch", "table.vouch_help"):
            saved_input(self.desk, "rest_source", "table.rest_source", "table.source_help", self._vouched)
            ui.checkbox(words("table.accept"), value=self.project.state.accept, on_change=self._accept)
            saved_input(self.desk, "by", "table.by", "", self._unconfirm)
            self.confirmation()

    def _accept(self, event: Any) -> None:
        self.project.change(accept=bool(event.value))
        self._vouched()

    def _vouched(self) -> None:
        self._unconfirm()
        self.columns.refresh()

    @ui.refreshable_method
    def confirmation(self) -> None:
        """Draw what is still open, and the button that confirms; afterwards, who confirmed."""
        schema = self.project.schema
        if schema is None or schema.confirmation is None:
            standing = table.confirmation_state(self.project)
            if standing and not self.project.state.accept:
                with ui.expansion(words("table.standing", count=len(standing))):
                    for fact in standing[:AT_ONCE]:
                        ui.label(fact).classes("quiet")
            ui.button(words("table.confirm"), icon="verified", on_click=self.confirm).props("no-caps")
            error_box(self.refused)
        else:
            success_box(words("table.confirmed", by=schema.confirmation.by, on=schema.confirmation.on))
            label = words("page.next", page=words("page.plan"))
            ui.button(label, icon="arrow_forward", on_click=lambda: ui.navigate.to("/plan")).props("no-caps")
        step_lines(script.table_lines(self.project))

    def confirm(self) -> None:
        """Confirm the schema, or say what is missing."""
        self.attempt(lambda: table.confirm(self.project))
        self.confirmation.refresh()


def html_table(names: list[str], rows: list[list[str]]) -> None:
    """Draw a plain table; what stands in its cells is text and nothing else."""
    from nicegui.elements.mixins.text_element import TextElement

    with ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            for name in names:
                TextElement(tag="th", text=name).props('scope="col"')
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for cell in row:
                        TextElement(tag="td", text=cell)
