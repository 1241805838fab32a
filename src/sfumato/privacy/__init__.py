"""Guarantees, events, accountant, ledger, noise and randomness: everything that the promise rests on."""
