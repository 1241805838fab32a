"""Write released rows in the format and dialect of the source file, or as a frame."""
