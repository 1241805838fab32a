"""Methods that release counts and tables, and the way every release goes."""
