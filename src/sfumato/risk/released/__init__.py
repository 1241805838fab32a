"""Attacks on a release that exists, with the confidential table and a holdout at hand: for the custodian."""
