"""Junction trees: structure, exact marginals, the fit to noisy tables, and rows drawn from it."""
