"""The records of the papers: cited wherever statements stand against them, with a commit where code is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.papers import PAPERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    "homogeneity-attack": ("choosing-epsilon-by-risk",),
    "reaedp": ("entropy", "plausible-deniability", "mean-curves"),
    "range-restriction": ("pseudo-posterior",),
    "kmeans-geometry": ("cluster-geometry",),
    "two-stage": ("two-stage",),
}
CODE = ("authors' code", "paper's code")


@pytest.mark.parametrize("name", PAPERS)
def test_the_docs_and_the_citation_file_name_each_paper(name):
    record, pages = PAPERS[name], (DOCS / "papers.md").read_text(encoding="utf-8")
    assert f"*{record.citation}.*" in pages
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert record.title in citation and all(author.split()[-1] in citation for author in record.authors)
    assert record.identifier in citation and record.commit in citation
    for page in PAGES[name]:
        head = (DOCS / f"{page}.md").read_text(encoding="utf-8").partition("\n## ")[0]
        assert record.authors[-1].split()[-1] in head and (record.identifier or record.venue) in head, page


def judged(text: str) -> bool:
    """Say whether a text judges code; to say that it is not known is no judgement."""
    return any(word in line and "not known" not in line for word in CODE for line in text.splitlines())


@pytest.mark.parametrize("name", PAPERS)
def test_statements_about_code_carry_a_commit(name):
    folder = Path(__file__).parents[2] / "src" / Path(*PAPERS[name].home.split("."))
    files = [path for ending in ("py", "toml") for path in folder.rglob(f"*.{ending}")]
    found = [path.name for path in files if judged(path.read_text(encoding="utf-8"))]
    assert not found or PAPERS[name].commit, found
    for page in PAGES[name]:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        assert not judged(text) or (PAPERS[name].commit and PAPERS[name].commit in text), page


def test_a_judgement_without_a_commit_is_noticed():
    assert judged("The authors' code squares the differences.") and not judged("not known: the authors' code")
