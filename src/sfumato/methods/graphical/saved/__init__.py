"""A fitted model that outlives its release: in a file, read back with suspicion, sampled again."""
