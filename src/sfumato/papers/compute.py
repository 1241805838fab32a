"""Compute all parts of a paper's reproduction, or one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from sfumato.errors import PlanError
from sfumato.papers import PAPERS
from sfumato.papers.data import missing_files, require_files
from sfumato.papers.result import Erratum, Part, Reproduction
from sfumato.papers.texts import put_in
from sfumato.report.texts import text_file
from sfumato.version import __version__

WorkT = TypeVar("WorkT")


@dataclass(frozen=True)
class PartEntry(Generic[WorkT]):
    """A figure or table, what it is about, how it is made, and the files that it needs or that some of it wants."""

    name: str
    subject: str
    build: Callable[[WorkT], Part]
    needs: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()

    def part(self, work: WorkT, folder: Path) -> Part:
        """Return the part; without the files that it needs, only their names."""
        missing = tuple(missing_files(folder, (*self.needs, *self.wants)))
        part = Part() if any(name in missing for name in self.needs) else self.build(work)
        return part.model_copy(update={"name": self.name, "subject": self.subject, "missing": missing})


@dataclass(frozen=True)
class PaperParts(Generic[WorkT]):
    """What a paper's reproduction consists of, in the order of the page."""

    paper: str
    entries: tuple[PartEntry[WorkT], ...]
    errata: Callable[[WorkT], tuple[Erratum, ...]]
    beyond: tuple[PartEntry[WorkT], ...] = ()
    """What the whole reproduction adds to the paper."""

    def parts(self) -> tuple[str, ...]:
        """Return the names of the figures and tables that can be asked for one by one."""
        return tuple(entry.name for entry in self.entries)

    def compute(
        self,
        work: WorkT,
        only: str | None,
        folder: Path,
        numbers: Mapping[str, object],
        seed: int,
        runs: int | None = None,
    ) -> Reproduction:
        """Compute every part and the errata, or ``only`` one part; parts whose data are absent are left out.

        A part that is asked for by name needs its data: without them this is an error. Title, lead and facts of the
        page stand in ``parts.toml``; ``numbers`` go into the facts, and a fact without words is left out.
        """
        texts, record = text_file("parts", PAPERS[self.paper].home), PAPERS[self.paper]
        facts = {name: put_in(words, {"seed": seed, **numbers}) for name, words in texts["facts"].items()}
        code = {"the authors' code": f"{record.code}, commit {record.commit}"} if record.code else {}
        facts = {"the paper": record.citation, **code, **facts}
        chosen = (*self.entries, *self.beyond)
        if only is not None:
            require_part(self.paper, only, self.parts())
            chosen = tuple(entry for entry in self.entries if entry.name == only)
            require_files(folder, chosen[0].needs)
        parts = tuple(entry.part(work, folder) for entry in chosen)
        return Reproduction(
            paper=self.paper,
            title=texts["title"],
            lead=texts["lead"],
            facts=tuple((name, words) for name, words in facts.items() if words),
            sfumato=__version__,
            seed=seed,
            runs=runs,
            folder=str(folder) if any(part.missing for part in parts) else "",
            parts=parts,
            errata=self.errata(work) if only is None else (),
        )


def require_part(paper: str, only: str, known: Sequence[str]) -> None:
    """Refuse the name of a part that the reproduction of a paper does not have."""
    if only not in known:
        raise PlanError(f"no part {only!r} of {paper}", next_step=f"use one of: {', '.join(known)}")


def require_repeats(repeats: int | None, default: int) -> int:
    """Return how often what is random is repeated; fewer than 2 are refused."""
    runs = default if repeats is None else repeats
    if runs < 2:
        raise PlanError(f"{runs} repeats asked for", next_step="ask for at least 2")
    return runs
