"""The list of verbs is shown without importing any of them, and says what each of them says of itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.cli.verbs import EVALUATE, MAINTAIN, RESEARCH, VERBS, inner_verbs, load_command, unknown_verb

MOST_LINES, WIDTH = 50, 80
MOST_MODULES = 400
"""Modules that the help imports, those of Python and of the terminal included: what it costs, without a clock."""
HEAVY = ("numba", "sqlalchemy", "duckdb", "pandas", "scipy", "numpy", "pyarrow", "pydantic")
"""The last of them is imported by Typer as soon as it reads an argument."""
LISTED = """
import atexit, json, sys
from sfumato.cli import main
atexit.register(lambda: sys.stderr.write(json.dumps(sorted(sys.modules))))
main()
"""


def _imported(*arguments: str) -> tuple[str, list[str]]:
    """Run a command in a process of its own; return what it prints, and the modules that it imported."""
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    command = [sys.executable, "-c", LISTED, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout, json.loads(done.stderr)


def test_the_help_fits_a_screen_and_imports_no_verb():
    shown, modules = _imported("--help")
    assert len(shown.splitlines()) <= MOST_LINES
    assert all(f" {name} " in shown for name in VERBS if " " not in name)
    assert all(panel in shown for panel in ("Commands", EVALUATE, RESEARCH, MAINTAIN))
    assert not [name for name in HEAVY if name in modules]
    assert not [
        name for name in modules if name.startswith(("sfumato.papers", "sfumato.core.release", "sfumato.cli.release"))
    ]
    assert len(modules) <= MOST_MODULES, len(modules)


def test_the_version_and_the_help_of_a_group_import_no_verb_either():
    for arguments in (["--version"], ["risk", "--help"]):
        _, modules = _imported(*arguments)
        assert not [name for name in modules if name in HEAVY[:-1] or name.startswith("sfumato.risk")]


@pytest.mark.parametrize("words", VERBS)
def test_every_line_is_what_the_verb_says_of_itself(words):
    command = load_command(words)
    assert " ".join(command.help.split("\n\n")[0].split()) == VERBS[words].line
    assert command.name == words.split()[-1]


def test_every_line_fits_beside_its_verb(sfumato_cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    for group in ("", *(words for words, verb in VERBS.items() if not verb.home)):
        listed = sfumato_cli(*group.split(), "--help")[1]
        for name, words in inner_verbs(group):
            assert re.search(rf"{name} +{re.escape(VERBS[words].line)} ", listed), words


def test_the_verbs_stand_in_the_order_of_the_table(sfumato_cli):
    code, out, _ = sfumato_cli("--help")
    listed = [line.split()[1] for line in out.splitlines() if line.startswith("│ ") and line[2] != " "]
    assert code == 0 and [word for word in listed if word in VERBS] == [words for words in VERBS if " " not in words]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("relase", ["release"]),
        ("attack", ["risk attack"]),
        ("audit", ["risk audit"]),
        ("utility compare", ["compare"]),
        ("risk homogeneity-plan", ["risk homogeneity"]),
        ("risk reidentification", ["risk homogeneity --uniqueness"]),
        ("schema sho", ["schema show"]),
        ("memberships", ["risk membership"]),
    ],
)
def test_an_unknown_verb_is_answered_with_the_nearest_one(sfumato_cli, monkeypatch, typed, meant):
    monkeypatch.setenv("COLUMNS", "200")
    code, _, err = sfumato_cli(*typed.split())
    assert code == 2 and f"No such command '{typed}'" in err
    assert f"Did you mean {' or '.join(repr(f'sfumato {words}') for words in meant)}?" in err
    assert "Did you mean" not in unknown_verb("xyzzy")


@pytest.mark.parametrize(
    ("words", "offered"), [("sfumato re", ["release", "reproduce"]), ("sfumato release --eps", ["--epsilon"])]
)
def test_the_shell_completes_verbs_and_their_options(words, offered):
    completing = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    program = "import sys; sys.argv[0] = 'sfumato'; from sfumato.cli import main; main()"
    environment = {"PYTHONPATH": ":".join(sys.path), **completing}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == offered


ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"(?:[`'\"(]|\$ )sfumato ([a-z]+)\b(?: ([a-z]+(?:-[a-z]+)*)\b)?")
LABELS = {"bundle", "check", "hash", "import", "kept", "person", "place", "rank", "rel", "values"}
"""Words that are not commands: labels of hashes and of measurements, an import, and a completion."""


def test_every_command_that_a_text_names_exists():
    files = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    files += [path for suffix in ("py", "toml", "j2") for path in (ROOT / "src").rglob(f"*.{suffix}")]
    unknown: list[str] = []
    for path in files:
        for first, second in NAMED.findall(path.read_text(encoding="utf-8")):
            verb = VERBS.get(first)
            is_command = verb is not None and (verb.home or not second or f"{first} {second}" in VERBS)
            if not is_command and first not in LABELS and path.name != "verbs.py":
                unknown.append(f"{path.name}: sfumato {first} {second}")
    assert unknown == []
