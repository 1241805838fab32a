"""Seals: one text for one content, and layouts on disk that must never change."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.bundle.ledger_record import LAYOUT as DOCUMENT
from sfumato.mechanisms.graphical.fitted_model.model_file import LAYOUT as MODEL
from sfumato.privacy.canonical_json import SealedDocument, canonical_json, sha256_hex

BODY = {"b": [1, 2.5], "a": {"é": None}, "seal": ""}
KEYS = st.text(min_size=1, max_size=5).filter(lambda key: key != "seal")
BODIES = st.dictionaries(KEYS, st.one_of(st.integers(), st.text(), st.booleans(), st.none()), max_size=5)
layouts = pytest.mark.parametrize("layout", [MODEL, DOCUMENT], ids=["model", "document"])


def test_the_layout_of_release_json_is_fixed():
    assert DOCUMENT.text(BODY) == '{\n  "a": {\n    "é": null\n  },\n  "b": [\n    1,\n    2.5\n  ],\n  "seal": ""\n}\n'
    assert DOCUMENT.seal(BODY) == hashlib.sha256(DOCUMENT.text(BODY).encode()).hexdigest()


def test_the_layout_of_a_models_file_is_fixed():
    bare = '{\n "a": {\n  "é": null\n },\n "b": [\n  1,\n  2.5\n ]\n}\n'
    assert MODEL.seal(BODY) == hashlib.sha256(bare.encode()).hexdigest()
    assert MODEL.text({key: value for key, value in BODY.items() if key != "seal"}) == bare


def test_the_text_that_a_ledger_hashes_is_fixed():
    assert canonical_json({"b": 1, "a": ["é"]}) == '{"a":["\\u00e9"],"b":1}'
    assert sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@layouts
@given(body=BODIES, other=BODIES)
def test_a_seal_holds_for_its_content_alone(layout: SealedDocument, body, other):
    sealed = layout.sealed(body)
    assert layout.holds(sealed) and layout.sealed(sealed) == sealed
    assert layout.holds({**other, "seal": sealed["seal"]}) == (layout.text(body) == layout.text(other))


@layouts
def test_what_has_no_seal_does_not_hold(layout: SealedDocument):
    assert not layout.holds(BODY) and not layout.holds({})


def test_mutant_that_seals_the_seal_is_caught(monkeypatch):
    monkeypatch.setattr(SealedDocument, "seal", lambda self, body: sha256_hex(self.text(body)))
    sealed = MODEL.sealed(BODY)
    assert not MODEL.holds(sealed)


def test_no_other_module_writes_json_to_be_hashed():
    source = Path(sfumato.__file__).parent
    found = [str(path.relative_to(source)) for path in source.rglob("*.py") if "sort_keys" in path.read_text("utf-8")]
    assert found == ["privacy/canonical_json.py"]
