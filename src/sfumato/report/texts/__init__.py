"""Load the texts of pages from TOML and fill in numbers."""
