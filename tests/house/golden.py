"""Record what the package gives out, and compare it with an earlier record: for changes that should change nothing.

``python tests/house/golden.py record FILE`` stores hashes of every method's released tables at three seeds, its
``release.json`` and statement of the guarantee, the ``--help`` of every command and the public names.
``python tests/house/golden.py compare FILE`` prints what differs and exits with 1 where anything does.
``--part releases`` (or ``help``, ``names``) takes one part alone, ``--method histogram`` the releases of one method.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import inspect
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SEEDS = (1, 2, 3)
ROWS = 600
TIME = "2026-01-01T00:00:00+00:00"
"""Put in the place of the time of a release, which stands in most files of a bundle."""


def digest(value: Any) -> str:
    return hashlib.sha256(value if isinstance(value, bytes) else str(value).encode()).hexdigest()[:16]


def table_digest(table: Any) -> str:
    """Return the hash of a table's names, types and values, whatever chunks it lies in."""
    return digest(
        json.dumps([table.schema.names, [str(kind) for kind in table.schema.types], table.to_pydict()], default=str)
    )


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every value of a JSON document with its path, so that a difference names its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}/{key}")
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{path}/{place}")
    else:
        text = json.dumps(value, sort_keys=True)
        yield path, text if len(text) <= 120 else digest(text)


def release_record(case: tuple[str, int]) -> dict[str, str]:
    """Return the record of one seeded release by a method's own example."""
    import sfumato
    from sfumato import example
    from sfumato.core.registry import AS_PUBLISHED, PUBLISHED_FORMS

    name, seed = case
    warnings.simplefilter("ignore")
    frame, schema = example.households(ROWS, seed=1), example.codebook()
    cls = getattr(sfumato, sfumato.methods()[name].cls.__name__) if name in sfumato.methods() else None
    if cls is None:
        module, attribute = PUBLISHED_FORMS[name].split(":")
        assert name.endswith(AS_PUBLISHED)
        cls = getattr(__import__(module, fromlist=[attribute]), attribute)
    released = sfumato.release(sfumato.read(frame, schema), cls.example(schema), ledger=False, seed=seed)
    released = dataclasses.replace(released, created_at=TIME)
    key = f"release/{name}/{seed}"
    record = {f"{key}/table/{'+'.join(columns)}": table_digest(table) for columns, table in released.tables.items()}
    record[f"{key}/statement"] = digest(released.guarantee.statement())
    with TemporaryDirectory() as folder:
        document = json.loads((released.save(Path(folder) / "bundle") / "release.json").read_text())
    record |= {f"{key}/release.json{path}": value for path, value in leaves(document)}
    return record


def help_record() -> dict[str, str]:
    """Return the help of every command, with all the commands of its groups."""
    import typer
    from typer.testing import CliRunner

    from sfumato.cli.main import app
    from sfumato.cli.verbs import VERBS

    runner = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1"})

    paths = [(), *(tuple(words.split()) for words in VERBS)]
    assert isinstance(app, typer.Typer)
    return {f"help/{' '.join(path)}": digest(runner.invoke(app, [*path, "--help"]).output) for path in paths}


def name_record() -> dict[str, str]:
    """Return the public names with their signatures."""
    import sfumato

    def signature(value: Any) -> str:
        try:
            return str(inspect.signature(value))
        except (TypeError, ValueError):
            return type(value).__name__

    return {f"name/{name}": signature(getattr(sfumato, name)) for name in sorted(sfumato.__all__)}


def releases_record(methods: Sequence[str]) -> dict[str, str]:
    """Return the records of all methods' releases, or of those that are named."""
    import sfumato
    from sfumato.core.registry import PUBLISHED_FORMS

    names = methods or (*sfumato.methods(), *PUBLISHED_FORMS)
    merged: dict[str, str] = {}
    with ProcessPoolExecutor(2) as pool:
        for part in pool.map(release_record, [(name, seed) for name in names for seed in SEEDS]):
            merged |= part
    return merged


def record(parts: Sequence[str] = (), methods: Sequence[str] = ()) -> dict[str, str]:
    """Return all parts of the record, or those that are named."""
    makers = {"releases": lambda: releases_record(methods), "help": help_record, "names": name_record}
    merged: dict[str, str] = {}
    for part in parts or makers:
        merged |= makers[part]()
    return merged


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    keys = sorted(before.keys() | after.keys())
    return [
        f"{key}: {before.get(key, 'absent')} -> {after.get(key, 'absent')}"
        for key in keys
        if before.get(key) != after.get(key)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--part", action="append", default=[], choices=["releases", "help", "names"])
    parser.add_argument("--method", action="append", default=[])
    wanted = parser.parse_args()
    parts = ["releases"] if wanted.method else wanted.part
    current = record(parts, wanted.method)
    if wanted.action == "record":
        wanted.file.write_text(json.dumps(current, indent=0, sort_keys=True))
        return 0
    before = json.loads(wanted.file.read_text())
    if parts:
        kept = {"releases": "release/", "help": "help/", "names": "name/"}
        before = {key: value for key, value in before.items() if key.startswith(tuple(kept[part] for part in parts))}
    if wanted.method:
        before = {key: value for key, value in before.items() if key.split("/")[1] in wanted.method}
    changed = differences(before, current)
    print("\n".join(changed) or f"no difference in {len(current):,} entries")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
