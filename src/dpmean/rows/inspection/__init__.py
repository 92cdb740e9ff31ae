"""Inspection of a file for the holder of the data (``dpmean check``): its contents, and what cannot be read."""
