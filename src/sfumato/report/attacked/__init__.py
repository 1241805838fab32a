"""Attacks on a release as one risk page: the criteria, every attack, the worst records, the pyramid and its hazards."""
