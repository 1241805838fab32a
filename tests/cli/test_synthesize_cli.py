"""A bundle from a file that nobody has described, in one command, and in words what was assumed."""

from __future__ import annotations

import csv
import json
import random

import pytest

from sfumato import Ledger, Schema

QUICK = ("--method", "marginals", "--anyway")
BOOK = ("--ledger", "b.db", "--open-ledger", "2")


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A file of people, and the folder that it lies in as the place where the command runs."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(3)
    with open("people.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "sex", "town"])
        writer.writerows([draw.randrange(18, 90), draw.choice("fm"), draw.choice(["n", "s"])] for _ in range(600))
    return tmp_path


@pytest.fixture
def visits(people):
    """The same file, in which every patient has three rows."""
    with open("people.csv", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    with open("visits.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["patient_id", "ssn", *rows[0]]]
            + [[100_000 + i % 200, 1_000_317_256 + 7919 * (i % 200), *row] for i, row in enumerate(rows[1:])]
        )
    return people


def test_one_command_from_file_to_bundle(people, sfumato_cli):
    code, out, _ = sfumato_cli(
        "synthesize",
        "people.csv",
        "--ledger",
        "b.db",
        "--open-ledger",
        "2",
        "--out",
        "o",
        "--schema-out",
        "s.toml",
        "--by",
        "Ada",
        *QUICK,
    )
    assert code == 0 and "assumed, because nothing else was stated:" in out
    assert "Tip: a schema from documented sources" in out
    assert (
        Schema.load("s.toml").confirmation.accepted_unchanged and Ledger("b.db").account("people").left_epsilon == "1"
    )
    assert Schema.load("s.toml").confirmation.by == "Ada"
    document = json.loads((people / "o" / "release.json").read_text())
    assert "taken from the private rows" in document["statement"]
    assert sfumato_cli("verify", "o", "--ledger", "b.db")[0] == 0


def test_without_an_account_the_exact_command_is_told_and_nothing_is_made(people, sfumato_cli):
    code, _, err = sfumato_cli("synthesize", "people.csv", "--ledger", "b.db", "--out", "o")
    assert code == 2 and "sfumato ledger init b.db --table people --epsilon 5" in err and "--open-ledger 5" in err
    code, _, err = sfumato_cli("synthesize", "people.csv", "--out", "o")
    assert code == 2 and "--ledger budget.db --open-ledger 5" in err
    assert sorted(path.name for path in people.iterdir()) == ["people.csv"]


def test_patients_are_asked_for_and_none_of_their_numbers_leaves(visits, sfumato_cli):
    asked = ("synthesize", "visits.csv", *BOOK, "--out", "o", *QUICK)
    code, _, err = sfumato_cli(*asked)
    assert code == 2 and "whose rows are these" in err and "--person patient_id --rows-per-person" in err
    assert Ledger("b.db").account("visits").events == 0
    code, out, _ = sfumato_cli(*asked, "--person", "patient_id", "--rows-per-person", "3")
    assert code == 0 and "person (at most 3 rows)" in out
    assert (visits / "o" / "data.csv").read_text().splitlines()[0].replace('"', "") == "age,sex,town"


def test_bought_facts_are_paid_for_and_the_answer_for_machines_says_what_was_assumed(people, sfumato_cli):
    code, out, _ = sfumato_cli(
        "synthesize", "people.csv", "--no-ledger", "--epsilon", "3", "--buy", "2", "--out", "o", "--json", *QUICK
    )
    answer = json.loads(out)
    assert code == 0 and "bought for epsilon 2 of 3" in answer["assumed"][0] and answer["guarantee"]["epsilon"] == "3"


@pytest.mark.parametrize("kept", [True, False])
def test_what_was_seen_is_kept_where_it_is_too_little_for_rows(people, sfumato_cli, kept):
    with open("odd.csv", "w", encoding="utf-8") as file:
        file.write("sex,a,b\n" + "".join(f"{'fm'[i % 2]},one {i},two {i}\n" for i in range(600)))
    named = ("--columns", "sex,a,b", "--no-person", "--epsilon", "3", "--buy", "2", "--out", "o")
    code, out, err = sfumato_cli(
        "synthesize", "odd.csv", *BOOK[:3], "9", *named, *(["--schema-out", "s"] if kept else [])
    )
    assert code == 2 and "only 1 of the 3 columns" in err and "foreseen for 3 columns" in out
    text = (people / "s").read_text() if kept else err.split("keep this text\n")[1]
    assert Schema.parse(text)["sex"].values == ("f", "m")
    assert Ledger("b.db").account("odd").spent_epsilon == "2" and not (people / "o").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--person", "a", "--no-person"), "--person and --no-person contradict each other"),
        (("--open-ledger", "5"), "--open-ledger needs a ledger"),
        (("--schema-out", "people.csv"), "'people.csv' exists"),
        (("--buy", "1"), "leaves nothing"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_written(people, sfumato_cli, options, told):
    code, _, err = sfumato_cli("synthesize", "people.csv", "--no-ledger", "--out", "o", *options)
    assert code == 2 and told in err and not (people / "o").exists()


def test_what_a_release_must_be_read_with_is_printed_once(people, sfumato_cli):
    """Coarse cells break the rule in many rows: they are mended, and a note says so."""
    draw = random.Random(4)
    with open("stays.csv", "w", newline="", encoding="utf-8") as file:
        first = [draw.randrange(0, 400) for _ in range(600)]
        csv.writer(file).writerows([["start", "stop"], *([day, day + draw.randrange(1, 4)] for day in first)])
    _, out, _ = sfumato_cli(
        "synthesize", "stays.csv", "--no-ledger", "--out", "o", "--method", "mst", "--seed", "3", "--anyway"
    )
    assert len([line for line in out.splitlines() if "'start <= stop' as drawn and were mended" in line]) == 1
    assert out.count("was drafted from the rows") == 1


def test_the_report_of_one_command_says_how_sure_its_numbers_are(people, sfumato_cli):
    code, out, _ = sfumato_cli("synthesize", "people.csv", *BOOK, *QUICK, "--out", "bundle", "--reruns", "4")
    assert code == 0 and "from 4 reruns" in out
    said = json.loads((people / "bundle" / "release.json").read_text(encoding="utf-8"))["expected_errors"]
    assert said["reruns"] == 4 and "mean age" in [each["name"] for each in said["numbers"]]


@pytest.mark.parametrize("asked", ["many", "2"])
def test_reruns_that_cannot_be_are_refused_before_the_spend(people, sfumato_cli, monkeypatch, asked):
    monkeypatch.setenv("SFUMATO_RERUNS", asked)
    code, _, err = sfumato_cli("synthesize", "people.csv", *BOOK, *QUICK, "--out", "bundle")
    assert code == 2 and "reruns" in err
    assert not (people / "bundle").exists() and not (people / "b.db").exists()


def test_bought_facts_are_not_lost_where_noise_would_drown_the_rows(people, sfumato_cli):
    code, _, err = sfumato_cli("synthesize", "people.csv", *BOOK, "--buy", "0.95", "--out", "bundle")
    assert code == 2 and "OverwhelmedError" in err and "No release was made or charged" in err
    assert "epsilon 0.95 is spent on the facts" in err and "[columns.age]" in err
    assert Ledger("b.db").account("people").spent_epsilon == "0.95"
