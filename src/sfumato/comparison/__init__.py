"""How near a release lies to the confidential table: every measure with its yardstick. For the custodian's eyes."""
