"""People: all rows with the same id, grouped into one unit."""
