"""The ledger: events per table, with caps, on SQLite or PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.privacy.ledger.ledger import Ledger as Ledger
    from sfumato.privacy.ledger.models import Account as Account
    from sfumato.privacy.ledger.models import Entry as Entry
    from sfumato.privacy.ledger.models import Outcome as Outcome
    from sfumato.privacy.ledger.models import Verification as Verification

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Account": "sfumato.privacy.ledger.models",
        "Entry": "sfumato.privacy.ledger.models",
        "Ledger": "sfumato.privacy.ledger.ledger",
        "Outcome": "sfumato.privacy.ledger.models",
        "Verification": "sfumato.privacy.ledger.models",
    },
)
