"""Methods, plans and releases: the interfaces that every mechanism implements."""
