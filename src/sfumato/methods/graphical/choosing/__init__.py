"""Which tables are measured: workload, budget, rounds, and the private choice."""
