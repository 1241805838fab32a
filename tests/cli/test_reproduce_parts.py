"""``sfumato reproduce PAPER --figure N`` and ``--table N``: one part of a paper from the command line."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from sfumato.papers import PAPERS, paper
from sfumato.papers.reproduce_verb import reproduce
from sfumato.papers.result import Reproduction

FILE = re.compile(r'"([\w.]+\.csv(?:\.gz)?)"')


def parts_text(parts: Sequence[str]) -> str:
    """Return the names of figures and tables in a few words.

    >>> parts_text(["figure 1", "figure 2", "figure 3", "figure S1", "table IV"])
    'figures 1 to 3, S1; table IV'
    """
    named: dict[str, list[str]] = {}
    for part in parts:
        kind, _, number = part.partition(" ")
        named.setdefault(kind, []).append(number)
    words = [f"{kind}{'s' if len(numbers) > 1 else ''} {', '.join(_runs(numbers))}" for kind, numbers in named.items()]
    return "; ".join(words)


def _runs(numbers: Sequence[str]) -> list[str]:
    """Return plain numbers in order, three or more in a row as one run, then everything else as it is."""
    runs: list[list[int]] = []
    for number in sorted(int(number) for number in numbers if number.isdigit()):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(number) for number in run] for run in runs]
    return [*(word for run in words for word in run), *(number for number in numbers if not number.isdigit())]


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch) -> None:
    """Work in an empty folder, without any data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))


def _saved(folder: str) -> Reproduction:
    return Reproduction.model_validate_json((Path(folder) / "results.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("option", "number", "part"),
    [
        ("--figure", "4", "figure 4"),
        ("--figure", "s1", "figure S1"),
        ("--table", "iv", "table IV"),
        ("--table", "S3", "table S3"),
    ],
)
def test_one_part_goes_into_its_own_folder(sfumato_cli, option, number, part):
    code, out, err = sfumato_cli("reproduce", "reaedp", option, number)
    assert (code, err) == (0, "")
    folder = f"reaedp-{part.replace(' ', '-')}"
    assert [each.name for each in _saved(folder).parts] == [part]
    assert f"recomputing {part} of reaedp" in out and f"open {folder}/page.html" in out
    page = (Path(folder) / "page.html").read_text(encoding="utf-8")
    assert page.count('<h2 id="section-') == 1


def test_json_names_the_part(sfumato_cli):
    code, out, _ = sfumato_cli("reproduce", "reaedp", "--figure", "3", "--out", "here", "--json")
    body = json.loads(out)
    assert (code, body["part"], body["page"], body["results"]) == (0, "figure 3", "here/page.html", "here/results.json")
    assert {"part": "Figure 3", "what": "bound at n = 50", "printed": "about 0.2", "ours": "0.295"} in body["summary"]


def test_without_data_everything_that_can_be_is_shown(sfumato_cli):
    code, out, _ = sfumato_cli("reproduce", "reaedp", "--json")
    body = json.loads(out)
    assert code == 0 and "part" not in body
    missing = {row["part"] for row in body["summary"] if row["what"] == "not recomputed"}
    assert missing == {f"Figure {n}" for n in ("1", "5", "6", "7", "8", "S4")} | {"Table IV", "Table S3"}


BAD = {
    "no such figure": ("PlanError", "use one of: 1, 2, 3, 4, 5, 6, 7, 8, S1, S2, S4", ("reaedp", "--figure", "9")),
    "figure S3 shows nothing": ("PlanError", "use one of: 1, 2", ("reaedp", "--figure", "S3")),
    "no such table": ("PlanError", "use one of: IV, S1, S3", ("reaedp", "--table", "4")),
    "empty": ("PlanError", "use one of: 1, 2", ("reaedp", "--figure", "")),
    "both": ("PlanError", "ask for one part", ("reaedp", "--figure", "4", "--table", "IV")),
    "figures without numbers": ("PlanError", "use one of: 3, 4, 5, D", ("homogeneity-attack", "--figure", "2")),
    "no data": ("TableError", "house_prices.csv", ("reaedp", "--figure", "1")),
    "nothing random": (
        "PlanError",
        "--repeats is for: homogeneity-attack, range-restriction, kmeans-geometry",
        ("reaedp", "--figure", "4", "--repeats", "9"),
    ),
    "nothing trained": ("PlanError", "--deep is for: two-stage", ("kmeans-geometry", "--deep")),
    "one repeat": ("PlanError", "ask for at least 2", ("kmeans-geometry", "--figure", "1", "--repeats", "1")),
    "no paper": ("PlanError", "homogeneity-attack, reaedp", ("nothing", "--figure", "1")),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_names_are_refused_with_what_exists(sfumato_cli, case, tmp_path):
    name, words, arguments = BAD[case]
    code, _, err = sfumato_cli("reproduce", *arguments)
    assert code == 2 and err.startswith(f"{name}:")
    assert words in " ".join(err.split())
    assert "Traceback" not in err and list(tmp_path.iterdir()) == []


def test_an_earlier_part_is_not_overwritten(sfumato_cli):
    assert sfumato_cli("reproduce", "reaedp", "--table", "IV")[0] == 0
    code, _, err = sfumato_cli("reproduce", "reaedp", "--table", "IV")
    assert code == 2 and "--force" in err
    assert sfumato_cli("reproduce", "reaedp", "--table", "IV", "--force")[0] == 0


def test_the_number_of_repetitions_is_an_option(sfumato_cli):
    code, _, err = sfumato_cli("reproduce", "kmeans-geometry", "--table", "1", "--repeats", "2", "--out", "here")
    assert (code, err) == (0, "")
    assert json.loads(Path("here/results.json").read_text(encoding="utf-8"))["runs"] == 2


@pytest.mark.parametrize("name", PAPERS)
def test_the_help_lists_the_parts_files_and_options_that_a_paper_has(name):
    module, listed = paper(name), PAPERS[name]
    parts = module.parts()
    assert parts_text(parts) == listed.parts
    folder = Path(module.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in folder.iterdir() if path.suffix in (".py", ".toml")]
    read = {file for text in texts for file in FILE.findall(text)}
    assert read == set(listed.files)
    known = inspect.signature(module.reproduce).parameters
    assert {option for option in ("repeats", "deep") if option in known} == {
        option for option in ("repeats", "deep") if getattr(listed, option)
    }
    said = reproduce.__doc__
    assert all(word in said for word in (name, listed.about, listed.parts, *listed.files, listed.repeats, listed.deep))
