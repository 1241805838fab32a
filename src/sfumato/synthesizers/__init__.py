"""Methods that release rows made one by one, not drawn from a table of counts."""
