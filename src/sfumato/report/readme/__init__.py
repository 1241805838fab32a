"""README.html and README.md: a guide to the data of a release."""
