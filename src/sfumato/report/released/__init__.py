"""What the page of a release says, by its readers: those who decide, those who use the data, those who check."""
