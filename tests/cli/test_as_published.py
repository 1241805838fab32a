"""``--method NAME --as-published``: what a paper printed, beside the form with a proof."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from sfumato.core import registry
from sfumato.example import codebook, write_households
from sfumato.mechanisms.counts.histogram import Histogram

TABLE = ("h.csv", "--schema", "h.toml")
PRINTED = ("--method", "histogram", "--as-published", "--set", "column=sex", "--epsilon", "1")


@dataclass(frozen=True)
class HistogramAsPublished(Histogram):
    """Noisy counts as if a paper had printed them."""

    printed_on_page: int = 7

    name: ClassVar[str] = "histogram-as-published"
    formal: ClassVar[bool | None] = False


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_households("h.csv", rows=200)
    codebook().save("h.toml")
    module = ModuleType("printed_histogram")
    module.HistogramAsPublished = HistogramAsPublished  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "printed_histogram", module)
    monkeypatch.setitem(registry.PUBLISHED_FORMS, "histogram-as-published", "printed_histogram:HistogramAsPublished")
    return tmp_path


def test_plan_and_release_take_what_was_printed(folder, sfumato_cli):
    code, out, _ = sfumato_cli("plan", "--schema", "h.toml", *PRINTED, "--set", "printed_on_page=8")
    assert code == 0 and "Plan: histogram-as-published of table" in out
    code, out, _ = sfumato_cli("release", *TABLE, *PRINTED, "--no-ledger", "--out", "bundle", "--json")
    assert code == 0 and json.loads(out)["method"] == "histogram-as-published"


@pytest.mark.parametrize("attack", [("membership",), ("linkage",), ("inference", "--known", "age")])
def test_attacks_take_what_was_printed(folder, sfumato_cli, attack):
    _, out, _ = sfumato_cli("risk", *attack, "--help")
    assert "--as-published" in out
    if attack[0] != "inference":
        code, out, err = sfumato_cli("risk", *attack, *TABLE, *PRINTED, "--trials", "60", "--seed", "1")
        assert (code, err) == (0, "") and "histogram-as-published" in " ".join(out.split())
    else:
        code, _, err = sfumato_cli("risk", *attack, *TABLE, "--as-published", "--release", "somewhere")
        assert code == 2 and "found --as-published" in err


def test_calibration_takes_what_was_printed(folder, sfumato_cli):
    grid = ("--grid", "0.5,2", "--repeats", "2", "--seed", "1", "--target", "tvd_1_bins <= 0.5")
    code, out, _ = sfumato_cli("calibrate", *TABLE, *PRINTED[:-2], *grid)
    assert code == 0 and "tvd_1_bins of histogram-as-published against epsilon" in out


def test_the_methods_that_have_a_printed_form_are_listed(folder, sfumato_cli):
    code, out, _ = sfumato_cli("methods")
    assert code == 0 and "formal; --as-published: exposure" in " ".join(out.split()) and "histogram-as-" not in out
    code, out, _ = sfumato_cli("methods", "histogram")
    assert code == 0 and "printed_on_page=7" in out and "as if a paper had printed them" in out
    code, out, _ = sfumato_cli("methods", "histogram", "--json")
    assert json.loads(out)[0]["as_published"]["parameters"]["printed_on_page"] == "7"
    code, out, _ = sfumato_cli("methods", "histogram-as-published")
    assert code == 0 and "printed_on_page=7" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "contingency", "--as-published"), "contingency has no form as published"),
        (("--method", "nonsense", "--as-published"), "there is no method 'nonsense'"),
        (("--as-published",), "--as-published was given without a method"),
    ],
)
def test_what_has_no_printed_form_is_refused_and_told_what_has(folder, sfumato_cli, arguments, words):
    code, _, err = sfumato_cli("plan", "--schema", "h.toml", *arguments, "--epsilon", "1")
    assert code == 2 and words in err and "histogram" in err
