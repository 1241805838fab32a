"""For those who use the data of a release: README.html, README.md and datacard.json, from one source of words."""
