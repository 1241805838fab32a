"""Values that pages show, computed without a browser."""
