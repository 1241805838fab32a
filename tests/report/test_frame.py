"""The frame of every page: navigation from its headings, words of the glossary linked once and explained."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from report.comparisons import comparison
from sfumato.report.comparison_page import comparison_page
from sfumato.report.page import add_navigation_and_glossary, glossary_markdown, link_glossary_terms, sections, terms

DOCS = Path(__file__).parents[2] / "docs"


def test_a_word_is_linked_once_where_it_is_first_used_in_prose():
    main = (
        "<h2>Noise</h2><p data-plain>noise of a column</p><p>No <code>noise</code> and no Noise; <b>noise</b> twice, "
        "noise.</p><li>ε, epsilon and epsilons</li><table><td>delta</td></table><p>noiseless, re-delta, delta-2</p>"
    )
    linked, used = link_glossary_terms(main)
    assert [term.name for term in used] == ["epsilon", "noise"]
    assert linked.count('href="#word-noise"') == 1 and 'no <a class="term" href="#word-noise">Noise</a>; ' in linked
    assert '<li><a class="term" href="#word-epsilon">ε</a>, epsilon and epsilons</li>' in linked
    assert re.sub(r"</?a[^>]*>", "", linked) == main


def test_sections_are_the_second_headings_that_have_a_name():
    page = add_navigation_and_glossary(
        '<header class="top"></header><!--sections--><main><h2 id="a">A &lt; B</h2><h2>none</h2>'
        '<h2 id="b" data-short="Short">Long</h2><!--words--></main>'
    )
    assert '<nav class="sections" aria-label="Sections"><ul><li><a href="#a">A &lt; B</a></li>' in page
    assert '<li><a href="#b">Short</a></li></ul>' in page and "none</a>" not in page and "glossary" not in page
    assert sections("<h2>none</h2>") == []


def test_a_page_explains_exactly_the_words_that_it_links():
    page = comparison_page(comparison())
    links = re.findall(r'<a class="term" href="#([^"]*)">', page)
    explained = re.findall(r'<dt id="(word-[^"]*)">', page)
    assert len(links) == len(set(links)) > 5 and sorted(links) == sorted(explained)
    assert explained == sorted(explained) and page.count("<!--") == 0
    for term in terms:
        assert (html.escape(term.meaning, quote=True).replace("&#x27;", "&#39;") in page) == (term.place in links)


def test_every_term_has_one_meaning_and_stands_in_order():
    names = [name.lower() for term in terms for name in (term.name, *term.others)]
    assert len(set(names)) == len(names) and len({term.place for term in terms}) == len(terms)
    assert [term.name.lower() for term in terms] == sorted(term.name.lower() for term in terms)
    for term in terms:
        assert term.meaning.endswith((".", "?")) and 20 < len(term.meaning) < 260, term.name


def test_the_glossary_of_the_docs_is_this_one():
    assert (DOCS / "glossary.md").read_text(encoding="utf-8").startswith(glossary_markdown())


@pytest.mark.parametrize("hostile", ["</p><p>noise", "<b>epsilon", 'noise" onclick="x'])
def test_escaped_names_stay_text(hostile):
    linked, _ = link_glossary_terms(f"<p>{html.escape(hostile)}</p>")
    assert re.sub(r'<a class="term" href="#word-[a-z-]+">|</a>', "", linked) == f"<p>{html.escape(hostile)}</p>"
