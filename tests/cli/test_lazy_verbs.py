"""The list of verbs is shown without importing any of them, and says what each of them says of itself."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

from sfumato.cli.main import COMMANDS, load_command

MOST_SECONDS = 0.6
"""CPU; about 0.2 on a machine of its own."""
HEAVY = ("numba", "sqlalchemy", "duckdb", "pandas", "scipy", "numpy", "pyarrow", "pydantic")
LISTED = """
import atexit, json, sys
from sfumato.cli import main
atexit.register(lambda: sys.stderr.write(json.dumps(sorted(sys.modules))))
main()
"""


def _cpu_seconds(*arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", LISTED, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_list_of_verbs_is_there_at_once(option):
    assert min(_cpu_seconds(option) for _ in range(3)) < MOST_SECONDS


def test_no_verb_is_imported_for_the_list():
    done = subprocess.run([sys.executable, "-c", LISTED, "--help"], check=True, capture_output=True, text=True)
    loaded = json.loads(done.stderr)
    assert all(name in done.stdout for name in COMMANDS)
    assert not [name for name in HEAVY if name in loaded]
    assert not [name for name in loaded if name.startswith(("sfumato.papers", "sfumato.methods", "sfumato.release"))]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_line_is_what_the_verb_says_of_itself(name):
    said = load_command(name).help.split("\n\n")[0]
    assert " ".join(said.split()) == COMMANDS[name].line and load_command(name).name == name


def test_the_verbs_stand_in_the_order_of_the_table(sfumato_cli):
    code, out, _ = sfumato_cli("--help")
    listed = [line.split()[1] for line in out.splitlines() if line.startswith("│ ") and line[2] != " "]
    assert code == 0 and [word for word in listed if word in COMMANDS] == list(COMMANDS)


def test_a_slip_of_the_pen_is_answered_with_the_verb_that_was_meant(sfumato_cli):
    code, _, err = sfumato_cli("relase")
    assert code == 2 and "Did you mean 'release'?" in err


@pytest.mark.parametrize(
    ("words", "offered"), [("sfumato re", ["release", "reproduce"]), ("sfumato release --eps", ["--epsilon"])]
)
def test_the_shell_completes_verbs_and_their_options(words, offered):
    completing = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    program = "import sys; sys.argv[0] = 'sfumato'; from sfumato.cli import main; main()"
    environment = {"PYTHONPATH": ":".join(sys.path), **completing}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == offered
