"""The reference of the public names, from their docstrings: pages by meaning, written when the site is built."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

FRONT = "sfumato"


@dataclass(frozen=True)
class Group:
    """A page of the reference: names of the front of the package, and modules whose public names are all shown."""

    place: str
    title: str
    about: str
    names: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


GROUPS = (
    Group(
        "release",
        "Release a table",
        "From a table to a release: read it, plan, release, or do all of it in one call.",
        ("read", "plan", "release", "synthesize", "methods", "Table", "Plan", "Release", "FittedModel", "export"),
    ),
    Group(
        "schema",
        "Schema and rules",
        "What is publicly known about a table: columns, bounds, values, rules, and where these facts come from.",
        ("Schema", "Column", "buy_schema"),
        ("sfumato.schema",),
    ),
    Group(
        "ledger",
        "Guarantee and ledger",
        "What is promised, what was run, and what it cost.",
        ("Guarantee", "Event", "Ledger"),
        ("sfumato.privacy.ledger", "sfumato.privacy.accounting"),
    ),
    Group(
        "methods",
        "Methods",
        "How to release: each is a frozen description, and nothing is read until it is run.",
        (
            "AIM",
            "MST",
            "Histogram",
            "Contingency",
            "EntropyRelease",
            "MeanCurve",
            "Marginals",
            "Grid",
            "ClusterGeometry",
            "PlausibleDeniability",
            "PseudoPosterior",
            "TwoStage",
        ),
    ),
    Group(
        "method-parts",
        "Parts of methods",
        "What the folders of single methods offer beside the method itself: advice, laws, published forms.",
        (),
        (
            "sfumato.mechanisms.counts",
            "sfumato.mechanisms.graphical",
            "sfumato.mechanisms.mean_curve",
            "sfumato.mechanisms.plausible_deniability",
            "sfumato.mechanisms.pseudo_posterior",
            "sfumato.mechanisms.cluster_geometry",
            "sfumato.mechanisms.two_stage",
        ),
    ),
    Group(
        "quality",
        "Is it good enough?",
        "Before the spend, after it beside the table, for any number, and for the public.",
        ("compare", "uncertainty", "quality"),
        ("sfumato.metrics.binning", "sfumato.metrics.distances", "sfumato.metrics.association"),
    ),
    Group(
        "calibration",
        "Choose epsilon",
        "The epsilon at which a method is good enough, or gives away little enough.",
        ("calibrate",),
        ("sfumato.evaluate.calibrate",),
    ),
    Group(
        "risk",
        "How risky is it?",
        "Attacks on a release, audits of a method, and homogeneity in closed form.",
        ("attack_release", "dpia", "risk"),
        (
            "sfumato.risk",
            "sfumato.risk.homogeneity",
            "sfumato.risk.attacks.likelihood_ratio",
            "sfumato.risk.attacks.membership",
            "sfumato.risk.attacks.linkage",
            "sfumato.risk.attacks.attribute_inference",
            "sfumato.risk.homogeneity.uniqueness",
            "sfumato.risk.interval_disclosure",
            "sfumato.risk.simulated.epsilon_sweep",
        ),
    ),
    Group(
        "entropy", "Entropy", "Entropies, how far one row moves them, and advice.", ("entropy",), ("sfumato.entropy",)
    ),
    Group("testing", "Tests of your own mechanisms", "For a test suite of yours.", (), ("sfumato.testing",)),
    Group("example", "Made-up rows", "Households that do not exist, to try everything on.", (), ("sfumato.example",)),
    Group(
        "errors",
        "Errors and warnings",
        "Every error says what was found and what to do next.",
        ("errors",),
        ("sfumato.errors",),
    ),
)


def write_api(folder: Path) -> list[str]:
    """Write the pages; return their names in the order of the groups."""
    missing = unplaced()
    if missing:
        raise SystemExit(f"docs/website/api.py places these public names nowhere: {', '.join(missing)}")
    folder.mkdir(parents=True)
    for group in GROUPS:
        (folder / f"{group.place}.rst").write_text("\n".join(page(group)) + "\n", encoding="utf-8")
    return [group.place for group in GROUPS]


def unplaced() -> list[str]:
    """Return the public names of the package that no group shows."""
    shown = {name for group in GROUPS for name in group.names}
    return sorted(
        name for name in dir(importlib.import_module(FRONT)) if name not in shown and not name.startswith("_")
    )


def page(group: Group) -> Iterator[str]:
    """Yield the lines of a page, in reStructuredText: each name once, by the shortest way to import it."""
    yield from (group.title, "=" * len(group.title), "", group.about, "")
    seen: set[int] = set()
    front = importlib.import_module(FRONT)
    for name in group.names:
        found = getattr(front, name)
        if not isinstance(found, ModuleType):
            seen.add(id(found))
            yield from entry(f"{FRONT}.{name}", found)
    for name in group.modules:
        yield from _module(name, seen)


def _module(name: str, seen: set[int]) -> Iterator[str]:
    module = importlib.import_module(name)
    found = [(each, value) for each, value in public(module) if id(value) not in seen]
    if not found:
        return
    yield from (name, "-" * len(name), "", first_sentence(module), "")
    for each, value in found:
        seen.add(id(value))
        yield from entry(f"{name}.{each}", value)


def public(module: ModuleType) -> list[tuple[str, Any]]:
    """Return the functions and classes that a module offers: those it lists, or those that are its own."""
    listed = getattr(module, "__all__", None)
    lazy = listed is None and hasattr(module, "__getattr__")
    names = listed or [name for name in dir(module) if not name.startswith("_")]
    values = [(name, getattr(module, name)) for name in names]
    front = {id(value) for _, value in vars(importlib.import_module(FRONT)).items() if inspect.isclass(value)}
    return [
        (name, value)
        for name, value in values
        if (inspect.isclass(value) or inspect.isfunction(value))
        and value.__doc__
        and name != "lazy_names"
        and id(value) not in front
        and value.__module__.startswith(module.__name__ if not (lazy or listed) else FRONT)
    ]


def entry(path: str, value: Any) -> list[str]:
    """Return the directive for one name."""
    if inspect.isclass(value):
        return [f".. autoclass:: {path}", "   :members:", ""]
    return [f".. autofunction:: {path}", ""]


def first_sentence(module: ModuleType) -> str:
    """Return the first paragraph of a module's docstring."""
    return " ".join((module.__doc__ or "").strip().split("\n\n")[0].split())
