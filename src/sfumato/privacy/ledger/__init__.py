"""The privacy ledger: accounts with caps and every recorded event, in SQLite or PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.privacy.ledger.account import Account as Account
    from sfumato.privacy.ledger.account import Entry as Entry
    from sfumato.privacy.ledger.account import Outcome as Outcome
    from sfumato.privacy.ledger.account import Verification as Verification
    from sfumato.privacy.ledger.ledger import Ledger as Ledger

__getattr__, __dir__ = lazy_names(__name__)
