"""The ledger's tests run on SQLite and on PostgreSQL, on basic, tight and filter accounts."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.privacy.ledger import Ledger

TERMS: dict[str, dict[str, Any]] = {
    "basic": {"delta": "1e-6"},
    "tight": {"delta": "1e-6", "composition": "tight"},
    "filter": {"delta": "1e-6", "composition": "filter"},
}


@pytest.fixture(params=TERMS)
def terms(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The terms of an account beside its epsilon, for each way of composing."""
    return TERMS[request.param]


@pytest.fixture
def ledger(ledger_url: str, terms: dict[str, Any]) -> Ledger:
    """A ledger with the account 'people', whose cap is epsilon 5: each backend with each composition."""
    opened = Ledger(ledger_url)
    opened.open_table("people", epsilon=5, **terms)
    return opened


@pytest.fixture
def basic_ledger(ledger_url: str) -> Ledger:
    """A ledger with the account 'people' of exact sums and no delta, for tests of these sums."""
    opened = Ledger(ledger_url)
    opened.open_table("people", epsilon=5)
    return opened


def rewrite(ledger: Ledger, *statements: str) -> None:
    """Change a ledger by hand, on either database."""
    with ledger._store.write() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
