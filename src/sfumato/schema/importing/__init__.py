"""Draft schemas from what other formats say about a table: Croissant, Frictionless and CSVW."""
