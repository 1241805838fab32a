"""Texts of pages: every name in the code leads to a text, every text is used, and its facts are the ones given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sfumato.report
from sfumato.report.texts import text_file

ROOT = Path(sfumato.report.__file__).parent
TOPICS = sorted(path.stem for path in (ROOT / "texts").glob("*.toml"))
WHOLE = ("glossary", "statistics")
"""Files that are read as a whole."""


def names(table: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield the full name of every text in a file."""
    for name, value in table.items():
        yield from names(value, f"{before}{name}.") if isinstance(value, dict) else [f"{before}{name}"]


def asked(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the topic and the name of each text that a module asks for, as a pattern."""
    topics = {
        node.targets[0].id: node.value.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Texts(")
    }
    topics |= {
        name.asname or name.name: text_topic(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.name == "say" and node.module
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        call = ast.unparse(node.func)
        topic = topics.get(call.removesuffix(".table")) or next(iter(re.findall(r"^Texts\('(\w+)'\)", call)), None)
        if topic:
            for pattern in patterns(node.args[0]):
                yield topic, f"{pattern}(\\..*)?" if call.endswith(".table") else pattern


def patterns(argument: ast.expr) -> list[str]:
    """Return patterns of the names that an argument can have."""
    if isinstance(argument, ast.IfExp):
        return [*patterns(argument.body), *patterns(argument.orelse)]
    if isinstance(argument, ast.JoinedStr):
        parts = (re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in argument.values)
        return ["".join(parts)]
    assert isinstance(argument, ast.Constant), ast.unparse(argument)
    return [re.escape(argument.value)]


def text_topic(module: str) -> str:
    """Return the topic whose texts a module shares with others."""
    source = ROOT.parents[1].joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    return re.findall(r'^say = Texts\("(\w+)"\)', source, re.MULTILINE)[0]


def test_every_text_exists_and_is_used():
    known = {topic: set(names(text_file(topic))) for topic in TOPICS if topic not in WHOLE}
    used: dict[str, set[str]] = {topic: set() for topic in known}
    for path in sorted(ROOT.rglob("*.py")):
        for topic, pattern in asked(ast.parse(path.read_text(encoding="utf-8"))):
            found = {name for name in known[topic] if re.fullmatch(pattern, name)}
            assert found, f"{path.name} asks for {pattern} of {topic}.toml"
            used[topic] |= found
    assert {topic: sorted(known[topic] - used[topic]) for topic in known} == {topic: [] for topic in known}


def test_statistics_have_a_name_and_sentences_end():
    for key, fact in text_file("statistics").items():
        assert fact["name"] and set(fact) <= {"name", "form", "join", "sentence"}, key
        assert fact.get("sentence", ".").endswith("."), key
