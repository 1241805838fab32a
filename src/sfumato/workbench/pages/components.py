"""Components shared by pages: frame, help, error boxes, progress, saved inputs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from sfumato.errors import SfumatoError
from sfumato.workbench.access import SessionKeys
from sfumato.workbench.jobs import ErrorText, Job, Jobs
from sfumato.workbench.project import Project
from sfumato.workbench.texts import words

STEPS = {"table": "/", "plan": "/plan", "release": "/release", "ledger": "/ledger", "script": "/script"}
POLL, LOOK_AT_LOCK = 0.4, 5.0
MOST_PROBLEMS = 6
TYPING = "debounce=350 outlined dense"
"""Inputs are kept shortly after the last key."""


@dataclass(frozen=True)
class PageContext:
    """What a page works with: the project, the work that goes on, the keys, and pages for the custodian's eyes."""

    project: Project
    jobs: Jobs
    keys: SessionKeys
    base: str
    private: dict[str, str]
    """Pages about private rows, in memory alone, by the word in their address."""


class Page:
    """One visit of a page: the desk it works at, and the error of the last action."""

    def __init__(self, desk: PageContext) -> None:
        self.desk, self.project = desk, desk.project
        self.refused: ErrorText | None = None

    def attempt(self, action: Callable[[], Any]) -> Any:
        """Run an action that the library may refuse, and keep the error for the page."""
        self.refused = None
        try:
            return action()
        except SfumatoError as error:
            self.refused = ErrorText.of(error)
            return None


@contextmanager
def frame(desk: PageContext, here: str) -> Generator[None]:
    """Draw the frame of a page: steps, colours, lock."""
    colours = {"auto": None, "light": False, "dark": True}[desk.project.state.colours]
    dark = ui.dark_mode(colours)
    ui.colors(primary="#24518f")
    ui.page_title(f"{words(f'page.{here}')} - {words('page.title')}")
    ui.link(words("page.skip"), "#content").classes("skip")
    with ui.header(fixed=False).classes("top"):
        ui.label(words("page.title")).classes("brand")
        with ui.element("nav").props(f'aria-label="{words("page.steps")}"').classes("steps"):
            for number, (name, address) in enumerate(STEPS.items(), 1):
                link = ui.link(f"{number} {words(f'page.{name}')}", address)
                if name == here:
                    link.props('aria-current="page"')
        with ui.row().classes("tools"):
            _colours(desk, dark)
            lock = ui.button(icon="lock", on_click=lambda: _lock(desk)).props("flat round dense color=white")
            lock.props(f'aria-label="{words("page.lock")}"').tooltip(words("page.lock_help"))
    with ui.element("main").props('id="content" tabindex="-1"').classes("content waiting") as main:
        yield
    # What is clicked or typed before the page's socket is open would be lost, so nothing can be before.
    ui.timer(0, lambda: main.classes(remove="waiting"), once=True)
    with ui.element("footer").classes("foot"):
        ui.label(words("page.project", folder=desk.project.folder))
    ui.timer(LOOK_AT_LOCK, lambda: _look_at_lock(desk))


def _colours(desk: PageContext, dark: Any) -> None:
    names = {name: words(f"page.{name}") for name in ("auto", "light", "dark")}

    def choose(name: str) -> None:
        desk.project.change(colours=name)
        dark.set_value({"auto": None, "light": False, "dark": True}[name])

    button = ui.button(icon="contrast").props("flat round dense color=white")
    button.props(f'aria-label="{words("page.colours")}"')
    with button, ui.menu():
        for name, label in names.items():
            ui.menu_item(label, partial(choose, name))


def _lock(desk: PageContext) -> None:
    desk.keys.lock()
    ui.navigate.to("/")


def _look_at_lock(desk: PageContext) -> None:
    """Take a page off the screen once the workbench is locked."""
    if desk.keys.lock_if_silent():
        ui.navigate.to("/")


@contextmanager
def card(title: str, help_name: str = "") -> Generator[ui.element]:
    """Draw a part of a page with its heading, and help beside it."""
    with ui.element("section").classes("card") as section:
        with ui.row().classes("heading"):
            TextElement(tag="h2", text=words(title)).props(f'id="h-{section.id}"')
            if help_name:
                help_button(words(title), words(help_name))
        section.props(f'aria-labelledby="h-{section.id}"')
        yield section


def heading(text: str) -> None:
    """Draw the title of a page."""
    TextElement(tag="h1", text=text)


def help_button(word: str, told: str) -> None:
    """Draw a button that explains a word, for mouse, keyboard and screen reader."""
    button = ui.button(icon="help_outline").props("flat round dense size=sm color=grey-7").classes("help")
    button.props["aria-label"] = words("page.help", word=word)
    with button, ui.menu().props("max-width=22rem"):
        ui.label(told).classes("told")


def error_box(found: ErrorText | None) -> None:
    """Draw what is wrong, and what to do about it."""
    if found is None:
        return
    with ui.element("div").props('role="alert"').classes("trouble"):
        ui.label(found.headline).classes("strong")
        for problem in found.problems[:MOST_PROBLEMS]:
            ui.label(problem).classes("problem")
        if hidden := found.problems[MOST_PROBLEMS:]:
            with ui.expansion(words("job.more", count=len(hidden))).props("dense"):
                for problem in hidden:
                    ui.label(problem).classes("problem")
        for note in found.notes:
            ui.label(note).classes("strong")
        if found.next_step:
            ui.label(words("job.next_step", step=found.next_step)).classes("step")


def success_box(text: str) -> None:
    """Draw what went well."""
    ui.label(text).props('role="status"').classes("good")


def helped_input(label: str, value: str, keep: Callable[[str], None], told: str = "", long: bool = False) -> ui.input:
    """Draw an input with help beside it, whose text is kept as it is typed."""
    make: Any = ui.textarea if long else ui.input
    with ui.row().classes("field"):
        field = make(words(label), value=value, on_change=lambda event: keep(event.value or "")).props(TYPING)
        field.classes("grow")
        if told:
            help_button(words(label), words(told))
    return field


def helped_select(
    label: str, names: Any, value: str, told: str, keep: Callable[[str], None] | None = None
) -> ui.select:
    """Draw a choice with help beside it."""
    with ui.row().classes("field"):
        chosen = None if keep is None else lambda event: keep(event.value or "")
        field = ui.select(names, label=words(label), value=value, on_change=chosen).props("outlined dense")
        field.classes("grow")
        help_button(words(label), words(told))
    return field


def saved_input(
    desk: PageContext,
    field: str,
    label: str,
    told: str = "",
    after: Callable[[], None] | None = None,
    long: bool = False,
) -> ui.input:
    """Draw an input whose text is kept in the project as it is typed."""

    def keep(text: str) -> None:
        desk.project.change(**{field: text})
        if after is not None:
            after()

    drawn = helped_input(label, getattr(desk.project.state, field), keep, told, long)
    drawn.props["data-field"] = field
    return drawn


def progress(desk: PageContext, kind: str, ended: Callable[[Job], None]) -> None:
    """Draw the work of a kind while it goes on, with its stage, the time left and a button to stop it."""
    job = desk.jobs[kind]
    if job is None:
        return
    if not job.is_running:
        _ended(job)
        return
    with ui.element("div").props('role="status" aria-live="polite"').classes("working"):
        stage = ui.label().classes("strong")
        bar = ui.linear_progress(value=0, show_value=False).props('indeterminate rounded aria-label="progress"')
        with ui.row().classes("field"):
            left = ui.label().classes("grow")
            stop = ui.button(words("job.stop"), icon="stop", on_click=job.stop).props("outline no-caps")

    def look() -> None:
        if not job.is_running:
            timer.cancel()
            ended(job)
            return
        stage.set_text(f"{job.title}: {job.stage}")
        left.set_text(words("job.stopping") if job.is_stopping else job.left)
        stop.set_enabled(not job.is_stopping)
        bar.props(remove="indeterminate") if job.share is not None else bar.props("indeterminate")
        bar.set_value(job.share or 0)

    # The first look is the timer's own: work that ended while this was drawn must find a timer to cancel.
    timer = ui.timer(POLL, look)


def _ended(job: Job) -> None:
    if job.standing == "stopped":
        with ui.element("div").props('role="status"').classes("trouble"):
            ui.label(words("job.stopped", spent=job.spent)).classes("strong")
    error_box(job.trouble)


def begin(desk: PageContext, kind: str, title: str, work: Callable[[], Any], expected: float | None = None) -> None:
    """Start work, or show in a message why it cannot begin."""
    try:
        desk.jobs.begin(kind, words(title), work, expected)
    except SfumatoError as error:
        ui.notify(f"{error.headline}; {error.next_step}", type="warning")


def step_lines(lines: tuple[str, str]) -> None:
    """Draw the Python and the command line of a step, folded away."""
    with ui.expansion(words("page.details"), icon="code").classes("lines"):
        for name, text in zip(("python", "shell"), lines, strict=True):
            ui.label(words(f"page.{name}")).classes("strong")
            ui.code(text, language="python" if name == "python" else "bash").classes("grow")
