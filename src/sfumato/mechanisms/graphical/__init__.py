"""AIM and MST: graphical models of noisy marginals."""
