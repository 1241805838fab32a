"""The site: its pages, its navigation, its references from the code, and what is refused in a built one.

That all of it builds is said by ``make docs``.
"""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pytest
from website import api, cli, finished, notebooks, pages, stage, versions

from sfumato.cli.verbs import VERBS, inner_verbs, load_command

READERS = ["Start", "Guides", "Methods", "Proofs", "Papers", "Reference", "For developers"]


def test_every_link_leads_somewhere_and_every_page_is_named():
    assert pages.problems(pages.all_pages()) == []


def test_the_navigation_is_by_reader():
    found = pages.sections(pages.all_pages())
    assert [section.title for section in found] == READERS
    named = [page for section in found for _, page in section.entries]
    assert len(named) == len(set(named)) == len(pages.all_pages()) - 1


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    """A repository of two pages and a module."""
    docs = tmp_path / "docs"
    (docs / "images").mkdir(parents=True)
    (docs / "images" / "a.png").write_bytes(b"picture")
    (tmp_path / "code.py").write_text("pass\n")
    (tmp_path / "README.md").write_text("# Read me\n\n[start](docs/index.md) ![a](docs/images/a.png) [code](code.py)\n")
    (docs / "index.md").write_text("# Start\n\n## Guides\n\n- [Read *this*](../README.md#read-me): words.\n")
    for module in (pages, stage):
        monkeypatch.setattr(module, "ROOT", tmp_path)
        monkeypatch.setattr(module, "DOCS", docs)
        monkeypatch.setattr(module, "IMAGES", docs / "images")
    monkeypatch.setattr(pages, "NOTEBOOKS", docs / "notebooks")
    monkeypatch.setattr(pages, "ROOT_PAGES", ("README.md",))
    return tmp_path


def test_a_broken_link_is_found(small):
    page = pages.Page(small / "page.md")
    page.path.write_text(
        "# One\n\n[a](nowhere.md) [b](#two) [c](#one) ![d](no.png) [e](https://example.org) [f](/etc)\n"
    )
    assert list(pages.broken_links(page, {page.path: page})) == [
        "page.md: nowhere.md does not exist",
        "page.md: #two names no heading of page.md",
        "page.md: no.png does not exist",
        "page.md: /etc leaves the repository",
    ]


def test_a_page_that_no_list_names_is_found(small):
    assert pages.problems(pages.all_pages()) == []
    (small / "docs" / "lost.md").write_text("# Lost\n")
    assert pages.problems(pages.all_pages()) == ["docs/index.md does not name docs/lost.md"]


def test_links_lead_to_places_in_the_site(small, tmp_path_factory):
    readme = small / "README.md"
    readme.write_text(f"{readme.read_text()}\n```text\n[fenced](docs/index.md)\n```\n")
    folder = tmp_path_factory.mktemp("staged")
    stage.lay_out(pages.all_pages(), folder)
    readme = (folder / "readme.md").read_text()
    assert "[start](index.md) ![a](images/a.png) [code](files/code.py)" in readme
    assert "[fenced](docs/index.md)" in readme
    assert (folder / "files" / "code.py").exists()
    assert ":caption: Guides\n\nRead this <readme>\n" in (folder / "index.md").read_text()


def test_every_public_name_has_a_place_in_the_reference(monkeypatch):
    assert api.unplaced() == []
    monkeypatch.setattr(api, "GROUPS", api.GROUPS[1:])
    assert "synthesize" in api.unplaced()


def test_the_reference_names_what_modules_offer():
    shown = "\n".join(line for group in api.GROUPS for line in api.page(group))
    for name in ("sfumato.read", "sfumato.AIM", "sfumato.testing.audit_mechanism", "sfumato.errors.BudgetExceeded"):
        assert f":: {name}\n" in shown, name


@pytest.mark.parametrize("name", [name for name, _ in inner_verbs("")])
def test_every_verb_shows_all_of_its_options(name):
    text = "\n".join(cli.page(name))
    leaves = [name] if VERBS[name].home else [words for _, words in inner_verbs(name)]
    for words in leaves:
        options = [option for param in load_command(words).params if not param.hidden for option in param.opts]
        missing = [option for option in options if option.startswith("-") and f"`{option}`" not in text]
        assert missing == []


def test_a_notebook_becomes_a_page(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {
            "cell_type": "code",
            "source": "show()",
            "outputs": [
                {"output_type": "stream", "text": ["printed\n"]},
                {"output_type": "execute_result", "data": {"text/html": "<b>1</b>", "text/plain": "1"}},
                {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>"}},
            ],
        },
    ]
    (tmp_path / "one.ipynb").write_text(json.dumps({"cells": cells}))
    made = notebooks.page_of(tmp_path / "one.ipynb", tmp_path / "pictures")
    assert made.startswith("# Title\n") and made.index("show()") < made.index("printed") < made.index("<b>1</b>")
    assert (tmp_path / "pictures" / "one-1-2.svg").read_text() == "<svg/>"


SOUND = '<a id="x" href="#x">x</a><a href="https://example.org">out</a><img src="a.png"><script src="a.js"></script>'


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ('<script src="https://example.org/a.js"></script>', "fetches https://example.org/a.js"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "fetches //example.org/a.css"),
        ('<img src="b.png">', "needs b.png, which does not exist"),
        ('<a href="two.html">2</a>', "two.html does not exist"),
        ('<a href="index.html#y">y</a>', "index.html#y names no place"),
    ],
)
def test_what_a_site_may_not_hold_is_found(tmp_path, broken, said):
    for name in ("a.png", "a.js"):
        (tmp_path / name).write_text("")
    (tmp_path / "index.html").write_text(SOUND)
    assert finished.shortcomings(tmp_path) == []
    (tmp_path / "index.html").write_text(SOUND + broken)
    assert finished.shortcomings(tmp_path) == [f"index.html: {said}"]


def test_a_style_that_fetches_a_font_is_found(tmp_path):
    (tmp_path / "a.css").write_text("@font-face { src: url('https://example.org/a.woff2') }")
    assert finished.shortcomings(tmp_path) == ["a.css fetches from elsewhere"]


def test_versions_stand_side_by_side(tmp_path):
    for name in ("0.2.0", "0.10.0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("")
    assert versions.write_versions(tmp_path) == ["0.10.0", "0.2.0"]
    assert '["0.10.0", "0.2.0"]' in (tmp_path / "versions.js").read_text()
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize("module", [pages, versions])
def test_the_builder_does_what_its_examples_say(module):
    assert doctest.testmod(module) == (0, 1)
