"""The model of a page: sections of blocks, from which HTML and Markdown are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from markupsafe import Markup

from sfumato.bundle.description import Banner

if TYPE_CHECKING:
    from sfumato.report.cards import ColumnCard


@dataclass(frozen=True)
class Paragraphs:
    """Paragraphs."""

    kind = "paragraphs"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class BulletList:
    """A list."""

    kind = "list"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class TableBlock:
    """A table; columns in ``numbers`` stand right."""

    kind = "table"
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    title: str = ""
    left_out: int = 0
    """Rows that only the data files hold."""

    @classmethod
    def of_numbers(
        cls, header: tuple[str, ...], rows: tuple[tuple[str, ...], ...], left_out: int = 0, labels: int = 1
    ) -> TableBlock:
        """Return a table of numbers behind so many labels in each row."""
        return cls(header, rows, tuple(range(labels, len(header))), left_out=left_out)

    @property
    def stacked(self) -> bool:
        """Whether a phone shows the cells of a row one below another: rows of words have no room side by side."""
        return len(self.numbers) < 2


@dataclass(frozen=True)
class CodeBlock:
    """Lines to copy, in a language; a title makes a heading of their own."""

    kind = "code"
    title: str
    language: str
    text: str


@dataclass(frozen=True)
class Definition:
    """A term and what is said of it; a standing is a few words with the colour of its nearness."""

    term: str
    lines: tuple[str, ...]
    standing: str = ""
    nearness: str = ""


@dataclass(frozen=True)
class Definitions:
    """Terms with what is said of each."""

    kind = "definitions"
    items: tuple[Definition, ...]


@dataclass(frozen=True)
class Standing:
    """A few words with the colour of their nearness: near, middling or far."""

    kind = "standing"
    words: str
    nearness: str


@dataclass(frozen=True)
class Card:
    """A heading, the answer in large type, and blocks below it."""

    heading: str
    answer: str = ""
    blocks: tuple[Block, ...] = ()
    whole: bool = False
    """Whether it takes the whole width."""


@dataclass(frozen=True)
class Cards:
    """Cards side by side, two in a row or three."""

    kind = "cards"
    cards: tuple[Card, ...]
    in_three: bool = False


@dataclass(frozen=True)
class ChartBlock:
    """A chart with its heading and notes, and the tables of its values, which the reader unfolds."""

    kind = "chart"
    title: str
    notes: tuple[str, ...]
    picture: Markup | str = ""
    tables: tuple[TableBlock, ...] = ()
    unfold: str = "Table of values"
    beside: bool = False
    """Whether the picture stands beside its notes."""


@dataclass(frozen=True)
class Verdict:
    """A grade in large letters, whose colour is its tone, and the sentences of the verdict."""

    kind = "verdict"
    grade: str
    tone: str
    sentence: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MeasuredRow:
    """One measure: its cells, each a value with its interval, and how it stands beside its yardsticks."""

    name: str
    words: str
    cells: tuple[tuple[str, str], ...]
    picture: Markup
    standing: str = ""
    nearness: str = ""
    code: str = ""
    """The name by which programs know it."""


@dataclass(frozen=True)
class MeasureTable:
    """Measures beside their yardsticks, each with a small picture."""

    kind = "measures"
    header: tuple[str, ...]
    rows: tuple[MeasuredRow, ...]
    released: str
    other: str
    """What the two marks of the pictures are."""


@dataclass(frozen=True)
class BigNumber:
    """A number in large type, and its unit."""

    kind = "number"
    number: str
    unit: str


@dataclass(frozen=True)
class RankedItem:
    """One of the worst: what it is, where its card stands (if it has one), and how far off."""

    words: str
    place: str = ""
    standing: str = ""
    nearness: str = ""


@dataclass(frozen=True)
class Ranking:
    """Items in order, the worst first."""

    kind = "ranking"
    items: tuple[RankedItem, ...]


@dataclass(frozen=True)
class PairCard:
    """The association of two columns on both sides: strengths and maps are true first, then synthetic."""

    names: tuple[str, str]
    measure: str
    strengths: tuple[str, str]
    distance: str
    nearness: str
    chart: Markup
    maps: tuple[Markup, Markup] | None


@dataclass(frozen=True)
class Deck:
    """Many cards of columns or of pairs on both sides, with a search, an order and an index over those of columns."""

    kind = "deck"
    name: Literal["columns", "relations"]
    notes: tuple[str, ...]
    sides: tuple[str, str]
    cards: tuple[ColumnCard, ...] | tuple[PairCard, ...]
    search: tuple[str, ...] = ()
    """What stands in the field, and what it is for those who cannot see it."""
    orders: tuple[tuple[str, str], ...] = ()
    index: str = ""


Block = (
    Paragraphs
    | BulletList
    | TableBlock
    | CodeBlock
    | Definitions
    | Standing
    | Cards
    | ChartBlock
    | Verdict
    | MeasureTable
    | BigNumber
    | Ranking
    | Deck
)
OPEN = (Cards, ChartBlock, Verdict, Deck)
"""Blocks with a frame of their own; all others of a section stand in a panel."""


@dataclass(frozen=True)
class Section:
    """One heading and what stands under it."""

    name: str
    """What a link calls it."""
    title: str
    blocks: tuple[Block, ...]
    short: str = ""
    """Its words in the navigation, if they differ."""

    def panels(self) -> Iterator[tuple[bool, tuple[Block, ...]]]:
        """Yield neighbouring blocks that share a panel, and whether they have one."""
        for framed, blocks in groupby(self.blocks, lambda block: not isinstance(block, OPEN)):
            yield framed, tuple(blocks)


@dataclass(frozen=True)
class Page:
    """A whole page: its heading with a word above and a line below, warnings that must not be missed, and sections."""

    title: str
    lead: str
    banners: tuple[Banner, ...]
    sections: tuple[Section, ...]
    kicker: str = ""
    footer: str = ""
    tab: str = ""
    """The title of the browser's tab, if it differs."""
