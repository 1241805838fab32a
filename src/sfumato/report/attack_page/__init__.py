"""Page of attacks on one release, for the custodian only."""
