"""Import draft schemas from Croissant, Frictionless and CSVW metadata files."""
