"""The documentation is run: Python blocks, terminal blocks, and what they are shown to print.

A page is run from top to bottom in an empty folder. ``python`` blocks share their names; one with ``file=NAME`` is
written to that file instead. In ``console`` blocks the lines that start with ``$ sfumato`` are run and must end with 0
(or with N, where the block says ``exit=N``); other commands are left out. Output that a page shows, in a console block
or in a ``text`` block right after a Python block, must be printed, figure by figure; "..." may stand for lines that are
left out. Hashes, folders, times, dates and the version may differ. Where secure noise decides, the fence of the output
says ``noisy``, and then every number may differ.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from website.pages import MARKDOWN

from page_output import require_shown
from sfumato.cli.main import run
from sfumato.core.method import REGISTRY

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
WIDTH = "100"
RUNS = ("python", "console", "sh")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its options, its text, and the line where it starts."""

    language: str
    options: dict[str, str]
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    tokens = MARKDOWN.parse(page.read_text(encoding="utf-8"))
    found = []
    for token in tokens:
        if token.type == "fence":
            language, *words = token.info.split() or [""]
            options = {name: value for name, _, value in (word.partition("=") for word in words)}
            found.append(Block(language, options, token.content, token.map[0] + 1))
    return found


def is_run(page: Path) -> bool:
    return any(block.language in RUNS for block in blocks_of(page))


def commands_of(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with the output that stands under it."""
    joined = re.sub(r"\\\n\s*(?:>\s)?", "", block.text)
    command, shown = "", list[str]()
    for line in [*joined.splitlines(), "$ "]:
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(shown)
            command, shown = line[2:].strip(), []
        else:
            shown.append(line)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    registered, modules = dict(REGISTRY), set(sys.modules)
    yield tmp_path
    REGISTRY.clear()
    REGISTRY.update(registered)
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) and Path(sys.modules[name].__file__).parent == tmp_path:
            del sys.modules[name]


@pytest.mark.parametrize("page", [page for page in PAGES if is_run(page)], ids=lambda page: page.stem)
def test_what_a_page_shows_is_what_happens(page: Path, folder: Path, monkeypatch, capsys):
    names: dict[str, object] = {"__name__": "__docs__"}
    blocks = blocks_of(page)
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        where = f"{page.name}, line {block.line}"
        if block.language == "python" and "file" in block.options:
            (folder / block.options["file"]).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            printed = run_python(block, where, names)
            if after is not None and after.language == "text":
                require_shown(after.text, printed, where, "noisy" in after.options)
        elif block.language in ("console", "sh"):
            run_console(block, where, monkeypatch, capsys)


def run_python(block: Block, where: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * block.line + block.text, where, "exec"), names)
    return printed.getvalue()


def run_console(block: Block, where: str, monkeypatch, capsys) -> None:
    for command, shown in commands_of(block):
        if not command.startswith("sfumato"):
            continue
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        code = run()
        captured = capsys.readouterr()
        assert code == int(block.options.get("exit", 0)), f"{where}: {command} ended with {code}\n{captured.err}"
        require_shown(shown, captured.out + captured.err, f"{where}: {command}", "noisy" in block.options)


def test_pictures_are_small():
    large = [path.name for path in (ROOT / "docs" / "images").iterdir() if path.stat().st_size >= 300_000]
    assert large == []


def test_noise_may_bring_an_exponent_at_the_end_of_a_sentence():
    require_shown("mean squared difference 0.0006123.", "mean squared difference 9.695e-05.", "here", noisy=True)


PRINTED = "epsilon 1.105: 73.1 % of 2,000, p = 0.9772498680518208; the ledger holds: 2 rows, head 00ff00ff00ff00ff"


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("mutant", ["the ledger breaks: 2 rows", "holds\n...\nnever printed"])
def test_output_that_is_not_printed_is_found(mutant, noisy):
    require_shown("epsilon 1.105: 73.1 %\n...\nholds: 2 rows, head ffffffffffffffff", PRINTED, "here", noisy)
    with pytest.raises(AssertionError, match="shows"):
        require_shown(mutant, PRINTED, "here", noisy)


@pytest.mark.parametrize(
    "mutant", ["epsilon 1.106:", "73.2 %", "of 2,001,", "p = 0.97724987;", "p = 0.97726986805182;"]
)
def test_a_changed_digit_is_found_unless_noise_decides(mutant):
    with pytest.raises(AssertionError, match="shows"):
        require_shown(mutant, PRINTED, "here")
    require_shown(mutant, PRINTED, "here", noisy=True)


def test_the_last_digits_of_long_numbers_are_the_platforms():
    require_shown("p = 0.9772498680518211;", PRINTED, "here")


def test_a_changed_digit_on_a_page_is_found(tmp_path, monkeypatch):
    """A page whose figure a seed fixes, with that figure wrong: the run of the page fails."""
    page = ROOT / "docs" / "schema.md"
    blocks = blocks_of(page)
    shown, block = next((b, a) for a, b in pairwise(blocks) if b.language == "text")
    monkeypatch.chdir(tmp_path)
    printed = run_python(block, "here", {"__name__": "__docs__"})
    require_shown(shown.text, printed, "here")
    for digit in re.finditer(r"\d", shown.text):
        wrong = shown.text[: digit.start()] + str((int(digit[0]) + 1) % 10) + shown.text[digit.end() :]
        with pytest.raises(AssertionError, match="shows"):
            require_shown(wrong, printed, "here")


def test_a_fence_says_only_words_that_mean_something():
    known = {"python": {"file"}, "console": {"exit", "noisy"}, "sh": set(), "text": {"noisy"}}
    odd = [
        f"{page.name}, line {block.line}: {sorted(set(block.options) - known.get(block.language, set()))}"
        for page in PAGES
        for block in blocks_of(page)
        if set(block.options) - known.get(block.language, set())
    ]
    assert odd == []
