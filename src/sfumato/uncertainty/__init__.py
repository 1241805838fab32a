"""How sure is a number that is read off a release: its mechanism is run again on the released rows."""
