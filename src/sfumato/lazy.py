"""Load public names, higher-layer hooks and optional packages on first use."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

HOOKS: dict[str, str] = {
    "Schema.draft": "sfumato.table.drafting.draft:draft_schema",
    "Schema.from_metadata": "sfumato.schema.importing.metadata_file:import_schema",
    "Table.dialect_hints": "sfumato.table.drafting.dialect_hints:suggested_options",
    "Release.save": "sfumato.bundle.write:save_bundle",
    "Release.uncertainty": "sfumato.evaluate.uncertainty.run:uncertainty",
    "Plan.forecast": "sfumato.evaluate.forecast:forecast",
    "Comparison.save": "sfumato.report.comparison_page:save_comparison",
    "ReleaseAttacks.save": "sfumato.report.attack_page:save_attacks",
    "bundle.pages": "sfumato.report.bundle_pages:render_pages",
    "bundle.custodian_copy": "sfumato.report.bundle_pages:write_custodian_copy",
    "bundle.expected_errors": "sfumato.evaluate.uncertainty.main_numbers:expected_errors",
    "bundle.main_number_problems": "sfumato.evaluate.uncertainty.main_numbers:main_number_problems",
    "bundle.quality_problems": "sfumato.evaluate.quality.statement:measure_problems",
    "bundle.selection_problems": "sfumato.evaluate.calibrate.private_selection:recorded_selection_problems",
    "bundle.selection_events": "sfumato.evaluate.calibrate.private_selection:selection_events",
    "bundle.load_model": "sfumato.mechanisms.graphical.fitted_model.model_file:read_model",
}
"""Work that is asked for in one layer and done in a layer above it, or in a part that few callers need.

The hooks of ``bundle`` that check something get documents, schema and released tables, never private rows. Each can add
problems and removes none; where its layer is not installed, the check is listed as not made.
"""


def lazy_names(folder: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a folder that imports its names when they are first asked for.

    The names are those that the folder imports under ``if TYPE_CHECKING``, so that each is written once.

    >>> getattr_, dir_ = lazy_names("sfumato.schema")
    >>> getattr_("Column"), "Rule" in dir_()
    (<class 'sfumato.schema.column.Column'>, True)
    """
    homes = names_for_types(folder)

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {folder!r} has no attribute {name!r}")
        if homes[name] == folder:
            return importlib.import_module(f"{folder}.{name}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[folder], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[folder]), *homes})

    return find, names


@cache
def names_for_types(folder: str) -> dict[str, str]:
    """Return the names that a folder imports for type checkers alone, with the module of each."""
    loader: Any = sys.modules[folder].__loader__
    blocks = [node for node in ast.parse(loader.get_source(folder)).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def find_hook(name: str) -> Any | None:
    """Return the object of a hook, or None where the layer that holds it is not installed."""
    try:
        return load_object(HOOKS[name])
    except ImportError:
        return None


def load_object(home: str) -> Any:
    """Import and return an object by its address, such as ``sfumato.mechanisms.graphical.aim:AIM``."""
    module, attribute = home.split(":")
    return getattr(importlib.import_module(module), attribute)
