"""``sfumato doctor`` on a sound machine, on one with the slower sampler, and on one that must not release."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import sfumato
from sfumato.cli.maintain import doctor as doctor
from sfumato.errors import PlanError
from sfumato.privacy import noise
from sfumato.privacy.noise.inversion import random_bits, self_test

SELF_TEST = 6


@pytest.fixture(autouse=True)
def wide_and_fresh(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    choose = noise.current_sampler
    choose.cache_clear()
    yield
    choose.cache_clear()


def states(found: doctor.Diagnosis, part: str) -> dict[str, str]:
    return {check.name: check.state for check in found.checks if check.part == part}


def test_a_sound_machine_ends_with_nought(sfumato_cli):
    code, out, err = sfumato_cli("doctor")
    assert (code, err) == (0, "")
    assert "noise is drawn by table inversion: it passed its self-test" in out
    assert "a release can be made securely here" in out and "warning" not in out
    assert all(name in out for name in ("numba", "cryptography", "opendp", "duckdb", "sqlite", "GB free", "bayes"))


def test_every_check_is_shown_by_name(sfumato_cli):
    code, out, _ = sfumato_cli("doctor", "--json")
    body = json.loads(out)
    assert code == 0 and body["can_release"] and body["sampler"] == "table inversion" and body["warnings"] == []
    tested = [check for check in body["checks"] if check["part"] == "self-test"]
    assert len(tested) == SELF_TEST and {check["state"] for check in tested} == {"ok"}
    assert body["versions"]["sfumato"] == sfumato.__version__ and "not installed" not in body["versions"].values()


def test_a_failed_self_test_is_shown_and_opendp_takes_over(monkeypatch, sfumato_cli):
    monkeypatch.setattr(self_test, "ENCRYPTED", "00" * 16)
    code, out, err = sfumato_cli("doctor")
    assert (code, err) == (0, "")
    assert "noise is drawn by OpenDP: table inversion failed its self-test" in out
    assert "failed" in out and "warning: noise can be drawn" in out and "securely here" in out


def test_a_sampler_that_breaks_after_it_was_chosen_is_not_trusted(monkeypatch):
    assert noise.current_sampler().name == doctor.FAST
    monkeypatch.setattr(self_test, "ENCRYPTED", "00" * 16)
    found = doctor.diagnose_machine()
    assert not found.can_release
    with pytest.raises(PlanError, match="published answer"):
        found.require_secure()


def test_the_packages_of_table_inversion_may_be_absent(monkeypatch):
    monkeypatch.setattr(noise, "current_sampler", lambda: noise.opendp_sampler("no numba"))
    monkeypatch.setitem(sys.modules, "sfumato.privacy.noise.inversion.self_test", None)
    found = doctor.diagnose_machine()
    assert found.can_release and [check.name for check in found.warnings] == [doctor.SAMPLER]
    assert states(found, "self-test") == {"table inversion": "absent"}


def no_bytes(_: int) -> bytes:
    raise OSError("the entropy pool is closed")


@pytest.mark.parametrize(("urandom", "words"), [(no_bytes, "pool is closed"), (bytes, "same bytes twice")])
def test_without_random_bytes_no_release_is_made(urandom, words, monkeypatch, sfumato_cli):
    monkeypatch.setattr(doctor.os, "urandom", urandom)
    code, out, err = sfumato_cli("doctor")
    assert code == 2 and "securely here" not in out
    assert "PlanError: no release can be made securely" in err and words in err and "Next step" in err
    code, out, err = sfumato_cli("doctor", "--json")
    assert code == 2 and not json.loads(out)["can_release"] and "PlanError" in err


def test_when_both_samplers_are_broken_no_release_is_made(monkeypatch, sfumato_cli):
    def broken(counts, scale, randomness):
        raise RuntimeError("no machine code")

    monkeypatch.setattr(noise, "current_sampler", lambda: noise.NoiseSampler("OpenDP", "self-test", broken, broken))
    code, _, err = sfumato_cli("doctor")
    assert code == 2 and "RuntimeError: no machine code" in err


def test_absent_extras_come_with_the_command_that_installs_them(monkeypatch):
    true_find = doctor.util.find_spec
    monkeypatch.setattr(doctor.util, "find_spec", lambda n: None if n in ("optax", "opendp") else true_find(n))
    found = doctor.diagnose_machine()
    assert found.can_release and states(found, "extra")["deep"] == "absent"
    hint = next(check.detail for check in found.checks if check.name == "deep")
    assert hint == "without optax: pip install 'sfumato[deep]'"
    assert states(found, "noise")["OpenDP is available"] == "absent" and found.warnings == ()


def test_a_wrong_limit_of_memory_is_a_warning(monkeypatch, sfumato_cli):
    monkeypatch.setenv("SFUMATO_MEMORY", "much")
    code, out, _ = sfumato_cli("doctor")
    assert code == 0 and "is not an amount of memory" in out and "write for example 4GB" in out


# Mutants of each compiled loop: the self-test must name them.


def plain_sum(counts, noise, total):
    with np.errstate(over="ignore"):
        np.add(counts, noise, out=total)


true_propose = random_bits.propose_gaussian


def careless(*arguments):
    """Trust the float wherever it says anything."""
    true_propose(*arguments[:7], 0.0, *arguments[8:])


def one_sign(coarse, signs, *arguments):
    true_propose(coarse, np.zeros_like(signs), *arguments)


@pytest.mark.parametrize(
    ("loop", "mutant", "words"),
    [
        ("invert", lambda *arguments: 0, "search"),
        ("apply_signs", lambda sizes, words: None, "signs or digits"),
        ("join_digits", lambda noise, rest, run: np.multiply(noise, run, out=noise), "signs or digits"),
        ("propose_gaussian", careless, "rejection"),
        ("propose_gaussian", one_sign, "rejection"),
        ("add_clamped", plain_sum, "not clamped"),
        ("add_clamped", None, "TypeError"),
    ],
)
def test_mutant_loops_are_named(loop: str, mutant, words: str, monkeypatch):
    monkeypatch.setattr(random_bits, loop, mutant)
    problems = self_test.self_test_problems()
    assert len(problems) == 1 and words in problems[0]


def test_what_killed_runs_left_is_listed_and_removed_on_request(tmp_path, monkeypatch, sfumato_cli):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    half = tmp_path / ".out.0123abcd.partial"
    half.mkdir()
    (half / "data.csv").write_text("half")
    code, out, _ = sfumato_cli("doctor", ".")
    assert (code, "incomplete" in out, "--clean removes it" in out, half.exists()) == (0, True, True, True)
    body = json.loads(sfumato_cli("doctor", ".", "--clean", "--json")[1])
    assert [each["state"] for each in body["leftovers"]] == ["removed"]
    assert not half.exists()
    assert "nothing was left behind" in sfumato_cli("doctor", ".")[1]
    code, _, err = sfumato_cli("doctor", "--clean")
    assert (code, "require a folder" in err) == (2, True)
