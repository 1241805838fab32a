"""5,000 hostile command lines: each must end in an answer or a named error, never in exit code 70 or a traceback.

One warm process imports everything once; each command line runs in a fork of it with limits of memory, CPU and wall
time, in a folder of its own. What a command is given follows from the seed and its number alone.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.generate import CHECKS, NASTY
from siege.corpus import SCHEMA, build
from siege.results import Result

CASES = 5000
AT_ONCE = 3
CPU, WALL, MEMORY = 30, 90, 4 << 30
TYPICAL = (
    ("schema", "draft", "t.csv"),
    ("schema", "draft", "t.xlsx"),
    ("schema", "check", "t.parquet", "-s", "s.toml"),
    ("release", "t.csv", "-s", "s.toml", "--epsilon", "1", "--no-ledger", "--anyway", "--out", "o"),
    ("verify", "bundle", "--ledger", "ledger.db"),
    ("uncertainty", "bundle", "--statistic", "mean age", "--reruns", "2"),
    ("export", "bundle", "x.sav"),
    ("sample", "bundle", "--out", "x.csv"),
    ("dpia", "bundle"),
    ("compare", "bundle", "t.csv"),
    ("schema", "import", "bundle/croissant.json"),
)
"""Sound commands, of which each imports much."""
UNTRIED = ("workbench", "reproduce", "demo")
"""Verbs that serve or compute for minutes however they are called."""
NUMBERS = ("0", "-1", "1", "1e30", "1e-30", "nan", "inf", "-inf", "99999999999999999999", "0.5", "1/0", "1/3", "", "x")
PLACES = ("/dev/zero", "/dev/null", "/dev/full", ".", "/", "no/such", "pipe", "~nouser/x", "a\x00b", "x" * 300, "t.csv")
TEXTS = (*(text for text in NASTY if "\x00" not in text), "age", "sex", "age,sex", "mean age by sex", "age=code book")
METHODS = ("histogram", "mst", "aim", "grid", "marginals", "mean-curve", "entropy", "two-stage", "nothing", "")
ENCODINGS = ("utf-8", "hex", "zip", "base64", "cp1252", "utf-16", "utf-32", "idna", "punycode", "undefined", "")
DIALECTS: dict[str, tuple[str, ...]] = {
    "delimiter": (",", ";", "\t", "", "||", "\n", '"', "\x00", "é"),
    "decimal": (".", ",", "", "x"),
    "thousands": (",", ".", " ", "'", "x", ""),
    "date_format": ("%d.%m.%Y", "%Y", "%", "%q%Y%m", "x", "", "%Y%m%d%" * 50),
    "missing": ("", "N/A", "0", "\x00", "'"),
    "encoding": ENCODINGS,
    "sheet": ("t", "0", "1", "-1", "99", "", "x"),
    "format": ("csv", "parquet", "x", ""),
}
Change = Callable[[random.Random, bytes], bytes]


@dataclass
class Case:
    """A command line, and the files that are put beside it first."""

    kind: str
    call: list[str]
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    bundle: bool = False


def changed(chance: random.Random, data: bytes) -> bytes:
    """Return bytes that were cut, overwritten, doubled, or made of another file's parts."""
    how, body = chance.randrange(6), bytearray(data)
    if how == 0:
        return data[: chance.randrange(len(data) + 1)]
    if how == 1:
        return data + bytes(chance.randrange(256) for _ in range(chance.randrange(1, 200)))
    for _ in range(chance.choice((1, 3, 40))):
        place = chance.randrange(len(body)) if body else 0
        if how == 2:
            body[place : place + 1] = bytes([chance.randrange(256)])
        elif how == 3:
            body[place : place + chance.randrange(1, 50)] = b""
        elif how == 4:
            body[place:place] = chance.choice(NASTY).encode("utf-8", "surrogatepass")
        else:
            other = chance.randrange(len(body)) if body else 0
            body[place : place + 20] = body[other : other + 20]
    return bytes(body)


def of_files(chance: random.Random, corpus: Path) -> Case:
    """A table whose bytes were changed, or whose name says something else."""
    tables = sorted(path.name for path in corpus.iterdir() if path.name.startswith(("t.", "latin", "wide")))
    name = chance.choice([each for each in tables if each != "t.model"])
    target = name if chance.random() < 0.8 else f"t.{chance.choice(tables).split('.', 1)[1]}"
    data = changed(chance, (corpus / name).read_bytes()) if chance.random() < 0.9 else (corpus / name).read_bytes()
    calls = (["schema", "draft", target], ["schema", "check", target, "-s", "s.toml"])
    return Case("files", [*chance.choice(calls), *dialect(chance, 0.2)], {target: data})


def dialect(chance: random.Random, share: float) -> list[str]:
    """Return options that say how a file is written, mostly wrong ones."""
    options: list[str] = []
    for key, values in DIALECTS.items():
        if key != "format" and chance.random() < share / 4:
            options += [f"--{key.replace('_', '-')}", chance.choice(values).replace("\x00", "")]
    return options


def of_contents(chance: random.Random, corpus: Path) -> Case:
    """A CSV whose fields, quotes, line ends and header are nobody's."""
    pieces = ("age", "sex", ",", ";", '"', '""', "\n", "\r\n", "\r", "\x00", "1", "f", "1e400", "NaN", "\ufeff", "=1+1")
    text = "".join(chance.choice((*pieces, *NASTY)) for _ in range(chance.randrange(1, 80)))
    head = chance.choice(("", "age,sex,income,born\n", "a,a\n", ",,\n"))
    data = (head + text).encode(chance.choice(("utf-8", "utf-16", "latin-1")), "replace")
    if chance.random() < 0.6:  # a sound table with a few odd fields is read much further
        lines = [line.split(",") for line in (corpus / "t.csv").read_text().splitlines()]
        for _ in range(chance.randrange(1, 6)):
            line = chance.choice(lines)
            line[chance.randrange(len(line))] = chance.choice((*pieces, *NASTY))
        data = "\n".join(map(",".join, lines)).encode("utf-8", "surrogatepass")
    calls = (["schema", "draft", "x.csv"], ["schema", "check", "x.csv", "-s", "s.toml"])
    return Case("contents", [*chance.choice(calls), *dialect(chance, 0.2)], {"x.csv": data})


def of_schemas(chance: random.Random, corpus: Path) -> Case:
    """A schema with changed lines, keys, rules or ``[source]``."""
    lines = SCHEMA.strip().split("\n")
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(lines))
        word = json.dumps(chance.choice((*NASTY, *TEXTS)))
        key = lines[place].split("=")[0]
        number = chance.choice(NUMBERS)
        lines[place] = chance.choice((f"{key}= {word}", f"{key}= [{word}, {number}]", f"{key}= {number}", "", word))
        if chance.random() < 0.3:
            lines.append(
                f"[[rules]]\ncheck = {json.dumps(chance.choice(CHECKS).replace('x', 'age').replace('y', 'sex'))}"
            )
        if chance.random() < 0.3:
            key = chance.choice(list(DIALECTS))
            lines.append(f"[source]\n{key} = {json.dumps(chance.choice(DIALECTS[key]))}")
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    data = changed(chance, data) if chance.random() < 0.2 else data
    histogram = ["--method", "histogram", "--set", "column=age", "--epsilon", "1"]
    calls = (
        ["schema", "show", "x.toml"],
        ["schema", "confirm", "x.toml", "--source", "*=book", "--out", "y.toml"],
        ["schema", "check", "t.csv", "-s", "x.toml"],
        ["plan", "--schema", "x.toml", "--epsilon", "1", "--method", "mst"],
        ["release", "t.csv", "-s", "x.toml", *histogram, "--no-ledger", "--anyway", "--out", "o"],
    )
    return Case("schemas", chance.choice(calls), {"x.toml": data})


def of_bundles(chance: random.Random, corpus: Path) -> Case:
    """A bundle or model with changed bytes or fields."""
    names = ("release.json", "data.parquet", "data.csv", "schema.toml", "model.sfumato", "croissant.json")
    name = chance.choice((*names, "release.json", "release.json"))
    data = (corpus / "bundle" / name).read_bytes()
    if name.endswith(".json") and chance.random() < 0.7:
        data = json.dumps(wrong(chance, json.loads(data))).encode()
    else:
        data = changed(chance, data)
    calls = (
        ["verify", "bundle"],
        ["verify", "bundle", "--ledger", "ledger.db"],
        ["export", "bundle", f"x{chance.choice(('.csv', '.sav', '.xlsx', '.parquet', '.nothing'))}"],
        ["uncertainty", "bundle", "--statistic", chance.choice(TEXTS), "--reruns", "2"],
        ["sample", "bundle", "--rows", "5", "--out", "x.csv"],
        ["schema", "import", "bundle/croissant.json"],
        ["dpia", "bundle"],
        ["doctor", "bundle", "--json"],
        ["compare", "bundle", "t.csv"],
    )
    return Case("bundles", chance.choice(calls), {f"bundle/{name}": data}, bundle=True)


def wrong(chance: random.Random, value: Any) -> Any:
    """Return a document with one value replaced, somewhere deep."""
    if isinstance(value, (dict, list)) and value and chance.random() < 0.85:
        key = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        value[key] = wrong(chance, value[key])
        return value
    return chance.choice((None, True, -1, 10**400, 1e308, "", "x", "../x", [], {}, [[]], {"a": 1}, "x" * 5000, value))


def of_arguments(chance: random.Random, corpus: Path) -> Case:
    """Any verb with any of its options, given numbers, texts and places that fit, or do not."""
    path, command = chance.choice(verbs())
    call = list(path)
    for parameter in command.params:
        if parameter.name in ("help", "version"):
            continue
        is_argument = parameter.param_type_name == "argument"
        if not is_argument and chance.random() > (0.85 if parameter.required else 0.15):
            continue
        if getattr(parameter, "is_flag", False):
            call.append(parameter.opts[0])
            continue
        value = fitting(chance, parameter.name or "") if chance.random() < 0.75 else anything(chance)
        call += [value] if is_argument else [parameter.opts[0], value]
    return Case("arguments", [word.replace("\x00", "") for word in call], bundle=True)


def verbs() -> list[tuple[tuple[str, ...], Any]]:
    """Return every command with the words that call it."""
    from sfumato.cli.verbs import VERBS, load_command

    tried = sorted(words for words, verb in VERBS.items() if verb.home and words not in UNTRIED)
    return [(tuple(words.split()), load_command(words)) for words in tried]


def fitting(chance: random.Random, name: str) -> str:
    """Return a value that a parameter of this name could have."""
    known = {
        "bundle": ("bundle", "bundle/data.parquet"),
        "schema": ("s.toml",),
        "ledger": ("ledger.db", "new.db"),
        "model": ("bundle", "t.model"),
        "method": METHODS,
        "epsilon": ("1", "0.5", "3", "1/2"),
        "delta": ("1e-6", "0", "1"),
        "out": ("o", "o.html", "o.csv", "o.json", "t.csv"),
        "encoding": ENCODINGS,
        "columns": ("age", "age,sex", "nothing"),
        "adjacency": ("add-remove", "replace", "x"),
    }
    files = ("t.csv", "t.parquet", "t.xlsx", "s.toml", "bundle")
    for key, values in known.items():
        if key in name:
            return chance.choice(values)
    return chance.choice((*files, "1", "2", "5", "age", "0.9", "age,sex"))


def anything(chance: random.Random) -> str:
    """Return a number, a text or a place that nobody expects."""
    return chance.choice(chance.choice((NUMBERS, TEXTS, PLACES)))


KINDS: tuple[tuple[int, Callable[[random.Random, Path], Case]], ...] = (
    (30, of_files),
    (10, of_contents),
    (20, of_schemas),
    (20, of_arguments),
    (20, of_bundles),
)


def case_of(seed: int, number: int, corpus: Path) -> Case:
    """Return one case, by the seed and its number alone."""
    chance = random.Random(seed * 1_000_003 + number)
    (make,) = chance.choices([make for _, make in KINDS], [weight for weight, _ in KINDS])
    return make(chance, corpus)


def warm(corpus: Path, place: Path) -> None:
    """Import what commands import, so that a fork need not; nothing is run here, for threads do not survive a fork."""
    verbs()
    for i, call in enumerate(TYPICAL):
        names = place / f"modules-{i}"
        if os.fork() == 0:
            in_child(Case("typical", list(call), bundle=True), corpus, place / f"warm-{i}", names)
        os.wait()
        for name in names.read_text().split():
            with contextlib.suppress(ImportError, AttributeError):
                importlib.import_module(name)


def in_child(case: Case, corpus: Path, place: Path, modules: Path | None = None) -> None:
    """Run a command line in this process, which ends with its exit code."""
    code = 99
    try:
        place.mkdir()
        for name in ("s.toml", "t.csv", "t.parquet", "t.xlsx", "t.model", "ledger.db"):
            shutil.copyfile(corpus / name, place / name)
        if case.bundle:
            shutil.copytree(corpus / "bundle", place / "bundle")
        os.mkfifo(place / "pipe")
        for name, data in case.files.items():
            (place / name).write_bytes(data)
        os.chdir(place)
        os.environ.update(TMPDIR=str(place), HOME=str(place), COLUMNS="120", PYTHONWARNINGS="ignore")
        tempfile.tempdir = str(place)
        out = os.open(place / "printed", os.O_CREAT | os.O_WRONLY, 0o600)
        for stream in (1, 2):
            os.dup2(out, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        sys.argv = ["sfumato", *case.call]
        from sfumato.cli.main import run as command

        code = command()
    except BaseException as error:  # noqa: BLE001  the end of a child: its parent looks at what was printed
        sys.stderr.write(f"Traceback of the siege: {error!r}\n")
    finally:
        if modules is not None:
            modules.write_text("\n".join(sorted(name for name in sys.modules if name != "__mp_main__")))
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


@dataclass
class Running:
    """A child at work."""

    case: Case
    number: int
    place: Path
    began: float


def finished(running: dict[int, Running]) -> Iterator[tuple[Running, int, bool]]:
    """Yield the children that have ended, with exit code or minus signal, and whether they were too slow."""
    for process, child in list(running.items()):
        slow = time.monotonic() - child.began > WALL
        if slow:
            os.kill(process, signal.SIGKILL)
        ended, status = os.waitpid(process, 0 if slow else os.WNOHANG)
        if ended:
            del running[process]
            yield child, os.waitstatus_to_exitcode(status), slow


def verdict(child: Running, code: int, slow: bool) -> tuple[str, str]:
    """Return what became of a case, in a word, and a sentence where it failed."""
    printed = (child.place / "printed").read_text(errors="replace") if (child.place / "printed").exists() else ""
    where = f"case {child.number}: sfumato {' '.join(child.case.call)[:200]!r}"
    if slow or code == -signal.SIGXCPU:
        return "too slow", where
    if "Traceback (most recent" in printed or "Traceback of the siege" in printed:
        return "traceback", f"{where}: {printed.strip()[-200:]}"
    if code == 70 or "is a bug in sfumato" in printed:
        return "exit 70", f"{where}: {printed.strip()[-300:-100]}"
    if code < 0 or code not in (0, 1, 2, 4):
        return f"exit {code}", f"{where}: {printed.strip()[-200:]}"
    return "answered" if code == 0 else "refused", ""


def run(seconds: float, seed: int) -> list[Result]:
    """Run as many of the 5,000 cases as fit into some seconds, and return one result for each kind."""
    end = time.monotonic() + seconds
    tried, failed, notes, ends = Counter[str](), Counter[str](), dict[str, list[str]](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="siege-") as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        builder = multiprocessing.get_context("spawn").Process(target=build, args=(corpus,))
        builder.start()
        builder.join()
        warm(corpus, Path(folder))
        running, number = dict[int, Running](), 0
        while running or (number < CASES and time.monotonic() < end):
            while len(running) < AT_ONCE and number < CASES and time.monotonic() < end:
                case, place = case_of(seed, number, corpus), Path(folder) / f"case-{number}"
                process = os.fork()
                if process == 0:
                    in_child(case, corpus, place)
                running[process] = Running(case, number, place, time.monotonic())
                number += 1
            for child, code, slow in finished(running):
                word, sentence = verdict(child, code, slow)
                kind = child.case.kind
                tried[kind] += 1
                ends[word] += 1
                if sentence and not (word == "too slow" and kind in ("arguments", "bundles")):
                    failed[kind] += 1
                if sentence:
                    notes.setdefault(kind, []).append(f"{word}: {sentence}")
                shutil.rmtree(child.place, ignore_errors=True)
            time.sleep(0.005)
    words = ", ".join(f"{word} {times:,}" for word, times in ends.most_common())
    kinds = [make.__name__.removeprefix("of_") for _, make in KINDS]
    results = [Result(f"command lines: {k}", tried[k], failed[k], tuple(notes.get(k, ())[:8])) for k in kinds]
    return [*results, Result("command lines, all", sum(tried.values()), sum(failed.values()), (words,))]
