"""The reference of the command line, from the commands themselves: a page per verb, written when the site is built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.cli.verbs import VERBS, inner_verbs, load_command

USUAL = "Options"


def write_cli(folder: Path) -> list[str]:
    """Write a page for each verb or group; return their names in the order of the help."""
    folder.mkdir(parents=True)
    names = [name for name, _ in inner_verbs("")]
    for name in names:
        (folder / f"{name}.md").write_text("\n".join(page(name)), encoding="utf-8")
    return names


def page(name: str) -> Iterator[str]:
    """Yield the lines of the page of a verb: itself, or each verb of a group."""
    yield from (f"# sfumato {name}", "")
    if VERBS[name].home:
        yield from explained(load_command(name), f"sfumato {name}")
        return
    yield from (VERBS[name].line, "")
    for _, words in inner_verbs(name):
        yield from (f"## sfumato {words}", "")
        yield from explained(load_command(words), f"sfumato {words}")


def explained(command: Any, call: str) -> Iterator[str]:
    """Yield usage, help, arguments and options of one command."""
    shown = [param for param in command.params if not param.hidden]
    arguments = [param for param in shown if param.param_type_name == "argument"]
    yield from ("```text", " ".join([call, *map(_usage, arguments), "[OPTIONS]"]), "```", "")
    yield from ((command.help or "").strip(), "")
    if arguments:
        yield from _table("argument", [(f"`{_metavar(param)}`", _said(param)) for param in arguments])
    panels: dict[str, list[Any]] = {}
    for param in shown:
        if param.param_type_name != "argument":
            panels.setdefault(param.rich_help_panel or USUAL, []).append(param)
    for panel, params in panels.items():
        yield from ([f"**{panel}**", ""] if panel != USUAL else [])
        yield from _table("option", [(_names(param), _said(param)) for param in params])


def _table(first: str, lines: list[tuple[str, str]]) -> Iterator[str]:
    yield f"| {first} | meaning |"
    yield "|---|---|"
    for name, words in lines:
        yield f"| {_cell(name)} | {_cell(words)} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _usage(param: Any) -> str:
    name = _metavar(param) + ("..." if param.nargs != 1 else "")
    return name if param.required else f"[{name}]"


def _metavar(param: Any) -> str:
    return (param.metavar or param.name).strip("{}[].").upper()


def _names(param: Any) -> str:
    both = [*sorted(param.opts, key=len, reverse=True), *param.secondary_opts]
    return ", ".join(f"`{name}`" for name in both)


def _said(param: Any) -> str:
    """Return the help of a parameter, with what else its reader must know."""
    notes = ["required"] if param.required and param.param_type_name != "argument" else []
    if param.multiple:
        notes.append("may be repeated")
    if param.default not in (None, "", False, True, [], ()) and not callable(param.default) and param.show_default:
        notes.append(f"default: `{_plain(param.default)}`")
    return (param.help or "") + (f" *({'; '.join(notes)})*" if notes else "")


def _plain(value: Any) -> str:
    return str(getattr(value, "value", value))
