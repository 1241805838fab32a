"""Do croissant.json, datapackage.json and registry.yaml of a bundle hold before the programs that read them?"""

from __future__ import annotations

import logging
import socket
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REGISTRY = "standards/deployments-schema.yaml"


@contextmanager
def no_network():
    """Fail where anything is fetched: a standard must be checkable where no network is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _refused)
        patch.setattr(socket, "getaddrinfo", _refused)
        yield


def _refused(*_: Any, **__: Any) -> Any:
    raise AssertionError("a network was asked for")


def check_standards(bundle: Path, shared: Path | None = None) -> dict[str, Any]:
    """Hold a bundle against all three; return what each reader made of it."""
    with no_network(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what these readers use, not of what they read
        return {
            "croissant": check_croissant(bundle),
            "datapackage": check_datapackage(bundle),
            "registry": check_registry(bundle, shared),
        }


def check_croissant(bundle: Path) -> Any:
    mlcroissant = pytest.importorskip("mlcroissant", reason="needs the package mlcroissant (extra dev)")
    logging.getLogger("absl").setLevel(logging.ERROR)  # that no licence is stated is no fault of the format
    found = mlcroissant.Dataset(str(bundle / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    assert [warning for warning in found.metadata.ctx.issues.warnings if "schema.org/license" not in warning] == []
    return found


def check_datapackage(bundle: Path) -> Any:
    frictionless = pytest.importorskip("frictionless", reason="needs the package frictionless (extra dev)")
    report = frictionless.Package.from_descriptor(str(bundle / "datapackage.json")).validate()
    assert report.flatten(["type", "message"]) == []
    assert report.valid
    return report


def check_registry(bundle: Path, shared: Path | None) -> dict[str, Any]:
    """Our own model always, and the registry's schema where it lies."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML (extra dev)")
    from sfumato.bundle.standards.deployments_registry import RegistryEntry

    text = (bundle / "registry.yaml").read_text(encoding="utf-8")
    said = yaml.safe_load(text)
    entry = RegistryEntry.model_validate(said)
    assert entry.to_yaml() == text
    if shared is not None and (shared / REGISTRY).is_file():
        jsonschema = pytest.importorskip("jsonschema", reason="needs the package jsonschema (extra dev)")
        rules = yaml.safe_load((shared / REGISTRY).read_text(encoding="utf-8"))
        checker = jsonschema.Draft202012Validator(rules, format_checker=jsonschema.FormatChecker())
        assert [error.message for error in checker.iter_errors(said)] == []
    return said
