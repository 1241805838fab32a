"""Page of a comparison between private and synthetic rows, for the custodian only."""
