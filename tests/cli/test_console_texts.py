"""Texts reach the reader as they are: no emoji, no markup, and standard output holds what ``--out`` writes."""

import io
from pathlib import Path

import pytest
from rich._emoji_codes import EMOJI

from sfumato.cli.console import Console, progress_bar, table_cell
from sfumato.progress import report_progress

CODES = [f":{name}:" for name in EMOJI]
MARKUP = ["[red]", "[/]", "[bold]x[/bold]", "[link=a]b", r"\[x]", "a\\", ":x:", "x:x:y", "8:o:8"]
AWKWARD = "\n".join([*CODES, *MARKUP, "soft\u00adhyphen"])
PEOPLE = "a,b\n" + "".join(
    f"{value},{row}\n" for row in range(40) for value in ("x:x:y", "8:o:8", "[red]", "in\u00ads")
)


@pytest.fixture
def spoken(monkeypatch):
    """Return a console and what it wrote, without an end to the line."""
    monkeypatch.setenv("COLUMNS", "200")
    console, heard = Console(), io.StringIO()
    console.out.file = console.err.file = heard
    return console, heard


def test_every_route_of_printing_shows_short_codes_and_markup_as_they_are(spoken):
    console, heard = spoken
    shown = AWKWARD.replace("\u00ad", "\\xad")
    for route in (console.say, console.complain):
        route(AWKWARD)
        assert heard.getvalue() == shown + "\n"
        heard.seek(heard.truncate(0))
    for line in (*CODES[::40], *MARKUP):
        console.say_labelled(line, line)
        console.panel(line, line)
        console.table(line, (line,), [[line]])
        assert heard.getvalue().count(line) == 7, line
        heard.seek(heard.truncate(0))


def test_all_short_codes_in_cells(spoken):
    console, heard = spoken
    console.table("t", ("code",), [[code] for code in CODES])
    assert [code for code in CODES if code not in heard.getvalue()] == []


def test_errors_and_the_bar_show_them_too(spoken):
    from rich.console import Console

    from sfumato.errors import TableError

    console, heard = spoken
    console.fail(TableError("x:x:y [red]", [":smile:"], "8:o:8"))
    assert all(text in heard.getvalue() for text in ("x:x:y [red]", ":smile:", "8:o:8"))
    drawn = io.StringIO()
    with progress_bar(Console(file=drawn, force_terminal=True, width=200), "a:x:b [red]", None, table_cell):
        report_progress("8:o:8")
    assert "a:x:b [red]: 8:o:8" in drawn.getvalue()


def test_standard_output_holds_what_out_writes(tmp_path, monkeypatch, sfumato_cli):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text(PEOPLE, encoding="utf-8")
    sfumato_cli("schema", "draft", "e.csv", "--out", "e.toml")
    code, out, err = sfumato_cli("schema", "draft", "e.csv")
    assert (code, err) == (0, "")
    assert out == Path("e.toml").read_text(encoding="utf-8")
    assert "x:x:y" in out
    assert "in\u00ads" in out
