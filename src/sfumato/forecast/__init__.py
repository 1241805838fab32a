"""What a release will be good for, computed before it from public facts alone."""
