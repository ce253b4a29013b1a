"""Rows in files, and rows of streams that are first written to a file."""
