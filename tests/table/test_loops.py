"""NumPy's loops give the answers of the compiled ones, and a small count loads neither Numba nor its friends."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Schema, read
from sfumato.table import encode as numpy_loops
from sfumato.table import numba_loops

FACTS = """
[table]
name = "people"
[confirmed]
by = "a test"
on = 2026-01-01
[columns.age]
kind = "integer"
bounds = [0, 99]
missing = true
[columns.height]
kind = "number"
bounds = [0.0, 2.5]
bins = 40
[columns.sex]
kind = "category"
values = ["f", "m"]
missing = true
"""
MOST_MEGABYTES = {"csv": 100, "parquet": 80}
"""Of memory of its own: measured 74 and 56. Mapped pages of libraries come on top, from 60 to 140 MB of them by what
the kernel holds in large pages, shared with other processes and not ours to bound: 152 to 214 MB in all for CSV."""
UNNEEDED = [
    "numba",
    "llvmlite",
    "scipy",
    "pandas",
    "sqlalchemy",
    "pydantic",
    "opendp",
    "dp_accounting",
    "sklearn",
    "cryptography",
]
CHILD = """
import pathlib, re, sys, sfumato
counts = sfumato.read(sys.argv[1], sys.argv[2]).marginals([("sex",), ("sex", "age")])
assert counts["sex",].sum() == 2000
print(int(re.search(r"RssAnon:\\s*(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) // 1024)
print(*(name for name in sys.argv[3:] if name in sys.modules))
"""
ENCODERS = {
    "lookup": lambda k, v, codes: k.encode_lookup(v.astype(np.int64), 3, np.arange(7, dtype=codes.dtype), 255, codes),
    "few": lambda k, v, codes: k.encode_few_bins(v, np.array([0.0, 1.5, 4.0]), 9.0, 255, codes),
    "many": lambda k, v, codes: k.encode_many_bins(
        v, np.arange(20.0), 20.5, np.minimum(np.arange(41) // 2, 19), 2.0, 255, codes
    ),
    "fractions": lambda k, v, codes: k.mark_fractions(v, 255, codes),
    "missing": lambda k, v, codes: k.mark_missing(np.frombuffer(b"\xa5" * 40, np.uint8), 3, 9, codes),
}


def people(rows: int = 2000) -> pa.Table:
    random = np.random.default_rng(4)
    age = pa.array(random.integers(0, 100, rows), mask=random.random(rows) < 0.1)
    sex = pa.array(random.choice(["f", "m"], rows), mask=random.random(rows) < 0.1)
    return pa.table({"age": age, "height": random.random(rows) * 2.5, "sex": sex})


@pytest.mark.parametrize("name", ENCODERS)
@settings(deadline=None, max_examples=30)
@given(values=st.lists(st.floats(-30, 30) | st.integers(-3, 21).map(float), max_size=60))
def test_numpy_encodes_as_the_compiled_loops_do(name, values):
    given_values = np.array(values, float)
    codes = {k: np.full(len(values), 7, np.uint8) for k in (numba_loops, numpy_loops)}
    for each, found in codes.items():
        ENCODERS[name](each, given_values, found)
    np.testing.assert_array_equal(codes[numpy_loops], codes[numba_loops])
    assert numpy_loops.count_code(codes[numba_loops], 255) == numba_loops.count_code(codes[numba_loops], 255)


@pytest.mark.parametrize("rows", [3, 500])
def test_numpy_counts_as_the_compiled_loops_do(rows):
    random = np.random.default_rng(rows)
    codes = random.integers(0, 4, (3, rows + 5)).astype(np.uint8)
    columns, pointers, strides = np.array([0, 1, 2, 0, 2]), np.array([0, 3, 5]), np.array([16, 4, 1, 4, 1])
    found = {k: np.zeros(80, np.int64) for k in (numba_loops, numpy_loops)}
    for each, counts in found.items():
        each.fill_marginals(codes, rows, columns, pointers, strides, np.array([0, 64, 80]), counts)
        each.fill_large_marginal(codes, rows, columns[:3], strides[:3], counts[:64])
    np.testing.assert_array_equal(found[numpy_loops], found[numba_loops])
    assert found[numba_loops].sum() == 3 * rows


def test_counts_are_the_same_wherever_the_compiled_loops_take_over(monkeypatch):
    table, sets = read(people(), Schema.parse(FACTS)), [("age", "sex"), ("height",), ("sex", "height")]
    plain = table.marginals(sets)
    for steps in (-1, 2500):
        monkeypatch.setattr(numpy_loops, "NUMPY_STEPS", steps)
        for names, counts in table.marginals(sets).items():
            np.testing.assert_array_equal(counts, plain[names])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read as Linux tells it")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_small_count_takes_little_memory_and_loads_nothing_heavy(kind, tmp_path):
    import pyarrow.csv
    import pyarrow.parquet

    path, schema = tmp_path / f"people.{kind}", tmp_path / "people.toml"
    schema.write_text(FACTS)
    write = pyarrow.csv.write_csv if kind == "csv" else pyarrow.parquet.write_table
    write(people(), path)
    command = [sys.executable, "-c", CHILD, str(path), str(schema), *UNNEEDED]
    megabytes, loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[:2]
    assert loaded == ""
    assert int(megabytes) < MOST_MEGABYTES[kind]


TWICE = """
import numpy as np
from sfumato.table.numba_loops import count_code
assert count_code(np.zeros(5, np.uint8), 0) == 5
print(sum(count_code.stats.cache_hits.values()), sum(count_code.stats.cache_misses.values()))
"""


def test_a_second_start_compiles_nothing(tmp_path):
    """The machine code is kept, here where the environment says; Numba itself takes the user's own folder else."""
    where = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = [
        subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=True, env=where).stdout
        for _ in range(2)
    ]
    assert told == ["0 1\n", "1 0\n"]
