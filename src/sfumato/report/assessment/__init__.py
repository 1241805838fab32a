"""An impact assessment (DPIA) that a release fills in as far as it can, and leaves blank where only people know."""
