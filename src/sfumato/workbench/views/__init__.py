"""What each page shows, as values that need no browser."""
