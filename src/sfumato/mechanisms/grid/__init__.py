"""Grid: rows drawn from one noisy grid."""
