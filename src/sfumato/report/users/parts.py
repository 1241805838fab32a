"""What a guide is made of: sections of plain blocks, written once and shown as a page or as Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.report.words.banners import Banner


@dataclass(frozen=True)
class Prose:
    """Paragraphs."""

    kind = "prose"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Points:
    """A list."""

    kind = "points"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table; columns in ``numbers`` stand right."""

    kind = "grid"
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Listing:
    """Lines to copy, in a language; a title makes a heading of their own."""

    kind = "listing"
    title: str
    language: str
    text: str


Block = Prose | Points | Grid | Listing


@dataclass(frozen=True)
class Section:
    """One heading and what stands under it."""

    name: str
    """What a link calls it."""
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Guide:
    """The page for users: warnings that must not be missed, and sections."""

    title: str
    lead: str
    banners: tuple[Banner, ...]
    sections: tuple[Section, ...]
