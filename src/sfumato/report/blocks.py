"""Blocks that pages are built from: paragraphs, lists, tables, code, figures, cards."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.bundle.description import Banner


@dataclass(frozen=True)
class Paragraphs:
    """Paragraphs."""

    kind = "prose"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class BulletList:
    """A list."""

    kind = "points"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class TableBlock:
    """A table; columns in ``numbers`` stand right."""

    kind = "grid"
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class CodeBlock:
    """Lines to copy, in a language; a title makes a heading of their own."""

    kind = "listing"
    title: str
    language: str
    text: str


Block = Paragraphs | BulletList | TableBlock | CodeBlock


@dataclass(frozen=True)
class Section:
    """One heading and what stands under it."""

    name: str
    """What a link calls it."""
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """The page for users: warnings that must not be missed, and sections."""

    title: str
    lead: str
    banners: tuple[Banner, ...]
    sections: tuple[Section, ...]
