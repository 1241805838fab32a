"""Is the claimed epsilon kept? Lower bounds from runs of a method on hard neighbouring tables, and from canaries."""
