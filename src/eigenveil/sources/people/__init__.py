"""People: all rows of one id brought together."""
