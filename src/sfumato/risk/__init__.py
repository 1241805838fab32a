"""Disclosure risk of a release: exact formulas, attacks and audits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.risk.auditing.audit import Audit as Audit
    from sfumato.risk.auditing.audit import audit as audit
    from sfumato.risk.auditing.one_run import Canaries as Canaries
    from sfumato.risk.auditing.one_run import OneRunAudit as OneRunAudit
    from sfumato.risk.auditing.one_run import make_canaries as make_canaries
    from sfumato.risk.auditing.one_run import one_run_audit as one_run_audit
    from sfumato.risk.on_release.run import attack_release as attack_release

_MODULES = ("attacks", "auditing", "homogeneity", "interval_disclosure", "on_release", "simulated")
_NAMES = {
    "attack_release": "sfumato.risk.on_release.run",
    "audit": "sfumato.risk.auditing.audit",
    "Audit": "sfumato.risk.auditing.audit",
    "one_run_audit": "sfumato.risk.auditing.one_run",
    "make_canaries": "sfumato.risk.auditing.one_run",
    "Canaries": "sfumato.risk.auditing.one_run",
    "OneRunAudit": "sfumato.risk.auditing.one_run",
}
"""Functions and types that are offered here, and the module of each."""


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``sfumato.risk.homogeneity`` works after ``import sfumato``."""
    if name in _MODULES:
        return importlib.import_module(f"sfumato.risk.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'sfumato.risk' has no attribute {name!r}")
