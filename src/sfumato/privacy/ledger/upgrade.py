"""From format 1 to format 2: the whole old chain is checked once, then goes on with rows that carry totals."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from sfumato.errors import LedgerTampered
from sfumato.privacy.ledger.chain import Record, all_accounts, append, read_head
from sfumato.privacy.ledger.models import Verification
from sfumato.privacy.ledger.store import FORMAT
from sfumato.privacy.ledger.verify import verify_connection

NEXT = "restore the ledger from a copy: only a ledger that holds can be upgraded; nothing was changed"


def upgrade(connection: sa.Connection, damage: Sequence[str]) -> Verification:
    """Append the row that ends the old format and seals where all accounts stand; a new ledger stays as it is."""
    head = read_head(connection, hold=True, formats=(1, FORMAT))
    found = verify_connection(connection, None, damage)
    if not found:
        raise LedgerTampered("the ledger was changed or damaged", found.problems, NEXT)
    if head.format == FORMAT:
        return found
    append(connection, all_accounts(connection), [Record("upgrade", None, {"from": head.format})], head)
    return verify_connection(connection, None, ())
