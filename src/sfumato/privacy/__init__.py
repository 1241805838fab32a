"""Accounting, noise, ledger and randomness: what every guarantee rests on."""
