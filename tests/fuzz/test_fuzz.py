"""More than a thousand hostile inputs, the same in every run: no bare exception, no exit 70, no spend for nothing.

Each case ends in one of two ways: it works, and what was recorded is what was released; or it is refused by a named
error with a next step, and the ledger is as it was.
"""

from __future__ import annotations

import dataclasses
import random
import sys
from pathlib import Path

import pytest

import sfumato
from fuzz.generate import NASTY, NUMBERS, anything, csv_bytes, schema_text
from sfumato import Histogram, Ledger, Marginals, Schema
from sfumato.cli.main import run
from sfumato.errors import SfumatoError

SEED = 20261115
SCHEMAS, PARAMETERS, FILES, COMMANDS = 900, 320, 70, 60
ENDS = (0, 2, 3)
"""Done; refused by name; a seeded bundle that verifies."""
SOUND = """
[table]
name = "t"
[columns.x]
kind = "category"
values = ["a", "b", "c"]
[columns.y]
kind = "integer"
bounds = [0, 9]
missing = true
outside = "missing"
[columns.g]
kind = "boolean"
"""


PLAIN = """
[table]
name = "t"
[columns.x]
kind = "number"
bounds = [0, 10]
[columns.y]
kind = "integer"
bounds = [0, 9]
[columns.g]
kind = "boolean"
"""
"""Columns that every method can take."""


def named(error: SfumatoError) -> bool:
    return bool(error.headline) and bool(error.next_step)


def test_any_schema_is_read_and_planned_or_refused_by_name():
    rng, refused = random.Random(SEED), 0
    for _ in range(SCHEMAS):
        text = schema_text(rng)
        try:
            schema = Schema.parse(text)
            assert Schema.parse(schema.to_toml()) == schema, text
            sfumato.plan(schema, Histogram(schema.names[0], epsilon=1))
            sfumato.plan(schema, Marginals(epsilon=1))
        except SfumatoError as error:
            assert named(error), text
            refused += 1
    assert 100 < refused < SCHEMAS - 40


def test_any_parameter_makes_a_plan_or_is_refused_by_name():
    rng, schema, planned = random.Random(SEED + 1), Schema.parse(PLAIN), 0
    examples = [info.cls.example(schema) for info in sfumato.methods().values()]
    for _ in range(PARAMETERS):
        example = rng.choice(examples)
        field = rng.choice(dataclasses.fields(example))
        value = rng.choice([anything(rng), getattr(example, field.name), rng.choice(["x", "y", ["x"], ["x", "y"]])])
        try:
            planned += bool(sfumato.plan(schema, dataclasses.replace(example, **{field.name: value})).events)
        except SfumatoError as error:
            assert named(error), (example, field.name, value)
    assert 50 < planned < PARAMETERS - 50


def test_any_file_is_released_and_recorded_or_neither(tmp_path):
    rng, schema, made = random.Random(SEED + 2), Schema.parse(SOUND), 0
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table("t", epsilon=10_000)
    for case in range(FILES):
        path = tmp_path / f"{case}{rng.choice(['.csv', '.csv', '.parquet', '.txt'])}"
        path.write_bytes(csv_bytes(rng))
        before = len(ledger.history())
        try:
            released = sfumato.release(
                sfumato.read(path, schema), Histogram(rng.choice("xyg"), epsilon=1), ledger=ledger
            )
            released.save(tmp_path / f"bundle-{case}")
            made += 1
        except SfumatoError as error:
            assert named(error), path.read_bytes()
            assert len(ledger.history()) == before, path.read_bytes()
        else:
            assert len(ledger.history()) == before + 1
    assert 10 < made < FILES - 10


def command(rng: random.Random, folder: Path) -> list[str]:
    """Return arguments of one verb, some of them senseless."""
    (folder / "t.csv").write_bytes(csv_bytes(rng))
    (folder / "s.toml").write_text(rng.choice([SOUND, schema_text(rng)]), encoding="utf-8", errors="replace")
    data, schema = str(folder / "t.csv"), str(folder / "s.toml")
    odd = str(rng.choice([*NASTY, *NUMBERS[:10]])).replace("\x00", "")
    epsilon = rng.choice(["1", "0.5", odd])
    return rng.choice(
        [
            ["schema", "draft", rng.choice([data, odd]), "--out", str(folder / f"draft-{rng.random()}.toml")],
            ["schema", "check", data, "--schema", schema],
            ["schema", "confirm", rng.choice([schema, odd])],
            ["schema", "confirm", schema, "--source", odd, "--by", odd, "--person", odd],
            ["schema", "show", rng.choice([schema, odd])],
            ["plan", "--schema", schema, "--epsilon", epsilon, "--set", f"columns={odd}"],
            ["plan", "--schema", schema, "--epsilon", epsilon, "--method", rng.choice(["mst", "marginals", odd])],
            [
                "release",
                data,
                "--schema",
                schema,
                "--epsilon",
                epsilon,
                "--method",
                "histogram",
                "--set",
                f"column={odd or 'x'}",
                *rng.choice([[], ["--anyway"], ["--about-rows", odd]]),
                "--ledger",
                str(folder / "ledger.db"),
                "--out",
                str(folder / f"out-{rng.random()}"),
            ],
            ["ledger", "show", rng.choice([str(folder / "ledger.db"), data, odd])],
            ["ledger", "init", str(folder / f"{rng.random()}.db"), "--schema", schema, "--epsilon", epsilon],
            ["verify", rng.choice([str(folder), odd])],
            [
                "sample",
                rng.choice([str(folder), odd]),
                "--rows",
                rng.choice(["5", odd]),
                "--out",
                str(folder / "more.csv"),
            ],
        ]
    )


def test_any_command_ends_in_a_sentence(tmp_path, monkeypatch, capsys):
    rng = random.Random(SEED + 3)
    monkeypatch.chdir(tmp_path)
    Ledger(tmp_path / "ledger.db").open_table("t", epsilon=10_000)
    for _ in range(COMMANDS):
        arguments = command(rng, tmp_path)
        bundles, spends = len(list(tmp_path.glob("out-*"))), len(Ledger(tmp_path / "ledger.db").history())
        monkeypatch.setattr(sys, "argv", ["sfumato", *arguments])
        code, said = run(), capsys.readouterr()
        assert code in ENDS, (arguments, said)
        assert "Traceback" not in said.err, arguments
        assert "\x1b[2J" not in said.out + said.err, arguments
        made = len(list(tmp_path.glob("out-*"))) - bundles
        assert len(Ledger(tmp_path / "ledger.db").history()) - spends == made, arguments


def test_the_count_is_what_is_promised():
    assert SCHEMAS + PARAMETERS + FILES + COMMANDS >= 1000


def test_a_bare_exception_would_be_seen(monkeypatch):
    """The mutant: a reader that lets an OverflowError through must fail the first test."""
    monkeypatch.setattr(Schema, "to_toml", lambda self: 10**5000 / 3)
    with pytest.raises(OverflowError):
        test_any_schema_is_read_and_planned_or_refused_by_name()
